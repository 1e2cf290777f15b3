/**
 * What SVG images ask for that Typst 0.15 does not show: foreignObject, which it does not draw, and families of text that
 * neither request nor service has. A file may be anybody's: it is read once, from its beginning to its end.
 */
export interface SvgImage {
  readonly key: string;
  readonly hasForeignObject: boolean;
  /** Of text that is drawn: lists of alternatives, without the generic ones, which Typst passes over. */
  readonly families: readonly (readonly string[])[];
}

/** More would fill the screen. */
const MAX_NAMED = 10;
const MAX_FAMILY_LISTS = 100;
const MAX_LIST_LENGTH = 1000;

export function readSvgs(files: Iterable<{ readonly key: string; readonly bytes: Uint8Array }>): SvgImage[] {
  const decoder = new TextDecoder();
  return [...files]
    .filter(({ key }) => /\.svg$/i.test(key))
    .map(({ key, bytes }) => ({ key, ...new SvgReader(decoder.decode(bytes)).read() }));
}

export function describeForeignObjects(images: readonly SvgImage[]): string[] {
  const keys = images.filter(({ hasForeignObject }) => hasForeignObject).map(({ key }) => key);
  if (keys.length === 0) return [];
  const more = keys.length > MAX_NAMED ? [`${keys.length - MAX_NAMED} more`] : [];
  const names = new Intl.ListFormat("en").format([...keys.slice(0, MAX_NAMED), ...more]);
  return [
    `${names}: Typst does not draw the text in foreignObject. Export it as PDF or PNG, or with plain text: "htmlLabels": false in Mermaid, no "Word Wrap" and "Formatted Text" in draw.io.`,
  ];
}

/** @param known the families of the request and of who renders it, in lower case */
export function describeSvgFamilies(
  images: readonly SvgImage[],
  known: ReadonlySet<string>,
  who: "the service" | "this machine",
): string[] {
  const sentences = images.flatMap(({ key, families }) =>
    families
      .filter((list) => !list.some((family) => known.has(family.toLowerCase())))
      .map((list) => {
        const names = new Intl.ListFormat("en", { type: "disjunction" }).format(list.map((name) => `"${name}"`));
        return `${key} has text in ${names}, which neither ${who} nor the request has: Typst uses another font.`;
      }),
  );
  const more = sentences.length - MAX_NAMED;
  if (more <= 0) return sentences;
  const rest = `Text in SVG images asks for ${more} more ${more === 1 ? "family" : "families"} that are missing.`;
  return [...sentences.slice(0, MAX_NAMED), rest];
}

/** An element that is open. */
interface Element {
  readonly name: string;
  readonly families: readonly string[];
  /** Whether text in it is drawn. */
  readonly isText: boolean;
  readonly isForeign: boolean;
}

const OUTSIDE: Element = { name: "", families: [], isText: false, isForeign: false };
/** What is no element, by its beginning and its end. */
const PASSED_OVER = [
  ["<!--", "-->"],
  ["<![CDATA[", "]]>"],
  ["<?", "?>"],
] as const;

class SvgReader {
  readonly #svg: string;
  #at = 0;
  readonly #open: Element[] = [];
  readonly #lists = new Map<string, readonly string[]>();
  readonly #styles: string[] = [];
  #hasText = false;
  #hasForeignObject = false;

  constructor(svg: string) {
    this.#svg = svg;
  }

  read(): Omit<SvgImage, "key"> {
    for (;;) {
      const start = this.#svg.indexOf("<", this.#at);
      if (start === -1) break;
      this.#readText(this.#svg.slice(this.#at, start));
      this.#at = start;
      if (!this.#passOver() && !this.#readTag()) break;
    }
    // Which elements a rule selects, nobody asks: a style that is written down is used.
    if (this.#hasText) for (const list of this.#styles.flatMap(familiesInStyleSheet)) this.#add(list);
    return { hasForeignObject: this.#hasForeignObject, families: [...this.#lists.values()] };
  }

  get #element(): Element {
    return this.#open.at(-1) ?? OUTSIDE;
  }

  #readText(text: string): void {
    if (text.trim() === "") return;
    const { name, families, isText } = this.#element;
    if (name === "style") this.#styles.push(text);
    if (!isText) return;
    this.#hasText = true;
    this.#add(families);
  }

  #add(list: readonly string[]): void {
    if (list.length > 0 && this.#lists.size < MAX_FAMILY_LISTS) this.#lists.set(list.join(",").toLowerCase(), list);
  }

  /** @returns whether there is something that is no element */
  #passOver(): boolean {
    const found = PASSED_OVER.find(([beginning]) => this.#svg.startsWith(beginning, this.#at));
    if (found === undefined) return false;
    const [beginning, end] = found;
    const start = this.#at + beginning.length;
    const stop = this.#svg.indexOf(end, start);
    if (beginning === "<![CDATA[") this.#readText(this.#svg.slice(start, stop === -1 ? undefined : stop));
    this.#at = stop === -1 ? this.#svg.length : stop + end.length;
    return true;
  }

  /** @returns false for one that is never closed */
  #readTag(): boolean {
    const delimiter = /["'>]/g;
    delimiter.lastIndex = this.#at;
    let families: readonly string[] | null = null;
    let from = this.#at + 1;
    let name = "";
    for (let found = delimiter.exec(this.#svg); found !== null; found = delimiter.exec(this.#svg)) {
      const before = this.#svg.slice(from, found.index).trim();
      name ||= /^\/?[^\s/]*/.exec(before)?.[0] ?? "";
      from = found.index + 1;
      this.#at = from;
      if (found[0] === ">") {
        this.#enter(name, before.endsWith("/"), families);
        return true;
      }
      const end = this.#svg.indexOf(found[0], from);
      if (end === -1) return false;
      const attribute = /(?:^|\s)(style|font-family)\s*=$/.exec(before.slice(-MAX_LIST_LENGTH))?.[1];
      if (attribute !== undefined) {
        const value = decodeEntities(this.#svg.slice(from, end));
        // A style comes before an attribute.
        if (attribute === "style") families = familiesInStyle(value) ?? families;
        else families ??= familiesOf(value);
      }
      from = end + 1;
      delimiter.lastIndex = from;
    }
    return false;
  }

  #enter(qualified: string, isEmpty: boolean, families: readonly string[] | null): void {
    if (qualified.startsWith("/")) {
      this.#open.pop();
      return;
    }
    const name = qualified.slice(qualified.indexOf(":") + 1);
    const outer = this.#element;
    const isForeign = outer.isForeign || name === "foreignObject";
    if (isForeign) this.#hasForeignObject = true;
    if (isEmpty || name.startsWith("!")) return;
    const isText = !isForeign && (outer.isText || name === "text") && name !== "title" && name !== "desc";
    this.#open.push({ name, families: families ?? outer.families, isText, isForeign });
  }
}

const ENTITIES: Readonly<Record<string, string>> = {
  ...{ quot: '"', "#34": '"', "#x22": '"', apos: "'", "#39": "'", "#x27": "'", amp: "&", "#38": "&" },
};

function decodeEntities(value: string): string {
  return value.replace(/&([a-z#0-9]{1,8});/gi, (entity, name: string) => ENTITIES[name.toLowerCase()] ?? entity);
}

/** @returns null if a declaration names none */
function familiesInStyle(style: string): readonly string[] | null {
  const lists = style.split(";").flatMap((declaration) => {
    const colon = declaration.indexOf(":");
    const property = declaration.slice(0, colon).trim().toLowerCase();
    const value = declaration.slice(colon + 1, colon + 1 + MAX_LIST_LENGTH);
    if (property === "font-family") return [familiesOf(value)];
    // What comes after the size: `bold 12px/1.2 Inter, serif`.
    return property === "font"
      ? [familiesOf(/(?<![\w.])\d[\w.%]*(?:\s*\/\s*[\w.%]+)?\s+([^\d\s].*)$/s.exec(value)?.[1] ?? "")]
      : [];
  });
  return lists.findLast((list) => list !== null) ?? null;
}

function familiesInStyleSheet(css: string): (readonly string[])[] {
  const rules = css.replace(/\/\*.*?(?:\*\/|$)/gs, "").split("}");
  return rules.flatMap((rule) => {
    const [selector = "", ...declarations] = rule.split("{");
    return selector.includes("@font-face") ? [] : [familiesInStyle(declarations.at(-1) ?? "") ?? []];
  });
}

/** Names for kinds of fonts, and words that stand for another value. */
const NO_FAMILY =
  /^(?:serif|sans-serif|monospace|cursive|fantasy|system-ui|ui-[a-z-]+|math|emoji|fangsong|inherit|initial|unset|revert|revert-layer|)$/i;

/** @returns null for what is inherited, or computed */
function familiesOf(list: string): readonly string[] | null {
  const value = list.slice(0, MAX_LIST_LENGTH).replace(/!\s*important\s*$/i, "");
  if (/[()]/.test(value) || /^\s*inherit\s*$/i.test(value)) return null;
  const names = value.split(",").map((name) =>
    name
      .trim()
      .replace(/^(["'])(.*)\1$/s, "$2")
      .trim()
      .replace(/\s+/g, " "),
  );
  return names.filter((name) => !NO_FAMILY.test(name));
}

/** What Typst says of a template that was written for an older one, and what to say besides. */
const OF_OLDER_TYPST =
  /^(?:function `(?:json|yaml|toml|csv|xml|cbor|image)` does not contain field `decode`|type state has no method `display`|unknown variable: (?:style|loc|pattern)$)/;
const NO_SELECTOR = "only element functions can be used as selectors";

const OLDER_TYPST_HINT =
  "the template was written for an older Typst: the page /help/templates#older-typst of the service has what to write instead";

/** Symbols and functions that Typst 0.15 has under another name. */
const RENAMED: ReadonlyMap<string, string> = new Map([
  ["sect", "inter"],
  ["diff", "partial"],
  ["alef", "aleph"],
  ["embed", "attach"],
]);
const UNKNOWN_NAME = /^(?:unknown variable: |module `(?:sym|pdf)` does not contain `)(\w+)/;
const UNKNOWN_MODIFIER = "unknown symbol modifier";
/** As in `times.circle`, `angle.l` and `bracket.l.double`. */
const OLD_MODIFIER = /\b(?:angle\.[lr]\b|(?:bracket|brace|paren)\.[lr]\.double\b|\w+(?:\.\w+)*?\.circle\b)/;

/** The hint for an error that older templates get; null for others. @param code the lines or the expression that it is about */
export function olderTypstHint(message: string, code: string): string | null {
  const name = UNKNOWN_NAME.exec(message)?.[1] ?? "";
  const renamed = RENAMED.get(name);
  if (renamed !== undefined) return `since Typst 0.15, ${name} is ${renamed}`;
  const [old] = (message === UNKNOWN_MODIFIER && OLD_MODIFIER.exec(code)) || [];
  if (old !== undefined) return `since Typst 0.15, ${old} is ${newModifier(old)}`;
  if (message === "expected path or string, found array" && /\bpath\(/.test(code)) {
    return "since Typst 0.15, what path drew is drawn by curve, with other arguments";
  }
  const isOlder = OF_OLDER_TYPST.test(message) || (message.startsWith(NO_SELECTOR) && /\blocate\b/.test(code));
  return isOlder ? OLDER_TYPST_HINT : null;
}

function newModifier(old: string): string {
  return old
    .replace(/^angle/, "chevron")
    .replace(/\.circle$/, ".o")
    .replace(/\.double$/, ".stroked");
}

/** The names of all members, at any depth. @param json the data */
export function memberNames(json: string): string[] {
  return [...new Set(Array.from(json.matchAll(/"([^"\\]{1,200})"\s*:/g), ([, name = ""]) => name))];
}

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { escapeSvg, SvgEscaper } from "../../../backend/render/svg-escaping.ts";
import { ANY_CHARACTER } from "../../support/any-character.ts";
import { typstString, typstSvg, typstSvgPages } from "../../support/backend/typst-svg.ts";
import { readSvg } from "../../support/readers/svg-reader.ts";

const PAGE = "#set page(width: 200pt, height: auto, margin: 5pt)\n";
const link = (target: string) => `#box(link(${typstString(target)})[x])`;
const label = (name: string) => `#[#box[y]#label(${typstString(name)})]`;

/** The chunk size with which the pages of an archive are read. */
const CHUNK_BYTES = 256 * 1024;

async function* inChunks(svg: Buffer): AsyncGenerator<Buffer> {
  for (let start = 0; start < svg.length; start += CHUNK_BYTES) yield svg.subarray(start, start + CHUNK_BYTES);
}

const escapedBytes = async (svg: Buffer) => Buffer.concat(await Array.fromAsync(escapeSvg(inChunks(svg))));

function escapeInChunks(chunks: readonly Buffer[]): Buffer {
  const escaper = new SvgEscaper();
  return Buffer.concat([...chunks.map((chunk) => escaper.push(chunk)), escaper.end()]);
}

function expectSameForEverySplit(svg: Buffer, expected: Buffer): void {
  for (let cut = 0; cut <= svg.length; cut++) {
    const inTwo = escapeInChunks([svg.subarray(0, cut), svg.subarray(cut)]);
    expect(inTwo.equals(expected), `cut at ${cut}`).toBe(true);
  }
}

const linksTo = async (targets: readonly string[]) => escapedBytes(await typstSvg(PAGE + targets.map(link).join(" ")));

/** What a parser finds in the SVG, in document order. */
function readTargetsAndLabels(svg: Buffer) {
  const elements = readSvg(svg);
  const links = elements.filter(({ name }) => name === "a");
  return {
    targets: links.map((element) => element.attributes.href),
    oldTargets: links.map((element) => element.attributes["xlink:href"]),
    labels: elements.flatMap(({ attributes }) => attributes["data-typst-label"] ?? []),
  };
}

/** The scalar values that a Typst string can contain and that are not a Char of XML 1.0, section 2.2. */
const isForbidden = (character: string) => /[^\t\n\r\u{20}-\u{fffd}\u{10000}-\u{10ffff}]/u.test(character);
/** Typst writes `&quot;` for `"`, so an author's own `&quot;` cannot be told from it. */
const asWritten = (text: string) => text.replaceAll("&quot;", '"');
/** The schemes that links keep. */
const KEPT = ["http:", "https:", "mailto:", "tel:"];
/** A link that has no scheme of its own has this one, which no test uses. */
const SCHEME_OF_PAGE = "of-the-page:";

/** The scheme of a link as browsers read it; null if it has none. */
function schemeOf(target: string): string | null {
  // What follows the first colon has no part in it, and may not be valid.
  const [beforeColon, ...rest] = target.split(":");
  if (rest.length === 0) return null;
  const { protocol } = new URL(`${beforeColon}://x/`, `${SCHEME_OF_PAGE}/`);
  return protocol === SCHEME_OF_PAGE ? null : protocol;
}

function expectedTarget(target: string): string {
  const encoded = Array.from(asWritten(target), (character) =>
    isForbidden(character) ? encodeURIComponent(character) : character,
  ).join("");
  const scheme = schemeOf(encoded);
  return scheme === null || KEPT.includes(scheme) ? encoded : encoded.replace(":", "%3A");
}
const expectedLabel = (name: string) =>
  Array.from(asWritten(name), (character) => (isForbidden(character) ? "\ufffd" : character)).join("");

const NASTY_PIECES = [
  ...["&", "<", ">", '"', "'", "&amp;", "&lt;", "&quot;", "&quot", "&quo", "&#10;", "&#x26;", ";", "quot;", "amp;"],
  ...["\0", "\u0001", "\t", "\n", "\r", "\r\n", "\u001f", "\u007f", "\u0085", "\u2028", "\ufeff", " "],
  ...["\ufffd", "\ufffe", "\uffff", "\uffbe", "ï", "¿¾", "\u{1fffe}", "\u{10ffff}", "é", "漢", "😀"],
  ...["-->", "<!--", "]]>", "<![CDATA[", "<?xml", "<a ", "<a href=", '<a href="', "</a>", "/>", "<script>"],
  ...[" href=", " xlink:href=", " data-typst-label=", ' data-typst-label="', "data-typst-label"],
  ..."https://e.org/?a=1&b=2 javascript java script JavaScript: data: http s: mailto: tel: tels:".split(" "),
  ...": x-y+z.1: 1: _: %3A".split(" "),
];
/** The parser drops a byte order mark at the beginning of a value; a test on bytes shows that the SVG keeps it. */
const nastyText = fc
  .oneof(
    { weight: 3, arbitrary: fc.string({ unit: fc.constantFrom(...NASTY_PIECES), minLength: 1, maxLength: 12 }) },
    { weight: 1, arbitrary: fc.string({ unit: ANY_CHARACTER, minLength: 1, maxLength: 40 }) },
  )
  .filter((text) => !text.startsWith("\ufeff"));

it("Typst alone still writes SVG that is not XML (if this fails, the escaping can be removed)", async () => {
  for (const text of ["a&b", "a<b", "a\u0001b", "a\uffffb"]) {
    const linked = await typstSvg(PAGE + link(text));
    expect(() => readSvg(linked)).toThrow();
    const labelled = await typstSvg(PAGE + label(text));
    expect(() => readSvg(labelled)).toThrow();
  }
});

describe("an SVG with links and labels", () => {
  it("links to the targets that their author wrote", async () => {
    const written = {
      "https://e.org/?a=1&b=2": "https://e.org/?a=1&amp;b=2",
      "https://e.org/?a=1&amp;b=2": "https://e.org/?a=1&amp;amp;b=2",
      'https://e.org/?q="x"&r': "https://e.org/?q=&quot;x&quot;&amp;r",
      'https://e.org/&"': "https://e.org/&amp;&quot;",
      "https://e.org/<x>": "https://e.org/&lt;x>",
      "https://e.org/\0\u001b\ufffe": "https://e.org/%00%1B%EF%BF%BE",
      "https://e.org/\t\r\n": "https://e.org/&#9;&#13;&#10;",
      "../part two.svg?a&b#c": "../part two.svg?a&amp;b#c",
      "mailto:a@e.org?subject=x&body=y": "mailto:a@e.org?subject=x&amp;body=y",
    };
    const svg = await linksTo(Object.keys(written));
    for (const value of Object.values(written))
      expect(svg.toString()).toContain(` href="${value}" xlink:href="${value}">`);
    expect(readTargetsAndLabels(svg).targets).toEqual(Object.keys(written).map(expectedTarget));
  });

  it("runs nothing when somebody clicks on a link", async () => {
    const targets = [
      ...["javascript:alert(1)", "JaVaScRiPt:alert(1)", " javascript:alert(1)", "\n\t javascript:alert(1)"],
      ...["java\tscript:alert(1)", "java\nscript:alert(1)", "java\r\nscript\t:alert(1)", "\tj\na\rv\ta\nscript:x:y"],
      ...["vbscript:x", "data:text/html,<script>alert(1)</script>", "data:image/png;base64,AAAA", "file:///etc/passwd"],
      ..."blob:https://e.org/1 ms-msdt:/id x: httpss://e.org htt:x mailt:o view-source:https://e.org".split(" "),
    ];
    const mended = targets.map((target) => target.replace(":", "%3A"));
    expect(readTargetsAndLabels(await linksTo(targets))).toMatchObject({ targets: mended, oldTargets: mended });
    const schemes = (of: readonly string[]) => of.map((target) => new URL(target, "https://e.org/page/").protocol);
    expect(schemes(targets)).not.toContain("https:");
    expect(new Set(schemes(mended))).toEqual(new Set(["https:"]));
  });

  it("keeps a target that runs nothing", async () => {
    const targets = [
      ...["HTTPS://e.org", " https://e.org", "ht\ttps://e.org", "java script:x"],
      ..."http://e.org mailto:a@e.org tel:+49123 #part #a:b ?a:b //e.org/a:b ../a:b a/b:c 1javascript:x".split(" "),
      ..."javascript%3Ax java_script:x jävascript:x".split(" "),
      ...["&#106;avascript:x", "javascript&colon;x", "\u0001javascript:x", "\u00a0javascript:x", ":x", "-x:y"],
    ];
    const written = targets.map((target) => target.replace("\u0001", "%01"));
    expect(readTargetsAndLabels(await linksTo(targets))).toMatchObject({ targets: written, oldTargets: written });
    for (const target of written) {
      expect([...KEPT, SCHEME_OF_PAGE]).toContain(new URL(target, `${SCHEME_OF_PAGE}/`).protocol);
    }
  });

  it("keeps links within the document, which have no target in SVG", async () => {
    const written = await typstSvg(`${PAGE}#box[x]<x> #link(<x>)[a & b] #link((page: 1, x: 0pt, y: 0pt))[c]`);
    expect(written.includes("<a ")).toBe(true);
    expect((await escapedBytes(written)).equals(written)).toBe(true);
  });

  it("has the values that the author wrote, whatever they are", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(nastyText, { minLength: 1, maxLength: 60 }),
        fc.array(nastyText, { minLength: 1, maxLength: 60 }),
        async (targets, labels) => {
          const source = PAGE + [...targets.map(link), ...labels.map(label)].join(" ");
          const svg = await escapedBytes(await typstSvg(source));
          const expectedTargets = targets.map(expectedTarget);
          expect(readTargetsAndLabels(svg)).toEqual({
            targets: expectedTargets,
            oldTargets: expectedTargets,
            labels: labels.map(expectedLabel),
          });
        },
      ),
      { numRuns: 25 },
    );
  });

  it("is the same for every split in two, and byte by byte", async () => {
    const texts = ["&quot;&quot<\ufffe\uffff", '"', " data-typst-label=", "<a ", "&&&"];
    texts.push(" java\tscript:a:b", "https:&", "dad <:");
    const svg = await typstSvg(PAGE + texts.map((text) => label(text) + link(text)).join(" "));
    const expected = await escapedBytes(svg);
    expect(readTargetsAndLabels(expected).targets).toEqual(texts.map(expectedTarget));
    expectSameForEverySplit(svg, expected);
    const bytes = Array.from(svg, (_, index) => svg.subarray(index, index + 1));
    expect(escapeInChunks(bytes).equals(expected)).toBe(true);
  });
});

describe("an SVG with text in a tiling", () => {
  const tiled = (content: string) => `tiling(size: (10pt, 10pt))[${content}]`;
  const SQUARE = "width: 40pt, height: 40pt";
  const SOURCES = {
    "a fill": `#rect(${SQUARE}, fill: ${tiled("H")})`,
    "a stroke": `#rect(${SQUARE}, stroke: 6pt + ${tiled("H")})`,
    "the fill of text": `#text(size: 60pt, fill: ${tiled("H")})[Wow]`,
    "the stroke of text": `#text(size: 60pt, stroke: 3pt + ${tiled("H")})[Wow]`,
    maths: `#rect(${SQUARE}, fill: ${tiled("$x^2$")})`,
    "a gradient": `#rect(${SQUARE}, fill: ${tiled("#text(fill: gradient.linear(red, blue))[HH]")})`,
    "text without a glyph": `#rect(${SQUARE}, fill: ${tiled("\u{e000}")})`,
    "several, with a label and a link": `H ${label('"#\0')} ${link('"#\0&')} #rect(${SQUARE}, fill: ${tiled("H")})
      #rect(${SQUARE}, fill: ${tiled("q")})`,
  };

  /** The references to elements, and the elements to which there are any. */
  function readReferences(svg: Buffer) {
    const elements = readSvg(svg);
    const uses = elements.filter(({ name }) => name === "use");
    return {
      referenced: uses.map(({ attributes }) => attributes["xlink:href"]?.replace(/^#/, "")),
      ids: elements.flatMap(({ attributes }) => attributes.id ?? []),
    };
  }

  it("is not XML as Typst writes it (if this fails, the mending can be removed)", async () => {
    for (const source of Object.values(SOURCES)) {
      const written = await typstSvg(PAGE + source);
      expect(written.includes('xlink:href="#\0')).toBe(true);
      expect(() => readSvg(written)).toThrow();
    }
  });

  it.each(Object.entries(SOURCES))("refers to the glyphs that it defines: %s", async (_what, source) => {
    const { referenced, ids } = readReferences(await escapedBytes(await typstSvg(PAGE + source)));
    expect(referenced).not.toEqual([]);
    expect(ids).toEqual(expect.arrayContaining(referenced));
  });

  it("is the same for every split in two", async () => {
    const written = await typstSvg(PAGE + SOURCES["a fill"]);
    expectSameForEverySplit(written, await escapedBytes(written));
  });
});

/** Everything that the exporter writes except the links and labels that it does not escape. */
const plainDocument = (page: number) => `
  #set page(width: ${100 + page}pt, height: 150pt, margin: 5pt, fill: rgb(${page % 255}, 250, 250))
  = Page ${page} & more <page${page}>
  "Quoted" < text > & 'apostrophes' \\u{1}é漢 \`a & b\`
  #box(clip: true, width: 10pt)[clipped] <label-${page}> #rotate(${page}deg)[turned]
  #rect(fill: gradient.linear(red, blue), stroke: (dash: "dashed", paint: green))
  #circle(radius: ${1 + (page % 9)}pt, fill: gradient.${page % 50 === 0 ? "conic" : "radial"}(..color.map.rainbow))
  #rect(fill: tiling(size: (5pt, 5pt))[#line(end: (5pt, 5pt))])
  #image(bytes("<svg xmlns='http://www.w3.org/2000/svg' width='9' height='9'><a href='x'/></svg>"), width: ${page}pt)
  $ sum_(i < ${page}) sqrt(i) $ #table(columns: 2)[a & b][${page}]
  #link("https://example.org/${page}?q=a%26b#c")[a link] #link(${typstString(`x"${page}"`)})[quotes]`;

it("an SVG that is well-formed is unchanged: dozens of plain pages", async () => {
  const source = Array.from({ length: 50 }, (_, index) => plainDocument(index + 1)).join("\n#pagebreak(weak: true)\n");
  const pages = await typstSvgPages(source);
  expect(pages.length).toBeGreaterThanOrEqual(50);
  for (const page of pages) {
    readSvg(page);
    expect((await escapedBytes(page)).equals(page)).toBe(true);
  }
});

it("the size of an escaped SVG is at most five times what Typst wrote", async () => {
  const written = Buffer.from(`<svg><g data-typst-label="${"&".repeat(100_000)}"/></svg>`);
  const { length } = await escapedBytes(written);
  expect(length).toBeGreaterThan(4.9 * written.length);
  expect(length).toBeLessThan(5 * written.length);
});

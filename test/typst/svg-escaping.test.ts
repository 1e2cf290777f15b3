import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { svgColorOf } from "../../typst/svg-colors.ts";
import { SvgEscaper } from "../../typst/svg-escaping.ts";
import { ANY_CHARACTER } from "../support/any-character.ts";
import { typstString, typstSvg, typstSvgPages } from "../support/backend/typst-svg.ts";
import { readSvg } from "../support/readers/svg-reader.ts";

const PAGE = "#set page(width: 200pt, height: auto, margin: 5pt)\n";
const link = (target: string) => `#box(link(${typstString(target)})[x])`;
const TRANSLUCENT = `rgb("#ff000080")`;
const GRADIENT = `gradient.linear(${TRANSLUCENT}, rgb("#0000ff40"), blue)`;
const label = (name: string) => `#[#box[y]#label(${typstString(name)})]`;

/** The chunk size with which the pages of an archive are read. */
const CHUNK_BYTES = 256 * 1024;

function escapeInChunks(chunks: readonly Buffer[]): Buffer {
  const escaper = new SvgEscaper();
  return Buffer.concat([...chunks.flatMap((chunk) => escaper.push(chunk)), ...escaper.end()]);
}

function escapedBytes(svg: Buffer): Buffer {
  const starts = Array.from({ length: Math.ceil(svg.length / CHUNK_BYTES) }, (_, index) => index * CHUNK_BYTES);
  return escapeInChunks(starts.map((start) => svg.subarray(start, start + CHUNK_BYTES)));
}

/** Split in two, and byte by byte. */
function expectSameForEverySplit(svg: Buffer, expected: Buffer): void {
  const bytes = Array.from(svg, (_, index) => svg.subarray(index, index + 1));
  expect(escapeInChunks(bytes).equals(expected)).toBe(true);
  for (let cut = 0; cut <= svg.length; cut++) {
    const inTwo = escapeInChunks([svg.subarray(0, cut), svg.subarray(cut)]);
    expect(inTwo.equals(expected), `cut at ${cut}`).toBe(true);
  }
}

const linksTo = async (targets: readonly string[]) => escapedBytes(await typstSvg(PAGE + targets.map(link).join(" ")));

/** The paints and glyphs of a page without text by its author in labels or link targets, one by one. */
function rewrittenPlainPage(svg: Buffer): Buffer {
  const rewritten = svg
    .toString("latin1")
    .replace(
      / (fill|stroke|stop)(-color)?="([^"]*)"/g,
      (_whole, name: string, color: string | undefined, paint: string) => {
        const { rgb, opacity } = svgColorOf(paint) ?? { rgb: paint, opacity: null };
        const attribute = ` ${name}${color ?? ""}="${rgb}"`;
        return opacity === null ? attribute : `${attribute} ${name}-opacity="${opacity}"`;
      },
    )
    .replace(/<symbol /g, "<g      ")
    .replace(/<\/symbol>/g, "</g     >");
  return Buffer.from(rewritten, "latin1");
}

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
  ...[' fill="#ff000080"', " stop-color=", 'stroke="transparent"', "transparent", "#ff000080"],
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
  it("has them as XML has them", async () => {
    const svg = await linksTo(['https://e.org/?a&amp;b="<\0\ufffe\t']);
    const written = "https://e.org/?a&amp;amp;b=&quot;&lt;%00%EF%BF%BE&#9;";
    expect(svg.toString()).toContain(` href="${written}" xlink:href="${written}">`);
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

  it("has the values that the author wrote, whatever they are", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(nastyText, { minLength: 1, maxLength: 60 }),
        fc.array(nastyText, { minLength: 1, maxLength: 60 }),
        async (targets, labels) => {
          const source = PAGE + [...targets.map(link), ...labels.map(label)].join(" ");
          const svg = escapedBytes(await typstSvg(source));
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
});

describe("an SVG with colours", () => {
  const rectangle = (fill: string, stroke = "none") =>
    `#rect(width: 20pt, height: 20pt, fill: ${fill}, stroke: ${stroke})`;
  const tiling = (content: string) => `tiling(size: (9pt, 9pt))[${content}]`;

  it("has no colour that SVG 1.1 lacks, wherever there is one", async () => {
    const spaces = ["oklab(60%, 0.2, -0.1, 50%)", "oklch(70%, 0.4, 140deg)", "color.hsl(210deg, 60%, 40%, 40%)"];
    spaces.push("color.linear-rgb(20%, 50%, 80%)", "color.mix(red, blue)", "luma(40%, 50%)", "cmyk(9%, 8%, 7%, 6%)");
    const source = spaces.flatMap((space) => [
      rectangle(space, `1pt + ${space}`),
      rectangle(tiling(rectangle(space)), `3pt + ${tiling(rectangle(space))}`),
      `#text(fill: ${space}, stroke: ${space})[x] #highlight(fill: ${space})[y] #underline(stroke: ${space})[z]`,
      rectangle(
        `gradient.linear(${space}, ${space}, space: oklab)`,
        "2pt + gradient.conic(red, aqua.transparentize(9%))",
      ),
    ]);
    const svg = readSvg(
      escapedBytes(await typstSvg(`${PAGE}#set page(fill: oklab(90%, 0, 0, 50%))\n${source.join(" ")}`)),
    );
    const paints = svg.flatMap(({ attributes: { fill, stroke, "stop-color": stop } }) => [fill, stroke, stop]);
    expect(new Set(paints.flatMap((paint) => (paint === undefined ? [] : paint.replace(/^(#|url).*/, "$1"))))).toEqual(
      new Set(["#", "url", "none"]),
    );
    for (const paint of paints) if (paint?.startsWith("#")) expect(paint).toMatch(/^#[0-9a-f]{6}$/);
  });

  it("keeps a paint that is none, however long, and one that is cut off", () => {
    for (const paint of ["#ff00008", "#ff0000800", "Transparent", "x".repeat(100), "x".repeat(101), "x".repeat(9999)]) {
      for (const svg of [`<path fill="${paint}"/>`, `<path stroke="${paint}`]) {
        expectSameForEverySplit(Buffer.from(svg.slice(0, 300)), Buffer.from(svg.slice(0, 300)));
        expect(escapedBytes(Buffer.from(svg)).toString()).toBe(svg);
      }
    }
    expect(escapedBytes(Buffer.from(`<path fill="${"x".repeat(101)}#ff000080"/>`)).toString()).toContain(
      '#ff000080"/>',
    );
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

  /** The references to elements, the groups that have an id, and the names of all elements. */
  function readReferences(svg: Buffer) {
    const elements = readSvg(svg);
    const uses = elements.filter(({ name }) => name === "use");
    return {
      referenced: uses.map(({ attributes }) => attributes["xlink:href"]?.replace(/^#/, "")),
      groups: elements.flatMap(({ name, attributes }) => (name === "g" ? (attributes.id ?? []) : [])),
      names: elements.map(({ name }) => name),
    };
  }

  it("is not XML as Typst writes it (if this fails, the mending can be removed)", async () => {
    for (const source of Object.values(SOURCES)) {
      const written = await typstSvg(PAGE + source);
      expect(written.includes('xlink:href="#\0')).toBe(true);
      expect(() => readSvg(written)).toThrow();
    }
  });

  it.each(Object.entries(SOURCES))("refers to the glyphs that it defines, as groups: %s", async (_what, source) => {
    const { referenced, groups, names } = readReferences(escapedBytes(await typstSvg(PAGE + source)));
    expect(referenced).not.toEqual([]);
    expect(groups).toEqual(expect.arrayContaining(referenced));
    expect(names).not.toContain("symbol");
  });

  it("is the same for every split in two, and byte by byte, with links, labels and colours as well", async () => {
    const texts = ["&quot;&quot<\ufffe\uffff", '"', " data-typst-label=", "<a ", "&&&", 'fill="#ff000080"'];
    texts.push(" java\tscript:a:b", "https:&", "dad <:");
    const paints = `#rect(fill: ${GRADIENT}, stroke: 2pt + color.mix(red, blue))`;
    const named = texts.map((text) => label(text) + link(text)).join(" ");
    const written = await typstSvg(`${PAGE}${SOURCES["a fill"]} ${paints} ${named}`);
    const expected = escapedBytes(written);
    expect(expected.toString()).toContain('stroke="#a37095"');
    expect(readTargetsAndLabels(expected).targets).toEqual(texts.map(expectedTarget));
    expectSameForEverySplit(written, expected);
  });
});

/** Everything that the exporter writes except the links and labels that it does not escape. */
const plainDocument = (page: number) => `
  #set page(width: ${100 + page}pt, height: 150pt, margin: 5pt, fill: rgb(${page % 255}, 250, 250))
  = Page ${page} & more <page${page}>
  "Quoted" < text > & 'apostrophes' \\u{1}é漢 \`a & b\`
  #box(clip: true, width: 10pt)[clipped] <label-${page}> #rotate(${page}deg)[turned]
  #rect(fill: ${GRADIENT}, stroke: (dash: "dashed", paint: green)) #link(<page${page}>)[a & b]
  #circle(radius: ${1 + (page % 9)}pt, fill: gradient.${page % 50 === 0 ? "conic" : "radial"}(..color.map.rainbow))
  #rect(fill: tiling(size: (5pt, 5pt))[#line(end: (5pt, 5pt))])
  #image(bytes("<svg xmlns='http://www.w3.org/2000/svg' width='9' height='9'><a href='x'/></svg>"), width: ${page}pt)
  $ sum_(i < ${page}) sqrt(i) $ #table(columns: 2)[a & b][${page}]
  #text(fill: rgb(9, 9, 9, ${page}), stroke: 1pt + luma(${page}, 50%))[translucent] #text(fill: color.mix(red, blue))[mixed]
  #link("https://example.org/${page}?q=a%26b#c")[a link] #link(${typstString(`x"${page}"`)})[quotes]`;

it("an SVG that is well-formed has other colours and groups for symbols, and is unchanged otherwise: dozens of plain pages", async () => {
  const source = Array.from({ length: 50 }, (_, index) => plainDocument(index + 1)).join("\n#pagebreak(weak: true)\n");
  const pages = await typstSvgPages(source);
  expect(pages.length).toBeGreaterThanOrEqual(50);
  for (const page of pages) {
    readSvg(page);
    expect(escapedBytes(page).equals(rewrittenPlainPage(page))).toBe(true);
  }
});

it("the size of an escaped SVG is at most five times what Typst wrote", async () => {
  const written = Buffer.from(`<svg><g data-typst-label="${"&".repeat(100_000)}"/></svg>`);
  const { length } = escapedBytes(written);
  expect(length).toBeGreaterThan(4.9 * written.length);
  expect(length).toBeLessThan(5 * written.length);
  const paints = Buffer.from('<stop stop-color="#00000001"/>'.repeat(10_000));
  expect(escapedBytes(paints).length).toBeLessThan(2 * paints.length);
});

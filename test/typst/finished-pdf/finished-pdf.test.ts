import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { PDF_STANDARDS, PDF_VERSIONS, type PdfStandard } from "../../../rules/pdf-standards.ts";
import { FinishedPdf, type PdfVerdict } from "../../../typst/finished-pdf/finished-pdf.ts";
import { typstPdf } from "../../support/backend/typst-pdf.ts";
import { typstString } from "../../support/backend/typst-svg.ts";

function judge(chunks: readonly Uint8Array[], standards: readonly PdfStandard[]): PdfVerdict {
  const pdf = new FinishedPdf(standards);
  for (const chunk of chunks) pdf.push(chunk);
  return pdf.end();
}

const judgeSource = async (source: string, ...standards: PdfStandard[]) =>
  judge([await typstPdf(source, standards)], standards);

async function rulesBroken(source: string, ...standards: PdfStandard[]) {
  const verdict = await judgeSource(source, ...standards);
  return verdict.kind === "broken" ? verdict.rules : [];
}

const KEPT: PdfVerdict = { kind: "kept" };
const TITLE = '#set document(title: "T")\n';
const page = (width: number | string, height: number | string, more = "") =>
  `${TITLE}#set page(width: ${width}pt, height: ${height}pt, margin: 0pt${more})\n`;
const attach = (options: string) => `${TITLE}#pdf.attach("a.csv", bytes("x;y"), relationship: "data"${options})\nx`;
const entitled = (title: string, more = "") => `#set document(title: ${typstString(title)}${more})\nx`;
const spoken = (lang: string, region: string) =>
  `${TITLE}#set text(lang: ${typstString(lang)}, region: ${typstString(region)})\nx`;

/** Text that would be read as something else in a file if it were not taken for text. */
const POSES = [
  ...["/MediaBox [0 0 1 99999]", "endstream endobj 9 0 obj <</Type/Page/MediaBox[0 0 1 99999]>> endobj", "stream\n"],
  ...["(((", ")))", "\\", "\\)", "<<", ">>", "]", "%", "xref", "trailer <</Info 1 0 R>>", "startxref", "%%EOF"],
  ...["<dc:title>\u00a0</dc:title>", "&lt;", "/Lang(12)", "/Type/EmbeddedFile", "é", "<FEFF0007>"],
];

/** A document that has text of the caller wherever Typst takes some. */
const full = (text: string) => `
#let t = ${typstString(text)}
#set document(title: t, author: (t, "B"), keywords: (t, "k"), description: t, date: datetime(year: 2026, month: 11, day: 28))
#set text(lang: "de", region: "CH")
#set page(width: 200pt, height: 300pt, numbering: "1")
#show heading: it => [x]
#heading(t) #label("l" + t)
#link("https://example.com/" + t)[x] #link(label("l" + t))[y]
#figure(image(bytes("<svg xmlns='http://www.w3.org/2000/svg' width='9' height='9'><!-- /MediaBox[0 0 1 99999] --></svg>"), alt: t + "."), kind: image, supplement: none, caption: [c])
#math.equation(alt: t + ".", block: true, $x$)
#table(columns: 2, table.header[a][b], [1], [2])`;

const allowsFiles = (standard: PdfStandard) => /^a-(?:3|4[ef])/.test(standard);
/** The content is not compressed if it is short. */
const fullFor = (standard: PdfStandard, text: string) =>
  allowsFiles(standard)
    ? `${full(text)}\n#pdf.attach("n" + t.replace("\\\\", ""), bytes(t), description: t, relationship: "data", mime-type: "text/csv")`
    : full(text);

describe("a file of Typst", () => {
  it.each(PDF_STANDARDS)("under %s is read to its end, whatever its texts look like", async (standard) => {
    expect(await judgeSource(fullFor(standard, POSES.join("")), standard)).toEqual(KEPT);
  });

  it.each(PDF_VERSIONS)("of PDF %s without a standard is read to its end", async (version) => {
    const pdf = await typstPdf(full(POSES.join("")), [], ["--pdf-standard", version]);
    expect(judge([pdf], ["a-2b"])).toEqual(KEPT);
  });

  it("that is cut off, or is none, is not judged", async () => {
    const pdf = await typstPdf(page(100, 20_000), ["a-2b"]);
    for (const length of [0, 1, 8, pdf.length >> 1, pdf.lastIndexOf("startxref")]) {
      expect(judge([pdf.subarray(0, length)], ["a-2b"]), String(length)).toEqual({ kind: "unread" });
    }
    for (const text of ["%PDF-1.7\n1 0 obj <</A}>>", "1 0 obj <</Length 9 0 R>> stream\n", "<< > x startxref 1"]) {
      expect(judge([Buffer.from(text)], ["a-2b"]), text).toEqual({ kind: "unread" });
    }
  });

  it("gives the same verdict however it is cut", async () => {
    const standards: PdfStandard[] = ["a-1a"];
    // Without text on its pages, it has no long fonts.
    const texts = 'title: "a\\r(\\u{7}", author: "é\\r", keywords: "\\\\)"';
    const link = '#link("https://e.org/(")[#box(width: 9pt, height: 9pt)]';
    const source = `#set document(${texts})\n${link}\n\n#text(lang: "12")[#link("https://e.org")[#box(width: 1pt)] \n\n]`;
    const pdf = await typstPdf(source, standards);
    const verdict = judge([pdf], standards);
    const kinds = ["metadata_characters", "metadata_copies", "language_tag"];
    const rules = expect.arrayContaining(kinds.map((rule) => expect.objectContaining({ rule })));
    expect(verdict).toEqual({ kind: "broken", rules });
    for (let cut = 0; cut <= pdf.length; cut++) {
      expect(judge([pdf.subarray(0, cut), pdf.subarray(cut)], standards), `cut at ${cut}`).toEqual(verdict);
    }
    const cuts = fc.array(fc.nat(pdf.length), { maxLength: 40 });
    fc.assert(
      fc.property(cuts, (places) => {
        const ends = [...places.toSorted((left, right) => left - right), pdf.length];
        const chunks = ends.map((end, index) => pdf.subarray(ends[index - 1] ?? 0, end));
        expect(judge(chunks, standards)).toEqual(verdict);
      }),
    );
    expect(
      judge(
        Array.from(pdf, (byte) => Uint8Array.of(byte)),
        standards,
      ),
    ).toEqual(verdict);
  });
});

const of = (pattern: RegExp) => PDF_STANDARDS.filter((one) => pattern.test(one));
const FIELDS = ["title", "author", "keywords", "description"] as const;
/** With the fields of its metadata in the order above. */
const withMetadata = (...texts: readonly string[]) =>
  `#set document(${FIELDS.map((field, at) => `${field}: ${typstString(texts[at] ?? "")}`).join(", ")})\nx`;
const dated = (year: number, month: number, day: number) =>
  entitled("T", `, date: datetime(year: ${year}, month: ${month}, day: ${day})`);
/** A string of so many bytes: in UTF-16, after two bytes, because a tab is not printable. */
const titleOf = (bytes: number) => entitled(`\t${"a".repeat(bytes / 2 - 2)}`);
const headingOf = (bytes: number) => `${TITLE}#show heading: it => [x]\n#heading("é" + "a" * ${bytes / 2 - 2})`;
const long = (bytes: number) => [expect.objectContaining({ rule: "string_length", bytes })];
const tooLarge = (side: "wide" | "high", points: number) => [{ rule: "page_size", page: 1, box: "page", side, points }];
const TAGGED = of(/^(?:a-[123]a|ua-1)$/);
const NO_LANGUAGE = [{ rule: "language_tag" }];
const NO_CHARACTER = FIELDS.map((field) => ({ rule: "metadata_characters", field, codePoint: 0x0b }));
/** Those that XML allows, although they are strange; and what looks like XML. */
const ALLOWED = ["a\t\n\u{7f}\u{85}\u{2028}\ufffd\ufeff\u{1ffff}b", " a \n\n", "&lt;]]>é😀", "<rdf:li>\"'"];

type Row = readonly [what: string, source: string, under: readonly PdfStandard[], rules: readonly object[]];

async function expectRefused([, source, under, rules]: Row, tried: readonly PdfStandard[]): Promise<void> {
  for (const standard of tried) {
    const verdict = await judgeSource(source, standard);
    const broken = { kind: "broken", rules: expect.arrayContaining([...rules]) };
    expect(verdict, standard).toEqual(under.includes(standard) ? broken : KEPT);
    if (verdict.kind === "broken") expect(verdict.rules, standard).toHaveLength(rules.length);
  }
}

describe("what Typst copies into the file", () => {
  it.each<Row>([
    ["a page that is as high as can be", page(3, 14_400), [], []],
    ["a page that is as wide as can be", page(14_400, 3), [], []],
    // Typst makes no smaller page, but what is left of it without its bleed may be.
    ["a small page", page(1, 1), [], []],
    ["a small page without its bleed", page(3, 3, ", bleed: 10pt"), [], []],
    ["a page that is too high", page(100, 14_400.01), of(/^a-[23]/), tooLarge("high", 14_400.01)],
    ["a page that is too wide", page(14_401, 100), of(/^a-[23]/), tooLarge("wide", 14_401)],
    [
      "a page that is too narrow without its bleed",
      page(2.5, 100, ", bleed: 10pt"),
      of(/^a-[23]/),
      [expect.objectContaining({ rule: "page_size", page: 1, box: "trimmed", side: "wide" })],
    ],
    ["all that XML can hold", withMetadata(...ALLOWED), [], []],
    ["what XML cannot hold", withMetadata(...FIELDS.map(() => "a\u{b}\u{7}")), PDF_STANDARDS, NO_CHARACTER],
    [
      "carriage returns, which one of two copies loses",
      withMetadata("a\r\nb", "\r", "é\r", "x\ry"),
      of(/^a-1/),
      FIELDS.map((field) => ({ rule: "metadata_copies", field })),
    ],
    ["the first day of the calendar", dated(1582, 10, 15), [], []],
    ["the day before it", dated(1582, 10, 14), of(/^a-1/), [{ rule: "metadata_date", year: 1582 }]],
    ["a language of three letters", spoken("gsw", "CH"), [], []],
    ["a language that is none", spoken("12", "CH"), TAGGED, NO_LANGUAGE],
    ["a region with digits", spoken("es", "41"), of(/^a-1a/), NO_LANGUAGE],
    ["a language of a part", `${TITLE}x\n\n#text(lang: "12")[y\n\nz]`, TAGGED, NO_LANGUAGE],
    ["a language that would begin an element", spoken("<a", "/>"), PDF_STANDARDS, NO_LANGUAGE],
    ["a language that would end a section", spoken("]]>", "CH"), PDF_STANDARDS, NO_LANGUAGE],
    ["a region that would begin an entity", spoken("de", "&a"), PDF_STANDARDS, NO_LANGUAGE],
    ["parentheses that belong together", entitled("a (b (c)) d"), [], []],
    ["parentheses that do not, and a backslash", entitled("a ) \\ ( b"), [], []],
    ["a string of 32,766 bytes", titleOf(32_766), [], []],
    ["a string of 32,767 bytes of ASCII", entitled("a".repeat(32_767)), [], []],
    ["a string of 32,768 bytes", titleOf(32_768), of(/^a-[23]/), long(32_768)],
    ["a string of 32,768 bytes in a heading", headingOf(32_768), of(/^a-[23]/), long(32_768)],
    ["a label whose 20,000 characters are escaped", `${TITLE}#[#heading[x]#label("a" + "\\u{1}" * 20000)]`, [], []],
    ["a string of 65,534 bytes", titleOf(65_534), of(/^a-[23]/), long(65_534)],
    ["a string of 65,536 bytes", titleOf(65_536), of(/^a-[123]/), long(65_536)],
  ])("%s is refused under the standards that do not allow it, and no others", (...row) =>
    expectRefused(row, PDF_STANDARDS),
  );

  it("of pages is the first that is too large, counted in the file", async () => {
    const pages = [1, 2, 99, 14_500, 1, 14_600].map(
      (height) => `#page(width: 90pt, height: ${height}pt, margin: 0pt)[]`,
    );
    const source = TITLE + pages.join("\n");
    expect(await rulesBroken(source, "a-2b")).toMatchObject([{ page: 4, points: 14_500 }]);
    const selected = await typstPdf(source, ["a-2b"], ["--pages", "3-", "--no-pdf-tags"]);
    expect(judge([selected], ["a-2b"])).toMatchObject({ rules: [{ page: 2, points: 14_500 }] });
  });

  it.each([0x00, 0x08, 0x0e, 0x1f, 0xfffe, 0xffff])("cannot have the code point %i", async (codePoint) => {
    const source = entitled(`é${String.fromCharCode(codePoint)}`);
    expect(await rulesBroken(source, "a-2b")).toEqual([{ rule: "metadata_characters", field: "title", codePoint }]);
  });

  it("has a date before the calendar only where both calendars were equal, under PDF/A-1", async () => {
    for (const day of [dated(200, 3, 1), dated(300, 2, 28)]) expect(await judgeSource(day, "a-1b")).toEqual(KEPT);
    for (const [year, month, day] of [
      [0, 1, 1],
      [200, 2, 28],
      [300, 3, 1],
    ] as const) {
      expect(await rulesBroken(dated(year, month, day), "a-1b")).toEqual([{ rule: "metadata_date", year }]);
    }
  });

  it.each(["a-1a", "a-2a"] as const)("has languages of letters alone under %s", async (standard) => {
    for (const [lang, region] of [
      ["d ", "CH"],
      ["d-", "CH"],
      ["de", "C!"],
      ["de", "  "],
    ] as const) {
      expect(await rulesBroken(spoken(lang, region), standard), `${lang}-${region}`).toEqual(NO_LANGUAGE);
    }
    const rules = await rulesBroken(spoken("a\u{7}", "CH"), standard);
    expect(rules).toContainEqual({ rule: "metadata_characters", field: "language", codePoint: 7 });
  });
});

describe("an attached file", () => {
  const described = ', description: "d"';

  const typed = `${described}, mime-type: "text/csv"`;
  const second = (name: string, more: string) => `${attach(typed)}\n#pdf.attach("${name}", bytes("y")${more})`;

  // The others allow none, or have Typst's own check.
  it.each<Row>([
    ["with its media type", attach(typed), [], []],
    ["without one", attach(described), of(/^a-4/), [{ rule: "attachment_media_type", attachment: 1 }]],
    ["of two, without one", second("b", described), of(/^a-4/), [{ rule: "attachment_media_type", attachment: 2 }]],
    ["of two, without a name", second("", typed), ["ua-1"], [{ rule: "attachment_name", attachment: 2 }]],
  ])("%s is refused under the standards that do not allow it, and no others", (...row) =>
    expectRefused(row, ["a-4e", "a-4f", "ua-1"]),
  );

  it("needs PDF 1.7 under PDF/UA-1", async () => {
    for (const version of PDF_VERSIONS.filter((one) => one < "2.0")) {
      const pdf = await typstPdf(attach(described), ["ua-1"], ["--pdf-standard", version]);
      const broken = { kind: "broken", rules: [{ rule: "pdf_version", needs: "attachment" }] };
      expect(judge([pdf], ["ua-1"]), version).toEqual(version < "1.7" ? broken : KEPT);
    }
  });
});

describe("a table", () => {
  const table = (content: string) => `${TITLE}#table(columns: 2, ${content})`;
  const WITH_HEADER = table("table.header[A][B], table(columns: 1)[C], [D]");
  const BROKEN: PdfVerdict = { kind: "broken", rules: [{ rule: "pdf_version", needs: "table" }] };

  it("with a header or a footer is no PDF/UA-1 in PDF 1.4", async () => {
    for (const version of PDF_VERSIONS.filter((one) => one < "2.0")) {
      const pdf = await typstPdf(WITH_HEADER, ["ua-1"], ["--pdf-standard", version]);
      expect(judge([pdf], ["ua-1"]), version).toEqual(version === "1.4" ? BROKEN : KEPT);
    }
    expect(await judgeSource(WITH_HEADER, "a-1a", "ua-1")).toEqual(BROKEN);
    expect(await judgeSource(table("[A], [B], table.footer[C][D]"), "a-1b", "ua-1")).toEqual(BROKEN);
    expect(await judgeSource(WITH_HEADER, "a-2a", "ua-1")).toEqual(KEPT);
    expect(await judgeSource(WITH_HEADER, "a-1a")).toEqual(KEPT);
  });

  it("without them, or of nothing but one of them, is PDF/UA-1 in every version", async () => {
    for (const content of ["[A], [B]", "table.header[A][B]", "table.footer[C][D]"]) {
      const pdf = await typstPdf(`${table(content)}\n\nA paragraph.`, ["ua-1"], ["--pdf-standard", "1.4"]);
      expect(judge([pdf], ["ua-1"]), content).toEqual(KEPT);
    }
  });
});

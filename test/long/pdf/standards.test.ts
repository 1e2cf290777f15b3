/**
 * That 200 means valid: documents with every kind of image, with hostile text in every place that Typst copies from data
 * into the structure of a file, and at the limits of sizes and dates, in every standard. A file that the service gives is
 * valid; a document that it refuses, Typst refuses by itself, or makes an invalid file of.
 */
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { execa } from "execa";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { DEFAULT_LIMITS } from "../../../rules/limits.ts";
import type { Output } from "../../../rules/output-options.ts";
import { PDF_STANDARDS, PDF_VERSIONS, type PdfStandard, type PdfVersion } from "../../../rules/pdf-standards.ts";
import { renderArguments, UNCONFINED_ENVIRONMENT } from "../../../typst/command-line.ts";
import { DATA_FILE_NAME } from "../../../typst/file-layout.ts";
import { programText } from "../../../typst/program-text.ts";
import { typstPath } from "../../support/backend/typst-path.ts";
import { readXmlElements } from "../../support/readers/xml-reader.ts";
import { startTestService, type TestService } from "../../support/service/test-service.ts";
import { IMAGES } from "./images.ts";
import { fetchValidators, INVALID, verdictsOfVeraPdf } from "./validators.ts";

type Standards = readonly PdfStandard[];

const SINGLE: readonly Standards[] = PDF_STANDARDS.map((standard) => [standard]);
const PAIRS: readonly Standards[] = PDF_STANDARDS.filter((standard) => /^a-[123]/.test(standard)).map((standard) => [
  standard,
  "ua-1",
]);

interface MatrixDocument {
  readonly name: string;
  readonly source: string;
  readonly data?: unknown;
  readonly files?: Readonly<Record<string, Buffer>>;
  readonly version?: PdfVersion;
}

const TITLE = '#set document(title: "Title", date: datetime(year: 2026, month: 1, day: 2))\n';

const WITH_IMAGES: readonly MatrixDocument[] = Object.entries(IMAGES).map(([name, bytes]) => ({
  name,
  source: `${TITLE}#image("${name}", alt: "One pixel")`,
  files: { [name]: bytes },
}));

const attachment = (name: string, description = '"d"') =>
  `#pdf.attach(${name}, bytes("a;b"), description: ${description}, mime-type: "text/csv", relationship: "data")`;

/** Where \`data\` is what a caller's data is put into. */
const PLACES: Readonly<Record<string, string>> = {
  title: "#set document(title: data)\nx",
  author: `${TITLE}#set document(author: ("A", data))\nx`,
  keywords: `${TITLE}#set document(keywords: (data, "b"))\nx`,
  description: `${TITLE}#set document(description: data)\nx`,
  "attachment's name": `${TITLE}${attachment("data")}`,
  "attachment's description": `${TITLE}${attachment('"a.csv"', "data")}`,
  "attachment's media type": `${TITLE}#pdf.attach("a", bytes("a"), description: "d", mime-type: data, relationship: "data")`,
  link: `${TITLE}#link(data)[x]`,
  "query of a link": `${TITLE}#link("https://example.org/?" + data)[x]`,
  language: `${TITLE}#set text(lang: data)\nx`,
  region: `${TITLE}#set text(lang: "de", region: data)\nx`,
  "language of a part": `${TITLE}x #text(lang: data)[y]`,
  "page label": `${TITLE}#set page(numbering: data + "1")\nx`,
  bookmark: `${TITLE}#heading(data)`,
  "alternative text": `${TITLE}#figure(rect(), alt: data)#math.equation(alt: data, $x$)`,
};

/** The longest text whose UTF-16 with its mark fits into a string of PDF/A-2. */
const LONGEST_UNITS = 16_382;

const TEXTS: Readonly<Record<string, string>> = {
  empty: "",
  "two letters": "de",
  "letter and digit": "x1",
  "three digits": "419",
  "U+0000": "a\0b",
  "U+0007": "a\x07",
  "U+000B": "Report\vQ3",
  tab: "a\tb",
  "line feed": "a\nb",
  "carriage return": "a\rb",
  "carriage return and line feed": "a\r\nb",
  "U+007F": "a\x7f",
  "U+0085": "a\x85b",
  "U+FEFF first": "\ufeffab",
  "U+FDD0": "a\ufdd0",
  "U+FFFE": "a\ufffeb",
  "U+FFFF": "ab\uffff",
  "U+1FFFE": "a\u{1fffe}",
  "private use": "\ue000\u{f0000}",
  "beyond the BMP": "\u{1f600}",
  combining: "e\u0301\u0302",
  "right to left": "\u05d0\u202eab",
  "syntax of PDF": ")a(\\>>endobj stream",
  "syntax of XML": "<?xpacket begin?><a>&amp;]]>",
  "not of ASCII, as long as possible": "é".repeat(LONGEST_UNITS),
  "not of ASCII, longer by one": "é".repeat(LONGEST_UNITS + 1),
  "of ASCII, as long as possible": "x".repeat(32_767),
  "longer than any": "x".repeat(70_000),
};

const WITH_TEXTS: readonly MatrixDocument[] = Object.entries(PLACES).flatMap(([place, source]) =>
  Object.entries(TEXTS).map(([text, data]) => ({ name: `${place}: ${text}`, source, data })),
);

const page = (width: string, height: string) => `${TITLE}#set page(width: ${width}, height: ${height})\nx`;
const dated = (year: number, month: number, day: number) =>
  `#set document(title: "T", date: datetime(year: ${year}, month: ${month}, day: ${day}))\nx`;

const AT_LIMITS: readonly MatrixDocument[] = Object.entries({
  "nothing at all": "//",
  "title alone": TITLE,
  "page of no size": page("0pt", "0pt"),
  "page of 14,400 pt": page("14400pt", "14400pt"),
  "page over 14,400 pt in width": page("14400.01pt", "10pt"),
  "page over 14,400 pt in height": page("10pt", "14401pt"),
  "page that grows": `${TITLE}#set page(height: auto, width: 80mm)\n#table(columns: 2, ..range(1800).map(str))`,
  "second page over 14,400 pt": `${TITLE}x#page(height: 15000pt)[y]`,
  "year 0": dated(0, 1, 1),
  "year 250": dated(250, 1, 1),
  "year 1581": dated(1581, 12, 31),
  "14 October 1582": dated(1582, 10, 14),
  "15 October 1582": dated(1582, 10, 15),
  "year 9999": dated(9999, 12, 31),
  "no date": '#set document(title: "T", date: none)\nx',
  "attachment with all": TITLE + attachment('"a.csv"'),
  "attachment without media type": `${TITLE}#pdf.attach("a", bytes("a"), description: "d")`,
  "attachment without description": `${TITLE}#pdf.attach("a", bytes("a"), mime-type: "text/csv")`,
  "two attachments, the second without media type": `${TITLE}${attachment('"a"')}#pdf.attach("b", bytes("b"), description: "d")`,
  "29 clips": `${TITLE}#let f(n) = if n == 0 [x] else { box(clip: true, f(n - 1)) }\n#f(29)`,
  "translucent colour": `${TITLE}#rect(fill: red.transparentize(50%))`,
  "colour of CMYK": `${TITLE}#text(fill: cmyk(0%, 10%, 20%, 30%))[x]`,
  "conic gradient": `${TITLE}#rect(fill: gradient.conic(red, blue))`,
  "smooth image": `${TITLE}#image("grey.png", alt: "x", scaling: "smooth")`,
  highlight: `${TITLE}#highlight[x]`,
  emoji: `${TITLE}\u{1f600}`,
  "private use": `${TITLE}\ue000`,
  "link in the footer": `${TITLE}#set page(footer: link("https://example.org")[x])\nx`,
  "headings that skip levels": `${TITLE}=== A\n= B\n===== C`,
  "table of a header alone": `${TITLE}#table(columns: 2, table.header[A][B])`,
  "table with a footer": `${TITLE}#table(columns: 1, [A], table.footer[B])`,
  "table with a header in a table": `${TITLE}#table(columns: 1, table(columns: 1, table.header[A], [B]), [C])`,
  "table over pages": `${TITLE}#table(columns: 2, table.header[A][B], ..range(300).map(str), table.footer[C][D])`,
  "footnote in a table": `${TITLE}#table(columns: 1, table.header[A#footnote[x]], [B#footnote[y]])`,
  "formula without text": `${TITLE}$x^2$`,
  "formula with text": `${TITLE}#math.equation(alt: "x", block: true, $ sum_(i=0)^n sqrt(vec(a, b)) $)`,
}).map(([name, source]) => ({ name, source, files: { "grey.png": IMAGES["grey.png"] ?? Buffer.alloc(0) } }));

/** Only PDF/UA-1 can be asked for in another version than its own. */
const IN_OLDER_VERSIONS: readonly MatrixDocument[] = PDF_VERSIONS.filter((version) => version < "1.7").flatMap(
  (version) => AT_LIMITS.map((document) => ({ ...document, name: `${document.name}, in PDF ${version}`, version })),
);

const RENDERS_AT_ONCE = 4;

let folder: string;
let service: TestService;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "standards-"));
  service = await startTestService({ settings: { SERVICE_QUEUE_DEADLINE_SECONDS: "600" } });
});
afterAll(async () => {
  await service?.stop();
  await rm(folder, { recursive: true, force: true });
});

interface Rendered extends MatrixDocument {
  readonly standards: Standards;
  readonly status: number;
  /** The file of the service, or of Typst alone if the service refused the document; null if Typst refuses it, too. */
  readonly path: string | null;
  readonly xmpIsXml: boolean;
}

async function render(document: MatrixDocument, standards: Standards, at: string): Promise<Rendered> {
  const { source, data = null, files = {}, version } = document;
  const encoded = Object.entries(files).map(([key, bytes]) => [
    key,
    { encoding: "base64", content: bytes.toString("base64") },
  ]);
  const answer = await service.render({
    source,
    data,
    files: Object.fromEntries(encoded),
    output: { format: "pdf", standards, version },
  });
  const bytes = await answer.bytes();
  const pdf = answer.ok ? Buffer.from(bytes) : await compileWithoutService(document, standards, at);
  if (pdf === null) return { ...document, standards, status: answer.status, path: null, xmpIsXml: true };
  const path = `${at}.pdf`;
  await writeFile(path, pdf);
  return { ...document, standards, status: answer.status, path, xmpIsXml: hasWellFormedXmp(pdf) };
}

/** By the service's own command line, in a folder of its own. */
async function compileWithoutService(
  { source, data = null, files = {}, version }: MatrixDocument,
  standards: Standards,
  at: string,
): Promise<Buffer | null> {
  await mkdir(at);
  await writeFile(join(at, DATA_FILE_NAME), JSON.stringify(data));
  for (const [name, bytes] of Object.entries(files)) await writeFile(join(at, name), bytes);
  const paths = { root: at, outputDirectory: null, fontPaths: [], packagePath: at };
  const settings = { creationTimestampSeconds: null, limits: DEFAULT_LIMITS };
  const output: Output = {
    format: "pdf",
    standards: [...standards],
    version: version ?? null,
    pages: null,
    filename: null,
  };
  const { exitCode, stdout } = await execa(typstPath(), renderArguments(settings, paths, { output, fontCount: 0 }), {
    cwd: at,
    env: UNCONFINED_ENVIRONMENT,
    extendEnv: false,
    input: Buffer.concat(programText(Buffer.from(source))),
    encoding: "buffer",
    reject: false,
  });
  return exitCode === 0 ? Buffer.from(stdout) : null;
}

/** veraPDF reads past control characters, which are no XML. The packet is the last of all streams. */
function hasWellFormedXmp(pdf: Buffer): boolean {
  const text = pdf.toString("utf8");
  const packet = text.slice(text.lastIndexOf("<x:xmpmeta"), text.lastIndexOf("</x:xmpmeta>") + "</x:xmpmeta>".length);
  try {
    return readXmlElements(packet).length > 0;
  } catch {
    return false;
  }
}

async function renderAll(matrix: readonly (readonly [MatrixDocument, Standards])[]): Promise<Rendered[]> {
  const queue = matrix.entries();
  const rendered: Rendered[] = [];
  const renderNext = async () => {
    for (const [index, [document, standards]] of queue) {
      rendered[index] = await render(document, standards, join(folder, String(index)));
    }
  };
  await Promise.all(Array.from({ length: RENDERS_AT_ONCE }, renderNext));
  return rendered;
}

/** As veraPDF calls them: `3a ua1`. */
const claimOf = (standards: Standards) => standards.map((standard) => standard.replace(/^a-|-/, "")).join(" ");
const nameOf = ({ name, standards, status }: Rendered) => `${status} ${name} (${standards.join(", ")})`;

async function judge(rendered: readonly Rendered[]): Promise<Map<string, string>> {
  const validators = await fetchValidators();
  const pathsOf = (chosen: readonly Rendered[]) => chosen.flatMap(({ path }) => path ?? []);
  const verdicts = await verdictsOfVeraPdf(validators, pathsOf(rendered));
  const ofBoth = pathsOf(rendered.filter(({ standards: [first = "", second] }) => /^a-1/.test(first) && second));
  for (const [path, verdict] of await verdictsOfVeraPdf(validators, ofBoth, "ua1")) {
    verdicts.set(path, `${verdicts.get(path)} ${verdict}`);
  }
  return verdicts;
}

describe("each document of the matrix, in each standard", () => {
  const MATRIX = [
    ...WITH_TEXTS.flatMap((document) => SINGLE.map((standards) => [document, standards] as const)),
    ...[...WITH_IMAGES, ...AT_LIMITS].flatMap((document) =>
      [...SINGLE, ...PAIRS].map((standards) => [document, standards] as const),
    ),
    ...IN_OLDER_VERSIONS.map((document) => [document, ["ua-1"]] as const),
  ];
  let all: readonly Rendered[];
  let verdicts: ReadonlyMap<string, string>;
  const isValid = ({ path, standards, xmpIsXml }: Rendered) =>
    xmpIsXml && verdicts.get(path ?? "") === claimOf(standards);
  beforeAll(async () => {
    all = await renderAll(MATRIX);
    const judged = all.filter(({ path }) => path !== null);
    verdicts = await judge(judged);
    expect(verdicts.size, "veraPDF has judged each file").toBe(judged.length);
    const invalid = judged.filter((rendered) => !isValid(rendered));
    process.stdout.write(`${all.length} renders, ${judged.length} files, of which ${invalid.length} are invalid\n`);
  });

  it("is answered 200 or 422", () => {
    expect(all.filter(({ status }) => status !== 200 && status !== 422).map(nameOf)).toEqual([]);
  });

  it("is valid if the answer is 200", () => {
    const accepted = all.filter(({ status }) => status === 200);
    expect(accepted.filter((rendered) => !isValid(rendered)).map(nameOf)).toEqual([]);
    for (const standards of SINGLE) {
      expect(
        accepted.filter((rendered) => rendered.standards === standards).length,
        claimOf(standards),
      ).toBeGreaterThan(150);
    }
    expect(accepted.length).toBeGreaterThan(2000);
  });

  it("could not have become a valid file if the answer is 422", () => {
    const refused = all.filter(({ status, path }) => status === 422 && path !== null);
    expect(refused.filter(isValid).map(nameOf)).toEqual([]);
    const byVeraPdf = refused.filter(({ path }) => verdicts.get(path ?? "")?.includes(INVALID));
    expect(byVeraPdf.length, "files that Typst makes and veraPDF refuses").toBeGreaterThan(250);
  });
});

/** Answers in every format, with the requested pages, versions and standards, as independent readers see them. */
import { PNG } from "pngjs";
import { describe, expect, it } from "vitest";
import { DEFAULT_LIMITS } from "../../../rules/limits.ts";
import { PDF_STANDARDS, PDF_VERSIONS } from "../../../rules/output-options.ts";
import { validateOutput } from "../../../rules/output-rules.ts";
import { startSharedBackend } from "../../support/backend/test-backend.ts";
import { expectProblem } from "../../support/problems.ts";
import { readDisposition } from "../../support/readers/content-disposition.ts";
import { readPdf } from "../../support/readers/pdf-reader.ts";
import { readPixelsPerMetre } from "../../support/readers/png-reader.ts";
import { readSvgSize } from "../../support/readers/svg-reader.ts";
import { readZip } from "../../support/readers/zip-reader.ts";

const backend = await startSharedBackend();

/** 144 by 72 points, which is 288 by 144 pixels at the default of 144 pixels per inch. */
const SOURCE = "#set page(width: 144pt, height: 72pt, margin: 6pt)\nHello";
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** Renders the source and expects the headers that all formats have in common. */
async function renderOk(output: object) {
  const answer = await backend.render({ source: SOURCE, output });
  const bytes = Buffer.from(await answer.arrayBuffer());
  expect(answer.status, bytes.toString("utf8")).toBe(200);
  expect(answer.headers.get("Cache-Control")).toBe("no-store");
  expect(answer.headers.get("Content-Length")).toBe(String(bytes.length));
  expect(answer.headers.get("X-Content-Type-Options")).toBe("nosniff");
  expect(answer.headers.get("X-Request-Id")).toMatch(UUID);
  return { answer, headers: answer.headers, bytes };
}

it.each([
  [{}, "application/pdf", "inline", "document.pdf"],
  [{ format: "png" }, "image/png", "inline", "document.png"],
  [{ format: "svg" }, "image/svg+xml", "inline", "document.svg"],
  [{ format: "png", archive: "zip" }, "application/zip", "attachment", "document.zip"],
  [{ format: "svg", archive: "zip" }, "application/zip", "attachment", "document.zip"],
])("the answer to %j is %s, shown %s under the default name %s", async (output, mediaType, type, name) => {
  const { answer, headers } = await renderOk(output);
  expect(headers.get("Content-Type")).toBe(mediaType);
  expect(readDisposition(answer)).toMatchObject({ type, name });
  expect(headers.has("Content-Security-Policy")).toBe(mediaType === "image/svg+xml");
});

it("a PDF has the pages of the document", async () => {
  const pdf = await readPdf((await renderOk({})).bytes);
  expect(pdf).toMatchObject({ headerVersion: "1.7", pageTexts: ["Hello"], pageSizes: [[144, 72]] });
});

it.each([
  [undefined, 288, 144, 5670],
  [1, 2, 1, 40],
  [72, 144, 72, 2835],
  [300, 600, 300, 11_812],
])("a PNG has the size that %i pixels per inch give, or else 144, and says so", async (ppi, ...expected) => {
  const { bytes } = await renderOk({ format: "png", ppi });
  const [page, ...others] = readZip((await renderOk({ format: "png", ppi, archive: "zip" })).bytes);
  expect(others).toEqual([]);
  expect(page?.bytes.equals(bytes)).toBe(true);
  const { width, height } = PNG.sync.read(bytes);
  const perMetre = expected[2];
  expect([width, height, perMetre]).toEqual(expected);
  expect(readPixelsPerMetre(bytes)).toEqual([[perMetre, perMetre]]);
});

it("an SVG is well-formed and must not run or load anything", async () => {
  const { headers, bytes } = await renderOk({ format: "svg" });
  expect(readSvgSize(bytes)).toEqual([144, 72]);
  const policy = headers.get("Content-Security-Policy") ?? "";
  expect(policy).toContain("default-src 'none'");
  expect(policy).toMatch(/(?:^|; )sandbox(?:;|$)/);
  expect(policy).not.toMatch(/script-src|allow-scripts|http/);
});

it("the name of an answer cannot break out of its header", async () => {
  const { answer, headers } = await renderOk({ filename: 'a"; filename="evil.exe\r\nSet-Cookie: x=1' });
  expect(readDisposition(answer).name).toBe("a filename=evil.exeSet-Cookie x=1.pdf");
  expect(headers.has("Set-Cookie")).toBe(false);
});

/** Pages that show their number, each ten points wider than the one before. */
const numberedPages = (count: number) => `#set page(height: 100pt, margin: 10pt)
#for number in range(1, ${count + 1}) { page(width: 100pt + number * 10pt)[Page #number] }`;

/** The placeholder page that Typst writes if no page is selected has exactly this size. */
const PLACEHOLDER_SIZED = "#set page(width: 595pt, height: 842pt)\n";

const renderPdf = async (source: string, output: object) => readPdf(await backend.renderFile({ source, output }));

async function expectFailure(source: string, output: object): Promise<void> {
  await expectProblem(await backend.render({ source, output }), "template_compile_failed");
}

describe("pages of a PDF", () => {
  it.each([
    ["3", ["Page 3"]],
    ["1,3", ["Page 1", "Page 3"]],
    ["4-", ["Page 4", "Page 5"]],
    ["5,1", ["Page 1", "Page 5"]],
    ["2,2,1-2", ["Page 1", "Page 2"]],
    ["5,99", ["Page 5"]],
    ["99-,2", ["Page 2"]],
    ["1-999999999", ["Page 1", "Page 2", "Page 3", "Page 4", "Page 5"]],
  ])("are the selected ones in document order: %s", async (pages, texts) => {
    expect((await renderPdf(numberedPages(5), { pages })).pageTexts).toEqual(texts);
  });

  it.each(["6", "99,6-7", "999999999-"])("that do not exist are a problem: %s", (pages) =>
    expectFailure(numberedPages(5), { pages }),
  );

  it.each([...PDF_VERSIONS.map((version) => ({ version })), { standards: ["a-1b"] }, { standards: ["a-4"] }])(
    "that do not exist are a problem with %j too",
    (options) => expectFailure(numberedPages(2), { ...options, pages: "3" }),
  );

  it.each([
    ["a blank page of a document of one", PLACEHOLDER_SIZED, "1", 1],
    ["a blank page among others", `${PLACEHOLDER_SIZED}a #pagebreak() #pagebreak() b`, "2", 1],
    ["several such pages, some of them missing", `${PLACEHOLDER_SIZED}a #pagebreak() b`, "2-9", 1],
    ["all such pages", `${PLACEHOLDER_SIZED}a #pagebreak() b`, "1-", 2],
  ])("are delivered even if they look like the placeholder: %s", async (_what, source, pages, count) => {
    const pdf = await renderPdf(source, { pages });
    expect(pdf.pageSizes).toEqual(Array.from({ length: count }, () => [595, 842]));
  });

  it("are compiled only once if there is anything on a page of that size", async () => {
    const probes = () => backend.metric("service_render_phase_seconds_count", { phase: "probe" });
    const before = await probes();
    const { pageSizes } = await renderPdf(`${PLACEHOLDER_SIZED}a`, { pages: "1" });
    expect([pageSizes, await probes()]).toEqual([[[595, 842]], before]);
  });
});

it.each([1, 3, 70])("a single image is page %i if the request names it", async (page) => {
  const output = { format: "png", page, ppi: 72 };
  const { width, height } = PNG.sync.read(await backend.renderFile({ source: numberedPages(page), output }));
  expect([width, height]).toEqual([100 + 10 * page, 100]);
});

/** A document with everything that the strictest standards require: a title, a language, a heading, a date. */
const CONFORMING = `
#set document(title: "Conformance", author: "Tester", date: datetime(year: 2026, month: 1, day: 2))
#set page(width: 200pt, height: 200pt)
#set text(lang: "en")
= Heading
Text on the page.
`;

/** What a PDF/A profile claims by its name (ISO 19005-1 to -4). */
const PROFILE = /^a-(?<part>\d)(?<conformance>\w?)$/;
/** The PDF version on which each part stands. */
const VERSION_OF_PART: Readonly<Record<string, string>> = { 1: "1.4", 2: "1.7", 3: "1.7", 4: "2.0" };

const singles = PDF_STANDARDS.map((standard) => [standard]);
/** Their order says nothing, so that of each two there is one. */
const pairs = PDF_STANDARDS.flatMap((left, index) => PDF_STANDARDS.slice(index).map((right) => [left, right]));
const allowed = [[], ...singles, ...pairs]
  .flatMap((standards) => [null, ...PDF_VERSIONS].map((version) => ({ version, standards })))
  .filter((own) => validateOutput({ format: "pdf", filename: null, pages: null, ...own }, DEFAULT_LIMITS) === null);

describe("versions and standards", () => {
  it("allow as many combinations as docs/api.md#output-rules does", () => {
    // 6 versions alone · 11 profiles × (none, their own) · ua-1 × (none, four) · 8 profiles with ua-1 × (none, their own).
    expect(allowed).toHaveLength(6 + 22 + 5 + 16);
  });

  it.each(allowed)("give a PDF that claims them: version $version with $standards", async ({ version, standards }) => {
    const pdf = await renderPdf(CONFORMING, { standards, ...(version !== null && { version }) });
    const { part, conformance } =
      PROFILE.exec(standards.find((standard) => PROFILE.test(standard)) ?? "")?.groups ?? {};
    expect(pdf.headerVersion).toBe(VERSION_OF_PART[part ?? ""] ?? version ?? "1.7");
    expect(pdf.pageTexts).toHaveLength(1);
    expect(pdf.pageTexts[0]).toContain("Text on the page.");
    expect(pdf.claims["pdfaid:part"]).toBe(part);
    expect(pdf.claims["pdfaid:conformance"]).toBe(conformance?.toUpperCase() || undefined);
    expect(pdf.claims["pdfaid:rev"]).toBe(part === "4" ? "2020" : undefined);
    expect(pdf.claims["pdfuaid:part"]).toBe(standards.includes("ua-1") ? "1" : undefined);
    // Typst tags every PDF that may be tagged; here those that must be tagged count.
    if (standards.some((standard) => standard === "ua-1" || standard.endsWith("a"))) expect(pdf.isTagged).toBe(true);
  });
});

it.each(["a-1b", "a-2u", "a-3b", "a-4f"])("a selection of tagged pages keeps the claim of %s", async (standard) => {
  const pdf = await renderPdf(CONFORMING, { standards: [standard], pages: "1" });
  expect(pdf.claims["pdfaid:part"]).toBe(standard[2]);
  expect(pdf.isTagged).toBe(false);
});

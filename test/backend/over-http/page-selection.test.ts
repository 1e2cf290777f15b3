/** Which pages an answer contains: selections of a PDF, single images, and selections that match no page. */
import { PNG } from "pngjs";
import { describe, expect, it } from "vitest";
import { PDF_VERSIONS } from "../../../rules/output-options.ts";
import { startSharedBackend } from "../../support/backend/test-backend.ts";
import { expectProblem } from "../../support/problems.ts";
import { readPdf } from "../../support/readers/pdf-reader.ts";

const backend = await startSharedBackend();

/** Pages that show their number, each ten points wider than the one before. */
const numberedPages = (count: number) => `#set page(height: 100pt, margin: 10pt)
#for number in range(1, ${count + 1}) { page(width: 100pt + number * 10pt)[Page #number] }`;

/** The placeholder page that Typst writes if no page is selected has exactly this size. */
const PLACEHOLDER_SIZED = "#set page(width: 595pt, height: 842pt)\n";

const renderPdf = async (source: string, output: object) => readPdf(await backend.rendered({ source, output }));

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

describe("a single image", () => {
  it.each([1, 3, 70])("is page %i if the request names it", async (page) => {
    const output = { format: "png", page, ppi: 72 };
    const { width, height } = PNG.sync.read(await backend.rendered({ source: numberedPages(page), output }));
    expect([width, height]).toEqual([100 + 10 * page, 100]);
  });
});

/**
 * What a 422 says about its cause: what the service knows by itself and nothing of Typst's own messages, even if a
 * template imitates another failure.
 */
import { execa } from "execa";
import { describe, expect, it } from "vitest";
import { makeFakeTypst } from "../../support/backend/fake-typst.ts";
import { startSharedBackend, startTemporaryBackend, type TestBackend } from "../../support/backend/test-backend.ts";
import { typstPath } from "../../support/backend/typst-path.ts";
import { expectProblem } from "../../support/problems.ts";

const REFUSED = "Typst could not produce the requested output from this template.";
const SEVERAL_PAGES = 'The document has several pages. Select one with "page", or all of them with "archive": "zip".';
const SELECTION_EMPTY = 'The document has none of the pages that "pages" selects.';
const noPage = (page: number) => `The document has no page ${page}.`;

const TWO_PAGES = "a #pagebreak() b";
/** Looks like the placeholder page that Typst writes if no page is selected. */
const PLACEHOLDER_SIZED = "#set page(width: 595pt, height: 842pt)\na";
const ARCHIVE = { format: "png", archive: "zip" };

async function detailOf(backend: TestBackend, body: object): Promise<string> {
  const { detail, context } = await expectProblem(await backend.render(body), "template_compile_failed");
  expect(context).toEqual({});
  await expect.poll(() => backend.projects()).toEqual([]);
  return detail;
}

/** A request that fails and the detail that it gets. */
const FAILURES: [string, { source: string; output?: object }, string][] = [
  ["several pages for a single PNG", { source: TWO_PAGES, output: { format: "png" } }, SEVERAL_PAGES],
  ["several pages for a single SVG", { source: TWO_PAGES, output: { format: "svg" } }, SEVERAL_PAGES],
  ["a second page that is blank", { source: "a #pagebreak()", output: { format: "png" } }, SEVERAL_PAGES],
  ["a page that is not there, of a PNG", { source: TWO_PAGES, output: { format: "png", page: 3 } }, noPage(3)],
  ["a page that is not there, of an SVG", { source: "a", output: { format: "svg", page: 2 } }, noPage(2)],
  ["a page beyond every number of Typst's", { source: "a", output: { format: "svg", page: 2 ** 70 } }, noPage(2 ** 70)],
  ["pages of a PDF that are not there", { source: TWO_PAGES, output: { pages: "3-9" } }, SELECTION_EMPTY],
  [
    "pages of a PDF/A that are not there",
    { source: "a", output: { standards: ["a-2b"], pages: "2-" } },
    SELECTION_EMPTY,
  ],
  [
    "such pages where one could take the others for none",
    { source: PLACEHOLDER_SIZED, output: { pages: "2" } },
    SELECTION_EMPTY,
  ],
  ["pages of an archive that are not there", { source: "a", output: { ...ARCHIVE, pages: "2,7" } }, SELECTION_EMPTY],
  ["an error", { source: '#panic("the secret")' }, REFUSED],
  ["an error of an image", { source: "#nothing", output: { format: "png" } }, REFUSED],
  [
    "an error of an image that would have several pages",
    { source: `${TWO_PAGES} #nothing`, output: { format: "svg" } },
    REFUSED,
  ],
  ["an error of an image with its page named", { source: "#nothing", output: { format: "svg", page: 2 } }, REFUSED],
  ["an error of an archive", { source: "#nothing", output: { ...ARCHIVE, pages: "9" } }, REFUSED],
  ["an error of a PDF with pages", { source: "#nothing", output: { pages: "9" } }, REFUSED],
  [
    "an error that reads like another",
    {
      source: '#assert(false, message: "x\\nerror: cannot export multiple images to stdout")',
      output: { format: "png" },
    },
    REFUSED,
  ],
  [
    "an error that reads like a want of memory",
    { source: '#assert(false, message: "x\\nmemory allocation of 8 bytes failed")' },
    REFUSED,
  ],
];

const shared = await startSharedBackend();

describe("a 422 names as its cause", () => {
  it.each(FAILURES)("%s", async (_what, body, detail) => {
    expect(await detailOf(shared, body)).toBe(detail);
  });

  it("that memory ran out", async () => {
    const limit = 256 * 1024 ** 2;
    const backend = await startTemporaryBackend({ SERVICE_RENDER_MEMORY_BYTES: String(limit) });
    for (const output of [{}, { format: "png" }, ARCHIVE]) {
      const detail = await detailOf(backend, { source: "#range(1000000000)", output });
      expect(detail).toBe(`The render needed more memory than its ${limit} bytes.`);
    }
  });
});

describe("Typst's own words", () => {
  /** What the real Typst prints for the template and the options without the service. */
  async function messages(source: string, options: readonly string[]): Promise<string[]> {
    const { stderr } = await execa(typstPath(), ["compile", ...options, "-", "-"], {
      input: source,
      reject: false,
    });
    return stderr.split("\n").flatMap((line) => /^\s*(?:error|warning|[=] hint): (.+)$/.exec(line)?.[1] ?? []);
  }

  it.each([
    ['#panic("the secret")', []],
    ["#nothing", []],
    [TWO_PAGES, ["--format", "png"]],
    [TWO_PAGES, ["--format", "svg"]],
    ["#range(1, 2, step: 0)", []],
  ])("appear in no detail: %s %j", async (source, options) => {
    const said = await messages(source, options);
    expect(said).not.toEqual([]);
    const details = new Set(FAILURES.map(([, , detail]) => detail));
    const [, format = "pdf"] = options;
    details.add(await detailOf(shared, { source, output: { format } }));
    for (const detail of details) for (const message of said) expect(detail).not.toContain(message);
  });
});

describe("the second compilation after a failed image", () => {
  /** A Typst that records each of its runs and fails. The script says what it does if only page 2 is requested. */
  async function runsOf(script: string, body: object, settings: Readonly<Record<string, string>> = {}) {
    const typst = await makeFakeTypst(`cat > /dev/null; echo run >> "$here/runs"\n${script}`);
    const backend = await startTemporaryBackend({ SERVICE_TYPST_BIN: typst.path, ...settings });
    const detail = await detailOf(backend, { source: "x", ...body });
    return { detail, runs: ((await typst.read("runs")) ?? "").trim().split("\n").length };
  }

  const SECOND_RUN = 'case "$*" in *"--pages 2 "*)';

  it("ends at the render timeout, with the answer already known", async () => {
    const script = `${SECOND_RUN} exec sleep 300;; esac; exit 1`;
    const settings = { SERVICE_RENDER_TIMEOUT_SECONDS: "1" };
    expect(await runsOf(script, { output: { format: "svg" } }, settings)).toEqual({ detail: REFUSED, runs: 2 });
  });

  it("ends when the client leaves", async () => {
    const typst = await makeFakeTypst(
      `cat > /dev/null\n${SECOND_RUN} echo > "$here/second"; exec sleep 300;; esac; exit 1`,
    );
    const backend = await startTemporaryBackend({ SERVICE_TYPST_BIN: typst.path });
    const client = new AbortController();
    const answer = backend.render({ source: "x", output: { format: "svg" } }, { signal: client.signal });
    await Promise.all([
      expect(answer).rejects.toThrow(),
      expect
        .poll(() => typst.read("second"))
        .not.toBeNull()
        .then(() => client.abort()),
    ]);
    await expect.poll(() => backend.projects()).toEqual([]);
    await expect.poll(() => backend.metric("service_render_requests_total", { outcome: "client_gone" })).toBe(1);
  });
});

import { describe, expect, it } from "vitest";
import { makeFakeTypst } from "../../support/backend/fake-typst.ts";
import { startSharedBackend, startTemporaryBackend, type TestBackend } from "../../support/backend/test-backend.ts";
import { expectProblem } from "../../support/problems.ts";

const REFUSED = "Typst could not produce the requested output from this template.";

const TWO_PAGES = "a #pagebreak() b";
const saying = (line: string) => `#assert(false, message: "x\\n${line}")`;
const ARCHIVE = { format: "png", archive: "zip" };

async function detailOf(backend: TestBackend, body: object): Promise<string> {
  const { detail, context } = await expectProblem(await backend.render(body), "template_compile_failed");
  expect(context).toEqual({});
  await expect.poll(() => backend.projects()).toEqual([]);
  return detail;
}

const SVG = { format: "svg" };
const PNG = { format: "png" };

/** A request that fails, by its source and its output, and the detail that it gets. */
const FAILURES: [string, string, object, string][] = [
  ["a page beyond every number of Typst's", "a", { ...SVG, page: 2 ** 70 }, `The document has no page ${2 ** 70}.`],
  ["an error of an image that would have several pages", `${TWO_PAGES} #nothing`, SVG, REFUSED],
  [
    "thousands of errors, which Typst explains in twelve seconds",
    `${"#{".repeat(3000)}${"}".repeat(3000)}`,
    {},
    REFUSED,
  ],
  ["an error that reads like another", saying("error: cannot export multiple images to stdout"), PNG, REFUSED],
  ["an error that reads like a want of memory", saying("memory allocation of 8 bytes failed"), {}, REFUSED],
];

const shared = await startSharedBackend();

describe("a 422 names as its cause", () => {
  it.each(FAILURES)("%s", async (_what, source, output, detail) => {
    expect(await detailOf(shared, { source, output })).toBe(detail);
  });

  it("that memory ran out", async () => {
    const limit = 256 * 1024 ** 2;
    const backend = await startTemporaryBackend({ SERVICE_RENDER_MEMORY_BYTES: String(limit) });
    for (const output of [{}, { format: "png" }, ARCHIVE]) {
      const detail = await detailOf(backend, { source: "#range(1000000000)", output });
      expect(detail).toMatch(/^The render needed more memory than its 256 MiB: .*#documents-that-grow/);
    }
  });
});

it("the second compilation after a failed image ends when the client leaves", async () => {
  const typst = await makeFakeTypst(
    `cat > /dev/null\ncase "$*" in *"--pages 2 "*) echo > "$here/second"; exec sleep 300;; esac; exit 1`,
  );
  const backend = await startTemporaryBackend({ SERVICE_TYPST_BIN: typst.path });
  const client = new AbortController();
  const answer = backend.render({ source: "x", output: SVG }, { signal: client.signal }).catch(() => "left");
  await expect.poll(() => typst.read("second")).not.toBeNull();
  client.abort();
  expect(await answer).toBe("left");
  await expect.poll(() => backend.projects()).toEqual([]);
  await expect.poll(() => backend.metric("service_render_requests_total", { outcome: "client_gone" })).toBe(1);
});

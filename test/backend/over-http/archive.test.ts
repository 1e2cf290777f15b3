/** ZIP archives of pages: names, order, selections, and the limits on their number and size. */
import { expect, it } from "vitest";
import { NO_TIME_LIMIT } from "../../support/backend/bombs.ts";
import { makeFakeTypst, waitFor } from "../../support/backend/fake-typst.ts";
import { startSharedBackend, startTemporaryBackend, type TestBackend } from "../../support/backend/test-backend.ts";
import { expectProblem } from "../../support/problems.ts";
import { readSvgSize } from "../../support/readers/svg-reader.ts";
import { readZip, type ZipEntry } from "../../support/readers/zip-reader.ts";

const MEBIBYTE = 1024 ** 2;

const backend = await startSharedBackend();

/** Empty pages, each ten points wider than the one before, so the size identifies the page. */
const pagesOf = (count: number) =>
  `#for number in range(1, ${count + 1}) { page(width: number * 10pt, height: 10pt, margin: 0pt)[] }`;

const svgZip = (pages: string | null = null) => ({ format: "svg", archive: "zip", pages });

async function renderZip(source: string, output: object, from: TestBackend = backend): Promise<ZipEntry[]> {
  return readZip(await from.renderFile({ source, output }));
}

/** The physical page that an entry shows. */
const pageNumber = ({ bytes }: ZipEntry) => readSvgSize(bytes)[0] / 10;
const range = (first: number, last: number) => Array.from({ length: last - first + 1 }, (_, index) => first + index);

it.each([
  ["3,1", [1, 3]],
  ["2-,4-", [2, 3, 4, 5]],
  ["5,99", [5]],
  ["4-64", [4, 5]],
  [null, [1, 2, 3, 4, 5]],
])("the entries of an archive are the selected pages that exist, or all: %s", async (pages, numbers) => {
  const entries = await renderZip(pagesOf(5), svgZip(pages));
  expect(entries.map(pageNumber)).toEqual(numbers);
  expect(entries.map(({ name }) => name)).toEqual(numbers.map((number) => `page-0${number}.svg`));
});

it.each([
  ["1,38-", 100, [1, ...range(38, 100)]],
  ["1-40,30-", 64, range(1, 64)],
])("an archive may have exactly 64 pages of an open-ended selection: %s of %i pages", async (pages, count, numbers) => {
  expect(numbers).toHaveLength(64);
  expect((await renderZip(pagesOf(count), svgZip(pages))).map(pageNumber)).toEqual(numbers);
});

it("an archive whose pages have room in memory only one by one is made, also where a render has several threads", async () => {
  const environment = { SERVICE_MAX_CONCURRENT_RENDERS: "2", SERVICE_RENDER_MEMORY_BYTES: String(256 * MEBIBYTE) };
  const backend = await startTemporaryBackend(environment);
  // In memory twice, at 77 MB each.
  const source = "#set page(width: 4400pt, height: 4400pt)\n#for number in range(3) { pagebreak() }";
  const output = { format: "png", archive: "zip", ppi: 72 };
  expect(await renderZip(source, output, backend)).toHaveLength(4);
  const tooLarge = source.replaceAll("4400pt", "7000pt");
  const { context } = await expectProblem(
    await backend.render({ source: tooLarge, output }),
    "template_compile_failed",
  );
  expect(context).toEqual({});
});

it("an archive of pages that take long to compress is abandoned when its client leaves, and does not block others meanwhile", async () => {
  // Pages of noise, which compress slowly.
  const typst = await makeFakeTypst(`cat > /dev/null; head -c 4194304 /dev/urandom > "$here/noise"; n=1
while [ $n -le 50 ]; do cp "$here/noise" "$(dirname "$target")/$n"; n=$((n + 1)); done; : > "$here/written"`);
  const backend = await startTemporaryBackend({
    SERVICE_TYPST_BIN: typst.path,
    SERVICE_MAX_OUTPUT_BYTES: String(256 * MEBIBYTE),
    SERVICE_MAX_TEMP_BYTES: String(1024 * MEBIBYTE),
  });
  const leaving = new AbortController();
  const answer = backend.render({ source: "x", output: svgZip() }, { signal: leaving.signal });
  answer.catch(() => {});
  await expect.poll(() => typst.read("written")).not.toBeNull();
  for (let count = 0; count < 5; count++) expect((await backend.fetch("/health")).status).toBe(200);
  expect(await backend.metric("service_renders_running")).toBe(1);
  leaving.abort();
  await expect(answer).rejects.toThrow();
  await expect.poll(() => backend.metric("service_renders_running")).toBe(0);
  expect(await backend.metric("service_render_requests_total", { outcome: "client_gone" })).toBe(1);
  await expect.poll(() => backend.projects()).toEqual([]);
});

it("temporary space is reserved only as it is used: with the default space, all of 32 slots can make archives", async () => {
  const typst = await makeFakeTypst(`cat > /dev/null; ${waitFor("go")}; printf '<svg/>' > "$(dirname "$target")/1"`);
  const backend = await startTemporaryBackend({
    SERVICE_TYPST_BIN: typst.path,
    SERVICE_MAX_CONCURRENT_RENDERS: "32",
    ...NO_TIME_LIMIT,
  });
  const answers = Array.from({ length: 32 }, () => backend.render({ source: "x", output: svgZip() }));
  await expect.poll(() => backend.metric("service_renders_running")).toBe(32);
  await typst.signal("go");
  const statuses = (await Promise.all(answers)).map(({ status }) => status);
  expect(statuses).toEqual(statuses.map(() => 200));
});

/** The peak memory of renders in the metrics. */
import { expect, it } from "vitest";
import { type RenderBody, startTemporaryBackend, type TestBackend } from "../../support/backend/test-backend.ts";

const MEBIBYTE = 1024 ** 2;
/** Typst's own values take 32 bytes each. The loop keeps them long enough for a reading on a fast machine. */
const LARGE = { source: "#let values = range(6000000)\n#for i in range(6000000) {}\n#values.len()" };
/** What one render adds to the sum and the count of the histogram. */
async function observed(backend: TestBackend, body: RenderBody): Promise<{ bytes: number; count: number }> {
  const read = async () =>
    Promise.all(
      ["sum", "count"].map((part) => backend.metric(`service_render_peak_memory_bytes_${part}`, { format: "pdf" })),
    );
  const [bytesBefore = 0, countBefore = 0] = await read();
  expect((await backend.render(body)).status).toBe(200);
  const [bytes = 0, count = 0] = await read();
  return { bytes: bytes - bytesBefore, count: count - countBefore };
}

it("the peak memory is that of Typst, not of its launcher, for each render by itself", async () => {
  const backend = await startTemporaryBackend({ SERVICE_WARM_RENDERS: "1" });
  const large = await observed(backend, LARGE);
  expect(large.count).toBe(1);
  expect(large.bytes).toBeGreaterThan(150 * MEBIBYTE);
  expect(large.bytes).toBeLessThan(1024 * MEBIBYTE);
  const small = await observed(backend, { source: "#lorem(20000)" });
  expect(small.count).toBe(1);
  expect(small.bytes).toBeGreaterThan(15 * MEBIBYTE);
  expect(small.bytes).toBeLessThan(150 * MEBIBYTE);
});

/** What a backend tells about a request beside its answer. */
import { Writable } from "node:stream";
import { describe, expect, it, onTestFinished } from "vitest";
import { buildRenderService } from "../../../backend/http/app.ts";
import { MAX_CALLERS_IN_METRICS } from "../../../backend/observe/render-metrics.ts";
import { parseServerTiming } from "../../../protocol/headers.ts";
import { LogOutput } from "../../../protocol/node/log-output.ts";
import { PROBLEMS } from "../../../rules/problem.ts";
import {
  type RenderBody,
  startSharedBackend,
  startTemporaryBackend,
  type TestBackend,
} from "../../support/backend/test-backend.ts";
import { openTestSandbox } from "../../support/backend/test-sandbox.ts";
import { parseMetrics, sampleValue } from "../../support/readers/metrics-text.ts";
import { tableOfPage } from "../../support/readers/page-table.ts";
import { BACKEND_TOKEN } from "../../support/tokens.ts";

/** The names of the phases of an answer. */
function phasesOf(answer: Response): string[] {
  const timing = answer.headers.get("Server-Timing");
  if (timing === null) return [];
  expect(parseServerTiming(timing)).toBe(timing);
  return timing.split(", ").map((metric) => metric.replace(/;.*/, ""));
}

describe("Server-Timing", async () => {
  const backend = await startSharedBackend();

  it("has the phases of a render, whether it ends in a file or in a problem", async () => {
    expect(phasesOf(await backend.render({ source: "x" }))).toEqual(["queue", "start", "files", "compile"]);
    const archive = await backend.render({ source: "x", output: { format: "svg", archive: "zip" } });
    expect(phasesOf(archive)).toEqual(["queue", "start", "files", "compile", "archive"]);
    const severalPages = await backend.render({ source: "#pagebreak()", output: { format: "png" } });
    expect(severalPages.status).toBe(422);
    expect(phasesOf(severalPages)).toEqual(["queue", "start", "files", "compile", "probe"]);
  });

  it("is not sent if nothing was rendered, nor to clients without a token", async () => {
    expect(phasesOf(await backend.render({ source: "" }))).toEqual([]);
    const stranger = await backend.render({ source: "x" }, { headers: { "X-Service-Backend-Token": "wrong" } });
    expect([stranger.status, phasesOf(stranger)]).toEqual([403, []]);
  });

  it("is beside the code of a problem in a header field, and no other answer has one", async () => {
    expect((await backend.render({ source: "x" })).headers.has("X-Service-Problem-Code")).toBe(false);
    for (const body of [{ source: "" }, { source: "#panic()" }, { source: "x", output: { format: "gif" } }]) {
      const answer = await backend.render(body);
      const { code } = (await answer.json()) as { code: string };
      expect(answer.headers.get("X-Service-Problem-Code")).toBe(code);
    }
  });
});

it("the metrics of a backend that has served nothing have a zero for all that can occur, so that the first failure is an increase", async () => {
  const backend = await startTemporaryBackend({ SERVICE_MAX_TEMP_BYTES: String(2 ** 28) });
  const samples = await backend.metrics();
  const counted = samples.filter(({ name }) => name === "service_render_requests_total");
  expect(counted.map(({ value }) => value)).toEqual(counted.map(() => 0));
  for (const format of ["pdf", "png", "svg"]) {
    const outcomes = counted.filter(({ labels }) => labels.format === format).map(({ labels }) => labels.outcome);
    const failures = ["render_failed", "service_unavailable", "render_timeout", "render_queue_full"];
    expect(outcomes).toEqual(expect.arrayContaining(["ok", ...failures]));
  }
  // Unknown routes and methods never come to the render route.
  const known = new Set(["ok", ...counted.map(({ labels }) => labels.outcome)]);
  const codes = Object.keys(PROBLEMS).filter((code) => !["not_found", "method_not_allowed"].includes(code));
  expect(codes.filter((code) => !known.has(code))).toEqual([]);
  expect(counted.length).toBeLessThan(60);
  for (const end of ["delivered", "client_gone", "silent", "timed_out"]) {
    expect(samples).toContainEqual({ name: "service_deliveries_total", labels: { end }, value: 0 });
  }
  for (const outcomeClass of ["ok", "client_gone", "request", "template", "capacity", "service"]) {
    const labels = { class: outcomeClass };
    expect(samples).toContainEqual({ name: "service_render_duration_seconds_count", labels, value: 0 });
  }
  expect(sampleValue(samples, "service_temp_max_bytes", {})).toBe(2 ** 28);
  expect(sampleValue(samples, "service_body_memory_max_bytes", {})).toBe(2 ** 29);
  expect(sampleValue(samples, "service_output_memory_max_bytes", {})).toBe(2 ** 26);
  expect(sampleValue(samples, "service_work_directory_free_bytes", {})).toBeGreaterThan(1e6);
});

it("the log has one line for each render, with its id, its trace, its times, and the size of a body that was read", async () => {
  const backend = await startTemporaryBackend();
  const traceId = "0af7651916cd43dd8448eb211c80319c";
  const traceparent = `00-${traceId}-b7ad6b7169203331-01`;
  const rendered = await backend.render({ source: "x" }, { headers: { traceparent } });
  const { length: outputBytes } = await rendered.bytes();
  const invalid = await backend.render({ source: "" });
  await backend.render({ source: "x" }, { headers: { "X-Service-Backend-Token": "wrong" } });
  await expect
    .poll(() => backend.logged)
    .toMatchObject([
      {
        ...{ outcome: "ok", format: "pdf", requestBytes: 14, outputBytes, traceId },
        reqId: rendered.headers.get("X-Request-Id"),
        phases: { queue: expect.any(Number), compile: expect.any(Number) },
      },
      { outcome: "invalid_request", requestBytes: 13, reqId: invalid.headers.get("X-Request-Id") },
      { outcome: "forbidden" },
    ]);
  const listed = (await tableOfPage("monitoring.md", "### Of a backend")).map(([field]) => field);
  const frame = ["level", "time", "pid", "hostname", "msg"];
  const named = Object.keys(backend.logged[0] ?? {}).filter((field) => !frame.includes(field));
  expect(listed).toEqual(expect.arrayContaining(named));
  expect(backend.logged[2]).not.toHaveProperty("requestBytes");
});

const METRIC = "service_caller_requests_total";

/** A request that is refused by its body: it costs no render. */
async function sendInvalid(backend: TestBackend, caller: string, token = BACKEND_TOKEN): Promise<number> {
  const headers = { "X-Service-Caller": caller, "X-Service-Backend-Token": token };
  const answer = await backend.render("{", { headers });
  await answer.bytes();
  return answer.status;
}

async function callersOf(backend: TestBackend): Promise<string[]> {
  const samples = await backend.metrics();
  return samples.flatMap(({ name, labels }) => (name === METRIC ? [labels.caller ?? ""] : []));
}

describe("requests in the metrics of a backend", () => {
  it("are counted by outcome and by the caller that the edge names, if its token vouches for the name", async () => {
    const backend = await startTemporaryBackend();
    await (await backend.render({ source: "x" }, { headers: { "X-Service-Caller": "billing" } })).bytes();
    for (const caller of ["billing", "billing", "shop"]) await sendInvalid(backend, caller);
    // Names that the edge cannot have given.
    for (const name of ["", "two words", "_other", "x".repeat(65)]) await sendInvalid(backend, name);
    expect(await sendInvalid(backend, "stranger", "wrong")).toBe(403);
    const count = (caller: string, outcome: string) => backend.metric(METRIC, { caller, outcome });
    expect(new Set(await callersOf(backend))).toEqual(new Set(["billing", "shop", "unnamed"]));
    expect([await count("billing", "ok"), await count("billing", "invalid_request")]).toEqual([1, 2]);
    expect([await count("shop", "invalid_request"), await count("unnamed", "invalid_request")]).toEqual([1, 4]);
    expect(await count("unnamed", "forbidden")).toBe(1);
  });

  it("name a limited number of callers, and count all others together", async () => {
    const backend = await startTemporaryBackend();
    const callers = Array.from({ length: MAX_CALLERS_IN_METRICS }, (_, index) => `caller-${index}`);
    await Promise.all(callers.map((caller) => sendInvalid(backend, caller)));
    expect(new Set(await callersOf(backend))).toEqual(new Set(callers));
    for (const late of ["late-1", "late-2", "caller-1"]) await sendInvalid(backend, late);
    expect(new Set(await callersOf(backend)).size).toBe(MAX_CALLERS_IN_METRICS + 1);
    expect(await backend.metric(METRIC, { caller: "_other" })).toBe(2);
    expect(await backend.metric(METRIC, { caller: "caller-1" })).toBe(2);
  });
});

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

it("what nobody reads of the log is dropped beyond a mebibyte, and counted", async () => {
  const output = new Writable({ write: () => {} });
  const { settings, sandbox, launcher } = await openTestSandbox("none");
  const { app } = buildRenderService({
    ...{ settings, sandbox, launcher, tracing: null, logOutput: new LogOutput(output) },
    followsCrash: true,
  });
  onTestFinished(() => app.close());
  const read = async () =>
    sampleValue(parseMetrics((await app.inject("/metrics")).body), "service_log_lines_dropped_total");
  expect(await read()).toBe(0);
  for (let line = 0; line < 3000; line++) app.log.info("x".repeat(1024));
  expect(output.writableLength).toBeLessThanOrEqual(1024 ** 2);
  expect(await read()).toBeGreaterThan(1500);
});

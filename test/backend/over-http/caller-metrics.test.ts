/** `service_caller_requests_total`: who sent how many requests, and how many different names it may hold. */
import { describe, expect, it } from "vitest";
import { MAX_CALLERS_IN_METRICS } from "../../../backend/observe/render-metrics.ts";
import { startTemporaryBackend, type TestBackend } from "../../support/backend/test-backend.ts";
import { BACKEND_TOKEN } from "../../support/tokens.ts";

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
  it("are counted by the caller that the edge names, and by outcome", async () => {
    const backend = await startTemporaryBackend();
    await (await backend.render({ source: "x" }, { headers: { "X-Service-Caller": "billing" } })).bytes();
    await sendInvalid(backend, "billing");
    await sendInvalid(backend, "billing");
    await sendInvalid(backend, "shop");
    expect(await backend.metric(METRIC, { caller: "billing", outcome: "ok" })).toBe(1);
    expect(await backend.metric(METRIC, { caller: "billing", outcome: "invalid_request" })).toBe(2);
    expect(await backend.metric(METRIC, { caller: "shop", outcome: "invalid_request" })).toBe(1);
  });

  it("without a name that the edge could have given are counted as unnamed", async () => {
    const backend = await startTemporaryBackend();
    for (const name of ["", "two words", "_other", "x".repeat(65)]) await sendInvalid(backend, name);
    expect(await callersOf(backend)).toEqual(["unnamed"]);
    expect(await backend.metric(METRIC, { caller: "unnamed", outcome: "invalid_request" })).toBe(4);
  });

  it("are not counted for a caller unless the edge's token vouches for its name", async () => {
    const backend = await startTemporaryBackend();
    expect(await sendInvalid(backend, "billing", "wrong")).toBe(403);
    expect(await callersOf(backend)).toEqual(["unnamed"]);
    expect(await backend.metric(METRIC, { caller: "unnamed", outcome: "forbidden" })).toBe(1);
  });

  it("name a limited number of callers, and count all others together", async () => {
    const backend = await startTemporaryBackend();
    for (let n = 1; n <= MAX_CALLERS_IN_METRICS; n++) await sendInvalid(backend, `caller-${n}`);
    expect(new Set(await callersOf(backend)).size).toBe(MAX_CALLERS_IN_METRICS);
    expect(await callersOf(backend)).not.toContain("_other");
    for (const late of ["late-1", "late-2", "caller-1"]) await sendInvalid(backend, late);
    expect(new Set(await callersOf(backend)).size).toBe(MAX_CALLERS_IN_METRICS + 1);
    expect(await backend.metric(METRIC, { caller: "_other" })).toBe(2);
    expect(await backend.metric(METRIC, { caller: "caller-1" })).toBe(2);
  });
});

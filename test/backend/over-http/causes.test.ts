/** Why a backend answers 429 and 503. */
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { CAUSES, NEXT_STEPS } from "../../../rules/causes.ts";
import { ENDLESS, NO_TIME_LIMIT } from "../../support/backend/bombs.ts";
import { makeFakeTypst, waitFor } from "../../support/backend/fake-typst.ts";
import { startTemporaryBackend, startTestBackend, type TestBackend } from "../../support/backend/test-backend.ts";
import { BACKEND_CAUSES, REFUSALS } from "../../support/causes.ts";
import { expectProblem } from "../../support/problems.ts";
import { sendWithoutReading } from "../../support/service/raw-connection.ts";
import { BACKEND_TOKEN } from "../../support/tokens.ts";

const MEBIBYTE = 1024 ** 2;
const RENDER = { source: "x" };

type Environment = Readonly<Record<string, string>>;
type BackendCause = (typeof BACKEND_CAUSES)[number];

const from = (caller: string, headers: Environment = {}) => ({ headers: { "X-Service-Caller": caller, ...headers } });
const waiting = (backend: TestBackend) => expect.poll(() => backend.metric("service_renders_waiting"));
const running = (backend: TestBackend) => expect.poll(() => backend.metric("service_renders_running"));

/** A backend with one slot, whose renders wait until the test has finished, and one render in it. */
async function busyBackend(environment: Environment = {}, held: object = RENDER): Promise<TestBackend> {
  const typst = await makeFakeTypst(`cat > /dev/null; ${waitFor("go")}; printf done`);
  const settings = { SERVICE_TYPST_BIN: typst.path, SERVICE_MAX_CONCURRENT_RENDERS: "1", ...NO_TIME_LIMIT };
  const backend = await startTestBackend({ SERVICE_QUEUE_DEADLINE_SECONDS: "300", ...settings, ...environment });
  onTestFinished(async () => {
    await typst.signal("go");
    await running(backend).toBe(0);
    await backend.close();
  });
  void backend.render(held, from("first"));
  await running(backend).toBe(1);
  return backend;
}

/** Refuses the body of a caller for whose other requests there is memory. */
async function withoutMemory(callers: readonly string[]): Promise<[TestBackend, Response]> {
  const body = { ...RENDER, data: "y".repeat(0.9 * MEBIBYTE) };
  const limits = { SERVICE_MAX_REQUEST_BODY_BYTES: `${MEBIBYTE}`, SERVICE_MAX_BODY_MEMORY_BYTES: `${4 * MEBIBYTE}` };
  const backend = await busyBackend(limits, body);
  const [last = "", ...others] = callers.toReversed();
  for (const [index, caller] of others.entries()) {
    void backend.render(body, from(caller));
    await waiting(backend).toBe(index + 1);
  }
  return [backend, await backend.render(body, from(last))];
}

const PROVOCATIONS: Readonly<Record<BackendCause, () => Promise<[TestBackend, Response]>>> = {
  slots_busy: async () => {
    const backend = await busyBackend({ SERVICE_QUEUE_DEADLINE_SECONDS: "1" });
    return [backend, await backend.render(RENDER)];
  },
  time_budget: async () => {
    const backend = await busyBackend();
    return [backend, await backend.render(RENDER, from("late", { "X-Service-Patience-Milliseconds": "100" }))];
  },
  queue_full: async () => {
    const backend = await busyBackend({ SERVICE_MAX_QUEUED_RENDERS: "1" });
    // A client that leaves makes room.
    const leaving = new AbortController();
    backend.render(RENDER, { signal: leaving.signal }).catch(() => {});
    await waiting(backend).toBe(1);
    leaving.abort();
    await waiting(backend).toBe(0);
    void backend.render(RENDER);
    await waiting(backend).toBe(1);
    const answer = await backend.render(RENDER);
    await waiting(backend).toBe(1);
    return [backend, answer];
  },
  slot_kept_free: async () => {
    const settings = { SERVICE_MAX_CONCURRENT_RENDERS: "2", SERVICE_QUEUE_DEADLINE_SECONDS: "3" };
    const backend = await startTemporaryBackend({ ...NO_TIME_LIMIT, ...settings });
    const ask = (caller: string, source: string, init: RequestInit = {}) =>
      backend.render({ source }, { ...from(caller), ...init });
    const over = new AbortController();
    expect((await ask("quick", "x")).status).toBe(200);
    const slow = ask("slow", ENDLESS, { signal: over.signal });
    await running(backend).toBe(1);
    const lent = ask("slow", ENDLESS);
    await waiting(backend).toBe(1);
    await running(backend).toBe(2);
    expect((await ask("quick", "y")).status).toBe(200);
    const answer = await lent;
    expect(Number(answer.headers.get("Retry-After"))).toBeGreaterThan(1);
    await running(backend).toBe(1);
    over.abort();
    await expect(slow).rejects.toThrow();
    for (const name of ["service_renders_running", "service_body_memory_bytes", "service_temp_reserved_bytes"]) {
      await expect.poll(() => backend.metric(name)).toBe(0);
    }
    return [backend, answer];
  },
  body_memory: () => withoutMemory(["second", "third", "fourth", "fifth"]),
  body_memory_share: () => withoutMemory(["first", "first", "first"]),
  temporary_space: async () => {
    const typst = await makeFakeTypst(`cat > /dev/null; head -c ${24 * MEBIBYTE} /dev/zero`);
    const backend = await startTemporaryBackend({
      SERVICE_TYPST_BIN: typst.path,
      SERVICE_MAX_REQUEST_BODY_BYTES: String(MEBIBYTE),
      SERVICE_MAX_OUTPUT_BYTES: String(24 * MEBIBYTE),
      // Room for four outputs, not five.
      SERVICE_MAX_TEMP_BYTES: String(113 * MEBIBYTE),
      // Their renders may wait for each other, and are held as long as the test lasts, whatever the machine does.
      SERVICE_QUEUE_DEADLINE_SECONDS: "300",
      SERVICE_DELIVERY_SILENCE_SECONDS: "3600",
      SERVICE_DELIVERY_TIMEOUT_SECONDS: "3600",
      ...NO_TIME_LIMIT,
    });
    const readers = [1, 2, 3, 4].map(() => sendWithoutReading(backend.url, RENDER));
    onTestFinished(() => {
      for (const { socket } of readers) socket.destroy();
    });
    await expect.poll(() => backend.metric("service_deliveries_underway")).toBe(4);
    return [backend, await backend.render(RENDER)];
  },
  no_tokens: async () => {
    const backend = await startTemporaryBackend({ SERVICE_BACKEND_TOKENS: "" });
    await expectProblem(await backend.fetch("/ready"), "service_unavailable");
    return [backend, await backend.render(RENDER, { headers: { "X-Service-Backend-Token": "" } })];
  },
  draining: async () => {
    const backend = await startTemporaryBackend();
    backend.refuseRenders();
    return [backend, await backend.render(RENDER)];
  },
  backend_failure: async () => {
    const backend = await startTemporaryBackend({ SERVICE_TYPST_BIN: "/nonexistent/typst" });
    const answer = await backend.render(RENDER);
    // Only these parts of an error: other messages than the service's own could quote a request.
    const message = expect.stringMatching(/^the sandbox failed: exit code 127: .*not found$/);
    const err = { type: "ServiceFailure", message, code: "", syscall: "" };
    expect(backend.logged).toContainEqual(expect.objectContaining({ err: { ...err, stack: expect.any(String) } }));
    return [backend, answer];
  },
};

it.each(BACKEND_CAUSES)("says why it refuses a render: %s", async (cause) => {
  const [backend, answer] = await PROVOCATIONS[cause]();
  const isFull = cause in CAUSES.render_queue_full;
  const code = isFull ? "render_queue_full" : "service_unavailable";
  const { detail } = await expectProblem(answer, code);
  expect(detail).toContain(REFUSALS[cause]);
  expect(answer.headers.get("X-Service-Problem-Cause")).toBe(cause);
  expect(await backend.metric("service_render_refusals_total", { code, cause })).toBe(1);
  expect(await backend.metric("service_render_refusals_total")).toBe(1);
  await expect.poll(() => backend.logged).toContainEqual(expect.objectContaining({ outcome: code }));
  const field = isFull ? "capacityCause" : "unavailableCause";
  const line = { outcome: code, [field]: cause, nextStep: NEXT_STEPS[cause] };
  expect(backend.logged.filter((record) => "outcome" in record && record.outcome === code)).toMatchObject([line]);
});

it("lets no probe of the edge wait, and a request whose time budget is no number of milliseconds as long as any", async () => {
  const backend = await busyBackend();
  for (const text of ["-1", "1e2"]) {
    void backend.render(RENDER, from("late", { "X-Service-Patience-Milliseconds": text }));
  }
  await waiting(backend).toBe(2);
  const probe = await backend.render(RENDER, from("edge-probe", { "X-Service-Patience-Milliseconds": "10" }));
  expect(probe.headers.get("X-Service-Problem-Cause")).toBe("slots_busy");
  expect(probe.headers.get("Server-Timing")).toMatch(/^queue;/);
});

it.each(["claim", "launcher"])(
  "does not blame a template once a file is missing from the work directory: %s",
  async (name) => {
    const backend = await startTemporaryBackend();
    const broken = { source: "#panic()" };
    await expectProblem(await backend.render(broken), "template_compile_failed");
    await rm(join(backend.workDirectory, name), { recursive: true });
    await expectProblem(await backend.render(broken), "service_unavailable");
  },
);

it("counts the refusals that an edge reports, and ignores everything else in the report", async () => {
  const backend = await startTemporaryBackend();
  const counts = "rate_limit=3&no_tokens=1&unreachable=2&nonsense=9&uploads=-1&uploads=1e9&full=";
  const report = (token: string) =>
    backend.render(RENDER, { headers: { "X-Service-Edge-Counts": counts, "X-Service-Backend-Token": token } });
  expect((await report("wrong")).headers.has("X-Service-Edge-Counts")).toBe(false);
  expect(await backend.metric("service_edge_refusals_total")).toBe(0);
  expect((await report(BACKEND_TOKEN)).headers.get("X-Service-Edge-Counts")).toBe(counts);
  const refusals = (code: string, cause: string) => backend.metric("service_edge_refusals_total", { code, cause });
  expect(await refusals("render_queue_full", "rate_limit")).toBe(3);
  expect(await refusals("service_unavailable", "no_tokens")).toBe(1);
  expect(await backend.metric("service_edge_refusals_total")).toBe(4);
  expect(await backend.metric("service_edge_attempt_failures_total", { failure: "unreachable" })).toBe(2);
  expect(await backend.metric("service_edge_attempt_failures_total")).toBe(2);
});

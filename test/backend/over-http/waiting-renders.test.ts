/** The render queue over HTTP: the deadline, probes, and clients that leave. Its order: test/backend/admission. */
import { describe, expect, it, onTestFinished } from "vitest";
import { NO_TIME_LIMIT } from "../../support/backend/bombs.ts";
import { makeFakeTypst, waitFor, writtenPids } from "../../support/backend/fake-typst.ts";
import { isRunning } from "../../support/backend/processes.ts";
import { startTestBackend, type TestBackend } from "../../support/backend/test-backend.ts";
import { expectProblem } from "../../support/problems.ts";

/** Records its process id and its document, waits for a signal of the test, and answers. */
const HELD_RENDER = `tail -n 1 >> "$here/served"; echo $$ > "$here/pid"; ${waitFor("go")}; printf done`;

async function heldBackend(environment: Readonly<Record<string, string>> = {}) {
  const typst = await makeFakeTypst(HELD_RENDER);
  const backend = await startTestBackend({
    SERVICE_TYPST_BIN: typst.path,
    SERVICE_MAX_CONCURRENT_RENDERS: "1",
    // Longer than any test, so nothing here waits for the deadline.
    SERVICE_QUEUE_DEADLINE_SECONDS: "300",
    ...NO_TIME_LIMIT,
    ...environment,
  });
  onTestFinished(async () => {
    await typst.signal("go");
    await expect.poll(() => running(backend)).toBe(0);
    await backend.close();
  });
  return { backend, typst };
}

const running = (backend: TestBackend) => backend.metric("service_renders_running");
const waiting = (backend: TestBackend) => backend.metric("service_renders_waiting");
const named = (name: string) => ({ source: `${name}\n` });

/** Sends a request and waits until it has a slot or a place in the queue. */
async function enqueue(
  backend: TestBackend,
  name: string,
  signal?: AbortSignal,
): Promise<{ answer: Promise<Response> }> {
  const before = (await running(backend)) + (await waiting(backend));
  const answer = backend.render(named(name), signal === undefined ? {} : { signal });
  // Tests that abort it expect the rejection; until then it must not count as unhandled.
  answer.catch(() => {});
  await expect.poll(async () => (await running(backend)) + (await waiting(backend))).toBe(before + 1);
  return { answer };
}

describe("renders beyond the cap", () => {
  it("are turned away at the deadline with Retry-After in the header and in the body", async () => {
    const { backend, typst } = await heldBackend({ SERVICE_QUEUE_DEADLINE_SECONDS: "1" });
    const { answer: held } = await enqueue(backend, "held");
    const started = performance.now();
    // A time budget that is no number of milliseconds shortens no wait.
    const late = [{}, ...["-1", "1e2"].map((text) => ({ "X-Service-Patience-Milliseconds": text }))];
    const answers = late.map((headers) => backend.render(named("late"), { headers }));
    for (const answer of await Promise.all(answers)) {
      expect(answer.headers.get("X-Service-Problem-Cause")).toBe("slots_busy");
      const { context } = await expectProblem(answer, "render_queue_full");
      expect(answer.headers.get("Retry-After")).toBe(String(context.retry_after));
    }
    expect((performance.now() - started) / 1000).toBeGreaterThan(0.95);
    await typst.signal("go");
    expect((await held).status).toBe(200);
    expect(await typst.read("served")).toBe("held\n");
    expect(await backend.metric("service_render_phase_seconds_count", { phase: "queue" })).toBe(4);
    expect(await backend.metric("service_render_phase_seconds_sum", { phase: "queue" })).toBeGreaterThan(0.95);
    const labels = { format: "pdf", outcome: "render_queue_full" };
    expect(await backend.metric("service_render_requests_total", labels)).toBe(3);
  });

  it("never wait if they are the edge's probes", async () => {
    const { backend, typst } = await heldBackend();
    const { answer: held } = await enqueue(backend, "held");
    // One that waited would be refused for its time budget.
    const headers = { "X-Service-Caller": "edge-probe", "X-Service-Patience-Milliseconds": "10" };
    const refused = await backend.render(named("probe"), { headers });
    expect(refused.headers.get("X-Service-Problem-Cause")).toBe("slots_busy");
    await typst.signal("go");
    expect((await held).status).toBe(200);
    await expect.poll(() => running(backend)).toBe(0);
    expect((await backend.render(named("probe"), { headers })).status).toBe(200);
  });
});

describe("a client that leaves", () => {
  it("while it waits frees its place and is never rendered", async () => {
    const { backend, typst } = await heldBackend();
    const leaving = new AbortController();
    const { answer: held } = await enqueue(backend, "held");
    const { answer: left } = await enqueue(backend, "left", leaving.signal);
    const { answer: stays } = await enqueue(backend, "stays");
    leaving.abort();
    await expect(left).rejects.toThrow();
    await expect.poll(() => waiting(backend)).toBe(1);
    await typst.signal("go");
    expect([(await held).status, (await stays).status]).toEqual([200, 200]);
    expect(await typst.read("served")).toBe("held\nstays\n");
    expect(await backend.metric("service_render_requests_total", { outcome: "client_gone" })).toBe(1);
    await expect.poll(() => backend.projects()).toEqual([]);
  });

  it("during its render stops Typst and frees the slot for the next client", async () => {
    const { backend, typst } = await heldBackend();
    const leaving = new AbortController();
    const { answer: left } = await enqueue(backend, "left", leaving.signal);
    const pids = await writtenPids(typst, "pid");
    const { answer: next } = await enqueue(backend, "next");
    expect(pids.filter(isRunning)).toEqual(pids);
    leaving.abort();
    await expect(left).rejects.toThrow();
    await expect.poll(() => pids.filter(isRunning)).toEqual([]);
    await expect.poll(() => typst.read("served")).toBe("left\nnext\n");
    await typst.signal("go");
    expect((await next).status).toBe(200);
    expect(await backend.metric("service_render_requests_total", { outcome: "client_gone" })).toBe(1);
    expect(await backend.metric("service_render_requests_total", { outcome: "ok" })).toBe(1);
    await expect.poll(() => backend.projects()).toEqual([]);
  });
});

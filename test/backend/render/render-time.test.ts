/** How long a render may go on, what it is answered when it may not, and how long its phases took. */
import { once } from "node:events";
import { expect, it, onTestFinished, vi } from "vitest";
import { CLIENT_GONE, endOfRender } from "../../../backend/render/outcome.ts";
import { MAX_FILL_SECONDS, PhaseTimer, phaseSeconds, TimeLimit } from "../../../backend/render/render-time.ts";
import { readBackendSettings } from "../../../backend/settings.ts";
import { problem } from "../../../rules/problem.ts";

const settingsOf = (timeoutSeconds: string, cpuSeconds: string) =>
  readBackendSettings({ SERVICE_RENDER_TIMEOUT_SECONDS: timeoutSeconds, SERVICE_RENDER_CPU_SECONDS: cpuSeconds });

/** A clock of timers that stands still until the test advances it. */
function stopTimers(): void {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
  onTestFinished(() => void vi.useRealTimers());
}

/** Writes files without end. */
async function untilStopped(over: AbortSignal): Promise<null> {
  if (!over.aborted) await once(over, "abort");
  return null;
}

it("ends with the render timeout, from the start, with a problem", () => {
  stopTimers();
  const time = new TimeLimit(settingsOf("600", "300"), new AbortController().signal);
  vi.advanceTimersByTime(599_999);
  expect([time.isOver, time.over.aborted]).toEqual([false, false]);
  vi.advanceTimersByTime(1);
  expect([time.isOver, time.over.aborted]).toEqual([true, true]);
  expect(time.failure()).toMatchObject({ problem: { cause: "wall_clock", context: { timeout_secs: 600 } } });
});

it("ends, as the writing of files does, by the clock even if its timer cannot fire", async () => {
  const clock = vi.spyOn(performance, "now").mockReturnValue(0);
  onTestFinished(() => clock.mockRestore());
  const time = new TimeLimit(settingsOf("600", "300"), new AbortController().signal);
  const fillFor = (seconds: number) =>
    time.limitFill(async () => {
      clock.mockReturnValue(performance.now() + seconds * 1000);
      return null;
    });
  expect(await fillFor(MAX_FILL_SECONDS - 1)).toBeNull();
  expect(await fillFor(MAX_FILL_SECONDS)).toMatchObject({ problem: { cause: "writing_files" } });
  clock.mockReturnValue(600_000);
  expect([time.isOver, time.over.aborted]).toEqual([true, false]);
});

it.each(["not-begun", "output-lost"] as const)(
  "a program that is killed for a client that left is none that failed: %s",
  (kind) => {
    const settings = settingsOf("600", "300");
    const client = new AbortController();
    const time = new TimeLimit(settings, client.signal);
    const error = new Error("the program was not started: Killed");
    const report = { end: { kind, error }, outputBytes: 0, ranOutOfMemory: false, peakMemoryBytes: null };
    expect(() => endOfRender(report, settings, time)).toThrow(error);
    client.abort();
    expect(endOfRender(report, settings, time)).toEqual(CLIENT_GONE);
    time.end();
  },
);

it("leaves no timer and no listener when the render has ended", () => {
  stopTimers();
  const client = new AbortController();
  const time = new TimeLimit(settingsOf("600", "300"), client.signal);
  time.end();
  client.abort();
  expect([vi.getTimerCount(), time.over.aborted]).toEqual([0, false]);
});

it("is shorter if the edge left less of it, and then the document is not to blame", () => {
  stopTimers();
  const time = new TimeLimit(settingsOf("600", "300"), new AbortController().signal, 1);
  vi.advanceTimersByTime(1000);
  expect(time.isOver).toBe(true);
  expect(time.failure()).toMatchObject({ problem: { code: "render_queue_full", cause: "time_budget" } });
  expect(time.failure("processor_time")).toMatchObject({
    problem: { code: "render_timeout", context: { timeout_secs: 600 } },
  });
});

it.each([
  ["writing_files", 600, MAX_FILL_SECONDS],
  ["wall_clock", 1, 1],
])("stops the writing of files, and says why: %s", async (cause, timeout_secs, stopSeconds) => {
  stopTimers();
  const time = new TimeLimit(settingsOf(String(timeout_secs), "1"), new AbortController().signal);
  const filling = time.limitFill(untilStopped);
  await vi.advanceTimersByTimeAsync(stopSeconds * 1000);
  expect(await filling).toMatchObject({ problem: { cause, context: { timeout_secs } } });
});

it("ends when the client goes away, without a problem for anyone, and so does the writing of files", async () => {
  const client = new AbortController();
  const time = new TimeLimit(settingsOf("600", "300"), client.signal);
  const meanwhile = time.limitFill(untilStopped);
  client.abort();
  expect([time.over.aborted, time.failure(), await meanwhile]).toEqual([true, CLIENT_GONE, CLIENT_GONE]);
  expect(await time.limitFill(untilStopped)).toBe(CLIENT_GONE);
});

it("changes nothing about what the writing of files finds", async () => {
  const time = new TimeLimit(settingsOf("600", "300"), new AbortController().signal);
  const found = problem("invalid_file_data", "It cannot be written.", { key: "a" });
  expect(await time.limitFill(async () => null)).toBe(null);
  expect(await time.limitFill(async () => found)).toEqual({ kind: "refused", problem: found });
});

it("a phase is timed whether it succeeds or fails, and its runs add up to its seconds", async () => {
  vi.useFakeTimers({ toFake: ["performance"] });
  onTestFinished(() => void vi.useRealTimers());
  const timer = new PhaseTimer();
  const start = performance.now();
  expect(await timer.time("start", async () => vi.advanceTimersByTime(30) && "started")).toBe("started");
  const failing = timer.time("compile", async () => {
    vi.advanceTimersByTime(500);
    throw new Error("failed");
  });
  await expect(failing).rejects.toThrow("failed");
  await timer.time("compile", async () => vi.advanceTimersByTime(250));
  expect(timer.runs[1]).toEqual({ phase: "compile", startMilliseconds: start + 30, milliseconds: 500 });
  expect(phaseSeconds(timer.runs)).toEqual({ start: 0.03, compile: 0.75 });
});

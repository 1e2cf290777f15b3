/** How long each phase of a render takes, on a clock that stands still until a test advances it. */
import { beforeEach, expect, it, vi } from "vitest";
import { PhaseTimer, phaseSeconds } from "../../../backend/render/phases.ts";

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["performance"] });
  return () => void vi.useRealTimers();
});

const after = async <Result>(milliseconds: number, result: Result) => {
  vi.advanceTimersByTime(milliseconds);
  return result;
};

it("a phase is timed whether it succeeds or fails, and gives its result", async () => {
  const timer = new PhaseTimer();
  expect(timer.runs).toEqual([]);
  const start = performance.now();
  expect(await timer.time("start", () => after(30, "started"))).toBe("started");
  const failure = new Error("failed");
  await expect(timer.time("compile", () => after(500, null).then(() => Promise.reject(failure)))).rejects.toBe(failure);
  expect(timer.runs).toEqual([
    { phase: "start", startMilliseconds: start, milliseconds: 30 },
    { phase: "compile", startMilliseconds: start + 30, milliseconds: 500 },
  ]);
});

it("the runs of a phase add up to its seconds", async () => {
  const timer = new PhaseTimer();
  for (const milliseconds of [250, 500]) await timer.time("compile", () => after(milliseconds, null));
  await timer.time("archive", () => after(1000, null));
  expect(phaseSeconds(timer.runs)).toEqual({ compile: 0.75, archive: 1 });
});

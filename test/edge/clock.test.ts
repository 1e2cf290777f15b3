/** The clock of everything at the edge that waits. */
import { expect, it, onTestFinished, vi } from "vitest";
import { WALL_CLOCK } from "../../edge/clock.ts";

it("a callback comes once, unless it is cancelled", () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const calls: string[] = [];
  WALL_CLOCK.after(10, () => calls.push("kept"));
  WALL_CLOCK.after(10, () => calls.push("cancelled"))();
  vi.advanceTimersByTime(9);
  expect(calls).toEqual([]);
  vi.advanceTimersByTime(100);
  expect(calls).toEqual(["kept"]);
});

/** The clock of everything at the edge that waits. */
import fc from "fast-check";
import { expect, it, onTestFinished, vi } from "vitest";
import { MONOTONIC_CLOCK, RequestClock } from "../../edge/clock.ts";

it("the clock of a request calls back when the clock of the program would, with one timer at a time", () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const milliseconds = fc.integer({ min: 0, max: 3000 });
  const steps = fc.array(fc.record({ pause: milliseconds, after: milliseconds, cancels: fc.boolean() }), {
    maxLength: 12,
  });
  fc.assert(
    fc.property(steps, (each) => {
      const began = Date.now();
      const calls = { request: [] as string[], wall: [] as string[] };
      const clocks = { request: new RequestClock(), wall: MONOTONIC_CLOCK };
      each.forEach(({ pause, after, cancels }, index) => {
        for (const name of ["request", "wall"] as const) {
          const cancel = clocks[name].after(after, () => calls[name].push(`${index} at ${Date.now() - began}`));
          if (cancels) clocks[name].after(after / 2, cancel);
        }
        vi.advanceTimersByTime(pause);
      });
      vi.advanceTimersByTime(3000);
      expect(calls.request.toSorted()).toEqual(calls.wall.toSorted());
      expect(vi.getTimerCount()).toBe(0);
    }),
  );
});

it("a request that is answered soon sets one timer, whatever it waits for", () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const clock = new RequestClock();
  for (const milliseconds of [10_000, 1000, 65_000, 2000]) clock.after(milliseconds, () => expect.unreachable())();
  expect(vi.getTimerCount()).toBe(1);
});

it("no deadline comes sooner or later because somebody sets the time of day", () => {
  vi.useFakeTimers({ toFake: ["Date"] });
  onTestFinished(() => void vi.useRealTimers());
  const clock = new RequestClock();
  for (const hours of [-1, 2]) {
    const before = clock.now();
    vi.setSystemTime(Date.now() + hours * 3_600_000);
    expect(clock.now() - before).toBeGreaterThanOrEqual(0);
    expect(clock.now() - before).toBeLessThan(3_600_000);
    expect(clock.now()).toSatisfy(Number.isInteger);
  }
});

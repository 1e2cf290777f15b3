/** When an attempt is given up, and what probes show: with a clock of the test's own. */
import { describe, expect, it } from "vitest";
import { type FailedAttempt, failedAttempt, type ResponseHead } from "../../../edge/backends/backend-answer.ts";
import { BackendChoice } from "../../../edge/backends/backend-choice.ts";
import { probeDueBackends, watchBackend } from "../../../edge/backends/watch-backend.ts";
import type { ProblemCode } from "../../../rules/problem.ts";
import { headOf } from "../answer-head.ts";
import { StillClock } from "../still-clock.ts";

interface Watch {
  readonly clock: StillClock;
  readonly givenUpAt: number[];
  readonly probedAt: number[];
  readonly stop: () => void;
}

function watch(deadline: number, hopelessAt = Number.POSITIVE_INFINITY): Watch {
  const clock = new StillClock();
  const givenUpAt: number[] = [];
  const probedAt: number[] = [];
  const { stop } = watchBackend({
    clock,
    deadline,
    probe: () => probedAt.push(clock.now()),
    isHopeless: () => clock.now() >= hopelessAt,
    abort: () => givenUpAt.push(clock.now()),
  });
  return { clock, givenUpAt, probedAt, stop };
}

describe("an attempt that is watched", () => {
  it("sends the probes that are due each second, and is given up at the deadline", async () => {
    const { clock, givenUpAt, probedAt } = watch(3500);
    await clock.passTo(3499);
    expect([probedAt, givenUpAt]).toEqual([[1000, 2000, 3000], []]);
    await clock.passTo(3500);
    expect(givenUpAt).toEqual([3500]);
  });

  it("is given up when it is hopeless", async () => {
    const { clock, givenUpAt } = watch(60_000, 1500);
    await clock.passTo(2000);
    expect(givenUpAt).toEqual([2000]);
  });

  it("is left alone once it is stopped", async () => {
    const { clock, givenUpAt, stop } = watch(60_000, 3000);
    await clock.passTo(2000);
    stop();
    expect(clock.timers).toBe(0);
    await clock.passTo(100_000);
    expect(givenUpAt).toEqual([]);
  });
});

describe("a probe that is due", () => {
  /** What becomes of a backend where a render has failed, and what is reported. */
  async function probeOnce(end: () => Promise<ResponseHead>, milliseconds = 0) {
    const choice = new BackendChoice(["a", "b"]);
    const clock = new StillClock();
    const reports: string[] = [];
    choice.end(choice.begin("b", 0, 1000), 0, failedAttempt("lost", ""));
    let sent = 0;
    const probing = {
      choice,
      clock,
      sendProbe: async () => {
        sent++;
        await clock.passTo(milliseconds);
        return end();
      },
      report: (backend: string, { reason }: FailedAttempt) => reports.push(`${backend}: ${reason}`),
    };
    await probeDueBackends(probing);
    await probeDueBackends(probing);
    return { isOutOfUse: choice.isOutOfUse("b"), reports, sent };
  }

  it.each<ProblemCode | "file" | "foreign">(["file", "render_queue_full"])(
    "shows by %s that the backend works",
    async (content) => {
      expect(await probeOnce(async () => headOf(content))).toEqual({ isOutOfUse: false, reports: [], sent: 1 });
    },
  );

  it("shows that the backend works if it is about to stop", async () => {
    const draining = headOf("service_unavailable", { "X-Service-Load": "running=0,waiting=0,slots=1,draining" });
    expect((await probeOnce(async () => draining)).isOutOfUse).toBe(false);
  });

  it.each<ProblemCode | "file" | "foreign">([
    "foreign",
    "forbidden",
    "service_unavailable",
    "invalid_request",
    "render_timeout",
    "template_compile_failed",
    "render_failed",
  ])("shows by %s that it does not", async (content) => {
    const { isOutOfUse, reports } = await probeOnce(async () => headOf(content));
    expect([isOutOfUse, reports]).toEqual([true, [expect.stringMatching(/^b: probe: status [2-5]/)]]);
  });

  it("shows by no answer that the backend is broken", async () => {
    const failing = () => Promise.reject(new Error("reset"));
    // However long it takes, the pause before the next one comes after it.
    expect(await probeOnce(failing, 5000)).toEqual({ isOutOfUse: true, reports: ["b: probe: Error: reset"], sent: 1 });
  });
});

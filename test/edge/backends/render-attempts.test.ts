/** The attempts of one render: which backend, when to stop, and what is said then. All times are the test's own. */
import { describe, expect, it } from "vitest";
import { type FailedAttempt, failedAttempt } from "../../../edge/backends/backend-answer.ts";
import { BackendChoice } from "../../../edge/backends/backend-choice.ts";
import { RenderAttempts } from "../../../edge/backends/render-attempts.ts";
import type { BackendLoad } from "../../../protocol/headers.ts";
import { renderQueueFull } from "../../../rules/problem.ts";
import { stubBackends } from "../stub-backends.ts";

const DEADLINE = 60_000;
/** The script of a test says what becomes of the first of these. */
const BACKENDS = stubBackends(...Array(100).keys());
const FULL: FailedAttempt = {
  kind: "failed",
  failure: "full",
  retryAfterSeconds: 5,
  cause: "slots_busy",
  load: null,
  reason: "",
};
const UNREACHABLE = failedAttempt("unreachable", "");
const LOST = failedAttempt("lost", "");

/** Attempts of which each ends as the script says, by backend and turn. A pause passes at once. */
function run(
  script: readonly (readonly FailedAttempt[])[],
  now = 0,
  bodyBytes = 100,
  choice = new BackendChoice(BACKENDS.slice(0, script.length)),
) {
  const attempts = new RenderAttempts(choice, DEADLINE, bodyBytes, () => 0);
  const asked: number[] = [];
  const questions: number[] = [];
  let waited = 0;
  for (;;) {
    const step = attempts.next(now + waited);
    if (step.kind === "refused") return { asked, waited, questions, problem: step.problem };
    if (step.kind === "ask") {
      questions.push(step.backends.length);
      continue;
    }
    if (step.kind === "wait") {
      waited += step.milliseconds;
      continue;
    }
    const place = BACKENDS.indexOf(step.backend);
    const turn = asked.filter((earlier) => earlier === place).length;
    asked.push(place);
    attempts.begin(step.backend);
    attempts.fail(step.backend, script[place]?.[turn] ?? UNREACHABLE);
  }
}

it("asks each backend before it asks one again, and pauses once before that", () => {
  expect(run([[], []])).toMatchObject({ asked: [0, 1, 0, 1], waited: 250, problem: { code: "service_unavailable" } });
});

describe("of many backends", () => {
  const many = (failure: FailedAttempt, count = 100) => Array.from({ length: count }, () => [failure, failure]);

  it("it tries four, if all were full a moment ago, and no others after the pause", () => {
    const choice = new BackendChoice(BACKENDS);
    for (const backend of BACKENDS) choice.end(choice.begin(backend, 0, DEADLINE), 0, FULL);
    expect(run(many(FULL), 500, 100, choice).asked).toHaveLength(4);
  });

  it("it sends the bodies of four attempts, and then no more than 80 MiB in all", () => {
    const MEBIBYTE = 1024 ** 2;
    expect([1, 8, 20, 30].map((size) => run(many(FULL), 0, size * MEBIBYTE).asked.length)).toEqual([80, 10, 4, 4]);
    expect(run(many(UNREACHABLE), 0, 20 * MEBIBYTE).asked).toHaveLength(104);
  });

  it("it asks how busy they are, four in a round, before it sends a body of 64 KiB or more to a second one", () => {
    expect(run(many(FULL, 9), 0, 64 * 1024).questions).toEqual([4, 4]);
    expect(run(many(FULL, 9), 0, 64 * 1024 - 1).questions).toEqual([]);
    expect(run(many(UNREACHABLE, 9), 0, 64 * 1024).questions).toEqual([]);
  });
});

describe("a full backend", () => {
  it("makes the service busy for the client, even if other backends cannot be reached", () => {
    expect(run([[FULL], []])).toMatchObject({ asked: [0, 1, 1], problem: renderQueueFull("backend_full", 5) });
  });

  it("tells the client to wait as long as the one that expects room first", () => {
    for (const seconds of [
      [5, 9],
      [9, 5],
    ]) {
      const script = seconds.map((retryAfterSeconds) => [{ ...FULL, retryAfterSeconds }]);
      expect(run(script).problem).toEqual(renderQueueFull("slots_busy", 5));
    }
  });
});

describe("an attempt without an answer is hopeless", () => {
  const LOAD: BackendLoad = { running: 0, waiting: 0, slots: 1, isDraining: false };

  /** Backends of which the first has a request that was sent at 0, and what has been heard of them since. */
  function begun(count: number, { isOut = false, idleAt = -1, lost = 0, beganAt = 0, attemptCount = 1 }) {
    const [backend, ...others] = stubBackends("first", ...Array(count - 1).keys());
    const choice = new BackendChoice([backend, ...others]);
    const attempts = new RenderAttempts(choice, DEADLINE, 100, () => 0);
    for (let index = 0; index < lost; index++) attempts.fail(backend, LOST);
    for (let index = 1; index < attemptCount; index++) attempts.fail(backend, failedAttempt("foreign", ""));
    attempts.begin(backend);
    if (isOut) {
      choice.end(choice.begin(backend, 0, DEADLINE), 0, LOST);
      for (const probe of choice.takeDue(0)) choice.recordProbe(probe, 0, LOST);
    }
    if (idleAt >= 0) choice.end(choice.begin(backend, idleAt, DEADLINE), idleAt, { kind: "answered", load: LOAD });
    return (now: number, bodyBytes = 0) => attempts.isHopeless({ backend, beganAt, sentAt: 0, bodyBytes }, now);
  }

  it("if its backend is out of use and another one is not", () => {
    expect(begun(2, {})(1000)).toBe(false);
    expect(begun(2, { isOut: true })(1000)).toBe(true);
    expect(begun(1, { isOut: true })(1000)).toBe(false);
  });

  it("but not because of a probe that the backend got before the request: it may be healthy again", () => {
    expect(begun(2, { isOut: true, beganAt: 1 })(1000)).toBe(false);
  });

  it("if its backend is idle five seconds after it was sent, or later the larger it is", () => {
    expect(begun(1, { idleAt: 5000 })(9000)).toBe(false);
    expect(begun(1, { idleAt: 5001 })(9000)).toBe(true);
    expect(begun(1, { idleAt: 15_000 })(19_000, 1_000_000)).toBe(false);
    expect(begun(1, { idleAt: 15_001 })(19_000, 1_000_000)).toBe(true);
  });

  it("unless no further attempt would be made", () => {
    expect(begun(2, { isOut: true, lost: 1 })(1000)).toBe(false);
    expect([3, 4].map((attemptCount) => begun(2, { isOut: true, attemptCount })(1000))).toEqual([true, false]);
    expect(begun(2, { isOut: true })(DEADLINE - 2250)).toBe(true);
    expect(begun(2, { isOut: true })(DEADLINE - 2249)).toBe(false);
  });
});

it.each([
  ["begins an attempt two seconds before the deadline", 2000, 1],
  ["begins none later", 1999, 0],
])("%s", (_what, leftMilliseconds, count) => {
  expect(run([[FULL]], DEADLINE - leftMilliseconds).asked).toHaveLength(count);
});

it.each([
  ["pauses when an attempt fits in after the pause", 2250, [0, 0]],
  ["does not pause when none would", 2249, [0]],
])("%s", (_what, leftMilliseconds, asked) => {
  expect(run([[]], DEADLINE - leftMilliseconds)).toMatchObject({ asked, waited: asked.length > 1 ? 250 : 0 });
});

it("has the time of all its uploads added to its deadline, up to that of the longest one", () => {
  const attempts = new RenderAttempts(new BackendChoice(BACKENDS), DEADLINE, 100, () => 0);
  for (const milliseconds of [64_000, 64_000]) attempts.extend(milliseconds);
  expect(attempts.deadline).toBe(DEADLINE + 65_000);
});

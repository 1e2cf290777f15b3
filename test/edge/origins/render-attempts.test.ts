/** The attempts of one render: which origin, when to stop, and what is said then. All times are the test's own. */
import { describe, expect, it } from "vitest";
import { OriginChoice } from "../../../edge/origins/origin-choice.ts";
import { type FailedAttempt, RenderAttempts } from "../../../edge/origins/render-attempts.ts";

const DEADLINE = 60_000;
const FULL: FailedAttempt = { kind: "busy", retryAfterSeconds: 5 };
const UNAVAILABLE: FailedAttempt = { kind: "unavailable" };
const LOST: FailedAttempt = { kind: "lost" };

/** Attempts of which each ends as the script says, by origin and turn. A pause passes at once. */
function run(script: readonly (readonly FailedAttempt[])[], now = 0) {
  const attempts = new RenderAttempts(new OriginChoice(script.length), DEADLINE, () => 0);
  const asked: number[] = [];
  let waited = 0;
  for (;;) {
    const step = attempts.next(now + waited);
    if (step.kind === "busy" || step.kind === "failed") return { asked, waited, end: step, count: attempts.attempts };
    if (step.kind === "wait") {
      waited += step.milliseconds;
      continue;
    }
    const turn = asked.filter((origin) => origin === step.origin).length;
    asked.push(step.origin);
    attempts.begin(step.origin);
    attempts.fail(step.origin, script[step.origin]?.[turn] ?? UNAVAILABLE);
  }
}

it("asks each origin before it asks one again, and pauses once before that", () => {
  expect(run([[], []])).toMatchObject({ asked: [0, 1, 0, 1], waited: 250, end: { kind: "failed" }, count: 4 });
});

it("asks an origin at most twice, and four times in all", () => {
  expect(run([[]]).asked).toEqual([0, 0]);
  expect(run([[], [], [], [], []]).asked).toHaveLength(4);
});

it("gives up if there are no origins", () => {
  expect(run([])).toMatchObject({ asked: [], end: { kind: "failed" } });
});

describe("a full origin", () => {
  it("is not asked again, and the client is told the shortest time after which one may have room", () => {
    const full = (retryAfterSeconds: number): FailedAttempt[] => [{ kind: "busy", retryAfterSeconds }];
    const { asked, waited, end } = run([full(7), full(3), full(9)]);
    expect([asked.toSorted(), waited]).toEqual([[0, 1, 2], 0]);
    expect(end).toEqual({ kind: "busy", retryAfterSeconds: 3 });
  });

  it("makes the service busy for the client, even if other origins cannot be reached", () => {
    expect(run([[FULL], []])).toMatchObject({ asked: [0, 1, 1], end: { kind: "busy", retryAfterSeconds: 5 } });
  });
});

it("stops when two origins were lost while they had the request", () => {
  expect(run([[LOST], [LOST], []])).toMatchObject({ asked: [0, 1], end: { kind: "failed" } });
});

it("goes on after one was lost", () => {
  expect(run([[LOST], [], []]).asked).toHaveLength(4);
});

it.each([
  ["begins an attempt 100 ms before the deadline", 100, 1],
  ["begins none later", 99, 0],
])("%s", (_what, leftMilliseconds, count) => {
  expect(run([[FULL]], DEADLINE - leftMilliseconds).count).toBe(count);
});

it.each([
  ["pauses when an attempt fits in after the pause", 350, [0, 0]],
  ["does not pause when none would", 349, [0]],
])("%s", (_what, leftMilliseconds, asked) => {
  expect(run([[]], DEADLINE - leftMilliseconds)).toMatchObject({ asked, waited: asked.length > 1 ? 250 : 0 });
});

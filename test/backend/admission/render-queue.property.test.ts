/** What the queue promises to every caller, whatever the others do, on schedules of renders in virtual time. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { SLOW_RENDER_SECONDS } from "../../../backend/admission/render-queue.ts";
import { RENDER_TIME_SETTINGS } from "../../../rules/render-time.ts";
import { RendersInVirtualTime, STOP_SECONDS } from "../../support/backend/renders-in-virtual-time.ts";

const LONGEST_RENDER_SECONDS = RENDER_TIME_SETTINGS.renderTimeoutSeconds.default;
const DEADLINE_SECONDS = RENDER_TIME_SETTINGS.queueDeadlineSeconds.default;
const ROUNDING_SECONDS = 0.001;
/** Longer than any schedule takes. */
const SCHEDULE_SECONDS = 10_000;
const RUNS = { numRuns: 100 };

interface Planned {
  readonly at: number;
  readonly caller: string;
  readonly renderSeconds: number;
}

const seconds = (max: number) => fc.double({ min: 0, max, noNaN: true });
const renderSeconds = fc.oneof(seconds(0.2), seconds(3), seconds(LONGEST_RENDER_SECONDS));
const slow = fc.double({ min: 4, max: LONGEST_RENDER_SECONDS, noNaN: true });
const severalSlots = fc.integer({ min: 2, max: 4 });
const slots = fc.integer({ min: 1, max: 4 });

/** Carries the requests out. @returns the longest time that this caller waits for a slot */
async function longestWait(slotCount: number, requests: readonly Planned[], visitor: string): Promise<number> {
  const deadlineMilliseconds = DEADLINE_SECONDS * 1000;
  const renders = new RendersInVirtualTime({ slots: slotCount, maxWaiting: 16, deadlineMilliseconds });
  for (const { at, caller, ...options } of requests) renders.askAt(at, caller, options);
  await renders.pass(SCHEDULE_SECONDS);
  const waits = renders.asked
    .filter(({ caller }) => caller === visitor)
    .map(({ askedAt, admittedAt }) => (admittedAt ?? Number.POSITIVE_INFINITY) - askedAt);
  return Math.max(...waits);
}

describe("while one caller floods", () => {
  const flood = fc.array(
    fc.record({ at: seconds(100), renderSeconds: fc.oneof(fc.constant(LONGEST_RENDER_SECONDS), renderSeconds) }),
    { minLength: 10, maxLength: 80 },
  );
  /** Far enough apart that each one comes after the last one has been served. */
  const visits = fc.array(fc.record({ pause: seconds(60), renderSeconds: seconds(SLOW_RENDER_SECONDS) }), {
    minLength: 1,
    maxLength: 4,
  });

  it("another caller's short render, its first as any other, waits no longer than one render of the flood takes", async () => {
    await fc.assert(
      fc.asyncProperty(slots, flood, visits, async (slotCount, floodRequests, visitRequests) => {
        const requests: Planned[] = floodRequests.map((request) => ({ ...request, caller: "flood" }));
        let at = 0;
        for (const { pause, renderSeconds: visitSeconds } of visitRequests) {
          at += pause;
          requests.push({ at, caller: "visitor", renderSeconds: visitSeconds });
          at += DEADLINE_SECONDS;
        }
        expect(await longestWait(slotCount, requests, "visitor")).toBeLessThanOrEqual(
          LONGEST_RENDER_SECONDS + ROUNDING_SECONDS,
        );
      }),
      RUNS,
    );
  });

  it("a caller that keeps sending short renders never waits, but for a lent slot to be withdrawn", async () => {
    const slowFlood = fc.array(fc.record({ at: fc.double({ min: 2, max: 60, noNaN: true }), renderSeconds: slow }), {
      minLength: 10,
      maxLength: 60,
    });
    const short = fc.array(
      fc.record({ pause: fc.double({ min: 1, max: 14, noNaN: true }), renderSeconds: seconds(1) }),
      {
        minLength: 10,
        maxLength: 20,
      },
    );
    await fc.assert(
      fc.asyncProperty(severalSlots, slowFlood, short, async (slotCount, floodRequests, shortRequests) => {
        const requests: Planned[] = floodRequests.map((request) => ({ ...request, caller: "flood" }));
        requests.push({ at: 0, caller: "short", renderSeconds: 1 });
        let at = 1;
        for (const request of shortRequests) {
          requests.push({ at, caller: "short", renderSeconds: request.renderSeconds });
          at += request.pause;
        }
        expect(await longestWait(slotCount, requests, "short")).toBeLessThanOrEqual(STOP_SECONDS + ROUNDING_SECONDS);
      }),
      RUNS,
    );
  });
});

/** How many things of one kind the requests of an isolate do at the same time, and how callers share that. */
import { describe, expect, it } from "vitest";
import { FairLimit, type Permit } from "../../../edge/body/fair-limit.ts";
import { makeUploadLimit } from "../../../edge/body/read-body.ts";
import { StillClock } from "../still-clock.ts";

const LIFETIME_MILLISECONDS = 1000;

/** As many permits as the owner gets. */
function acquireAll(limit: FairLimit, owner: string): Permit[] {
  const permits: Permit[] = [];
  for (let permit = limit.acquire(owner); permit !== null; permit = limit.acquire(owner)) permits.push(permit);
  return permits;
}

it("an upload counts for as long as its body may take, and ten seconds more", async () => {
  const clock = new StillClock();
  const limit = makeUploadLimit(60, clock);
  limit.acquire("a");
  await clock.passTo(69_999);
  limit.acquire("a");
  expect(limit.held).toBe(2);
  await clock.passTo(70_000);
  limit.acquire("a");
  expect(limit.held).toBe(2);
});

describe("a fair limit", () => {
  it("gives one caller half of all, and each further one half of the rest", () => {
    const limit = new FairLimit(64, LIFETIME_MILLISECONDS);
    expect(["a", "b", "c", "d"].map((owner) => acquireAll(limit, owner).length)).toEqual([32, 16, 8, 4]);
    expect(limit.held).toBe(60);
  });

  it("is never exceeded, however many callers there are", () => {
    const limit = new FairLimit(64, LIFETIME_MILLISECONDS);
    for (let index = 0; index < 200; index++) acquireAll(limit, `caller-${index}`);
    expect(limit.held).toBe(64);
  });

  it("has room again once for each permit that is released", () => {
    const limit = new FairLimit(8, LIFETIME_MILLISECONDS);
    const [first] = acquireAll(limit, "a");
    first?.release();
    first?.release();
    expect(limit.held).toBe(3);
    const [last] = acquireAll(limit, "a");
    expect([limit.held, limit.acquire("a")]).toEqual([4, null]);
    last?.release();
  });

  it("gives a caller whose permits are all released its whole share again", () => {
    // With an odd number, one permit that is still counted makes a difference.
    const limit = new FairLimit(7, LIFETIME_MILLISECONDS);
    for (const permit of acquireAll(limit, "a")) permit.release();
    expect(acquireAll(limit, "a")).toHaveLength(4);
  });

  it("has room again after the lifetime of permits that are never released, and not before", async () => {
    const clock = new StillClock();
    const limit = new FairLimit(8, LIFETIME_MILLISECONDS, clock);
    acquireAll(limit, "a");
    await clock.passTo(LIFETIME_MILLISECONDS - 1);
    expect(limit.acquire("a")).toBeNull();
    await clock.passTo(LIFETIME_MILLISECONDS);
    expect(acquireAll(limit, "a")).toHaveLength(4);
  });
});

/** The memory for bodies in one isolate: which request gets it, which waits, and which gets none. */
import { beforeEach, describe, expect, it, vi } from "vitest";
import { BodyMemory, type BodyReservation } from "../../../edge/body/body-memory.ts";
import { StillClock } from "../still-clock.ts";

const LIFETIME_MILLISECONDS = 60_000;

let clock: StillClock;
/** Of 100 bytes, for bodies of at most 30. */
let memory: BodyMemory;
beforeEach(() => {
  clock = new StillClock();
  memory = new BodyMemory(30, 100, clock);
});

const BYTES = new Uint8Array([1, 2, 3]);
const reserve = (owner = "a", free = () => {}, lifetimeMilliseconds = LIFETIME_MILLISECONDS) =>
  memory.reserve(owner, lifetimeMilliseconds, { finish: () => BYTES, free });

/** The result, if it comes within this time of the clock; otherwise "waits". */
async function within<Result>(milliseconds: number, result: Promise<Result>): Promise<Result | "waits"> {
  await clock.pass(milliseconds);
  return Promise.race([result, Promise.resolve("waits" as const)]);
}

/** The result of a reservation within a moment. */
const growth = (reservation: BodyReservation, bytes: number) => within(100, reservation.growTo(bytes));

describe("the memory for bodies", () => {
  it("is reserved as a body grows, and is freed once when it is released", async () => {
    const reservation = reserve();
    expect([memory.reservedBytes, memory.reservationCount]).toEqual([0, 0]);
    expect(await reservation.growTo(10)).toBe(true);
    expect(await reservation.growTo(20)).toBe(true);
    expect(await reservation.growTo(15)).toBe(true);
    expect([memory.reservedBytes, memory.reservationCount]).toEqual([20, 1]);
    reservation.release();
    reservation.release();
    expect([memory.reservedBytes, memory.reservationCount]).toEqual([0, 0]);
    expect(await reservation.growTo(1)).toBe(false);
    expect(memory.reservedBytes).toBe(0);
  });

  it("is never held completely by bodies that wait for each other: the oldest can always grow", async () => {
    const reservations = ["a", "b", "c", "d", "e", "f", "g"].map((owner) => reserve(owner));
    const finish = async (reservation: BodyReservation) => {
      for (const bytes of [1, 2, 4, 8, 16, 30]) {
        if (!(await reservation.growTo(bytes))) return false;
        await clock.wait(1);
      }
      expect(memory.reservedBytes).toBeLessThanOrEqual(100);
      reservation.release();
      return true;
    };
    const finished = Promise.all(reservations.map(finish));
    expect(await within(LIFETIME_MILLISECONDS / 2, finished)).toEqual(reservations.map(() => true));
    expect(memory.reservedBytes).toBe(0);
  });

  it("is taken from the caller's own bodies on offer when its share leaves no room", async () => {
    const [oldest, offered, kept] = [reserve(), reserve(), reserve()];
    expect([oldest.tryGrowTo(30), offered.tryGrowTo(30), kept.tryGrowTo(10)]).toEqual([true, true, true]);
    offered.offer();
    expect(await growth(reserve(), 10)).toBe(true);
    expect([offered.bytes, kept.bytes]).toEqual([null, BYTES]);
  });

  it("is granted to a waiting request when another body has been released", async () => {
    const [oldest, second, third] = [reserve(), reserve(), reserve()];
    expect(await growth(oldest, 30)).toBe(true);
    expect(await growth(second, 30)).toBe(true);
    const waiting = third.growTo(30);
    expect(await within(100, waiting)).toBe("waits");
    second.release();
    expect(await within(100, waiting)).toBe(true);
  });

  it("is waited for until the deadline", async () => {
    for (const reservation of [reserve(), reserve()]) await reservation.growTo(30);
    const waiting = reserve().growTo(30);
    expect(await within(4999, waiting)).toBe("waits");
    expect(await within(1, waiting)).toBe(false);
    expect([memory.reservedBytes, clock.timers]).toEqual([60, 0]);
  });

  it("is granted at once to each of those that wait, the first before the others", async () => {
    const holders = [30, 30, 10].map((bytes) => ({ reservation: reserve(), bytes }));
    for (const { reservation, bytes } of holders) await reservation.growTo(bytes);
    const waiting = Array.from({ length: 20 }, () => reserve());
    const growths = waiting.map((reservation) => reservation.growTo(2));
    holders[1]?.reservation.release();
    // Beside the oldest, a caller may have 40 of 100.
    expect(waiting.map(({ reservedBytes }) => reservedBytes)).toEqual(waiting.map((_, index) => (index < 15 ? 2 : 0)));
    for (const { reservation } of holders) reservation.release();
    expect(await Promise.all(growths)).toEqual(waiting.map(() => true));
    for (const reservation of waiting) reservation.release();
    expect([memory.reservedBytes, clock.timers]).toEqual([0, 0]);
  });

  it("is not waited for after the reservation has been released", async () => {
    for (const reservation of [reserve(), reserve()]) await reservation.growTo(30);
    const left = reserve();
    const waiting = left.growTo(30);
    left.release();
    expect(await within(100, waiting)).toBe(false);
    expect(memory.reservationCount).toBe(2);
  });

  it("is freed at the end of the lifetime of a reservation that is never released", async () => {
    const drop = vi.fn();
    for (let index = 0; index < 2; index++) await reserve("a", drop, 50).growTo(30);
    const next = reserve();
    await clock.passTo(49);
    expect([next.tryGrowTo(30), drop.mock.calls.length]).toEqual([false, 0]);
    await clock.passTo(50);
    expect([next.tryGrowTo(30), memory.reservedBytes, drop.mock.calls.length]).toEqual([true, 30, 2]);
  });

  it.each([
    [64, 20],
    [64, 1],
    [64, 33],
    [64, 64],
  ])(
    "of %i suffices for the largest body, of %i, of one caller and for bodies of others beside it",
    async (max, largest) => {
      memory = new BodyMemory(largest, max, clock);
      expect(await growth(reserve("a"), largest)).toBe(true);
      for (let count = 0; count < max && (await growth(reserve("a"), 1)) === true; count++);
      const share = Math.max(max - largest, largest + max / 16);
      expect(memory.reservedBytes).toBeLessThanOrEqual(share);
      expect(await growth(reserve("b"), Math.min(largest, 8))).toBe(true);
    },
  );
});

describe("memory on offer", () => {
  it("goes to a request that needs it, the oldest first, and no more than it needs", async () => {
    const givenUp: string[] = [];
    for (const owner of ["a", "b", "c", "d"]) {
      const reservation = reserve(owner, () => givenUp.push(owner));
      expect(await growth(reservation, owner === "a" ? 30 : 20)).toBe(true);
      reservation.offer();
    }
    expect(givenUp).toEqual([]);
    expect(await growth(reserve("e"), 20)).toBe(true);
    expect(givenUp).toEqual(["a"]);
    expect(memory.reservedBytes).toBe(80);
  });

  it("is not taken once the offer is withdrawn", async () => {
    const kept = ["a", "b", "c", "d"].map((owner) => reserve(owner));
    for (const reservation of kept) {
      expect(await growth(reservation, 23)).toBe(true);
      reservation.offer();
      reservation.withdraw();
    }
    expect(await growth(reserve("e"), 23)).toBe("waits");
    expect(kept.map(({ reservedBytes }) => reservedBytes)).toEqual([23, 23, 23, 23]);
  });

  it("is not taken for a request whose caller has used up its own share", async () => {
    const [offered, oldest] = [reserve("a"), reserve("b")];
    expect([await growth(offered, 30), await growth(oldest, 30), await growth(reserve("b"), 30)]).toEqual([
      true,
      true,
      true,
    ]);
    offered.offer();
    expect(await growth(reserve("b"), 20)).toBe("waits");
    expect(offered.bytes).not.toBeNull();
  });
});

it("a body can be sent again until another request takes its memory, and is freed once", async () => {
  const free = vi.fn();
  const [other, body] = [reserve("b"), reserve("a", free)];
  for (const reservation of [other, body]) await reservation.growTo(30);
  body.offer();
  expect([body.bytes, free.mock.calls.length]).toEqual([BYTES, 0]);
  expect(await growth(reserve("c"), 20)).toBe(true);
  expect(await growth(reserve("d"), 30)).toBe(true);
  body.release();
  expect([body.bytes, free.mock.calls.length, memory.reservedBytes]).toEqual([null, 1, 80]);
});

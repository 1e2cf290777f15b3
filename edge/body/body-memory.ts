/**
 * The memory for bodies. On Cloudflare, an isolate that takes too much ends with every request in it
 * (platform/cloudflare/isolate-memory.ts). So each request reserves memory before it allocates any, and waits when there
 * is none.
 *
 * Two requests that each hold half of what they need must not deadlock: the oldest may always grow to the largest body,
 * and all others share the rest. The same rule divides the rest among the requests of one caller, so a caller with slow
 * uploads never holds what the largest body of another needs.
 */
import type { BodyCollector } from "../../protocol/body-collector.ts";
import { type Clock, MONOTONIC_CLOCK } from "../clock.ts";
import { type Permit, releaseExpired } from "./fair-limit.ts";

/** Where the platform does not say less. */
const MAX_BODY_BYTES_IN_MEMORY = 64 * 1024 * 1024;
/**
 * All bodies but the oldest may always hold this much together. With the largest limit the sum can then exceed `maxBytes`
 * (64 + 16 MiB).
 */
const MIN_FRACTION_FOR_OTHERS = 1 / 4;
/** The same for the requests of one caller, so that its small bodies need not wait for its largest. */
const MIN_FRACTION_FOR_OTHERS_OF_CALLER = 1 / 16;

const WAIT_LIMIT_MILLISECONDS = 5000;

interface Pool {
  readonly reservations: Set<BodyReservation>;
  reservedBytes: number;
  /** The most that all reservations but the oldest may hold together. */
  readonly maxOthersBytes: number;
}

interface Waiter {
  readonly bytes: number;
  settle(hasGrown: boolean): void;
}

export class BodyMemory {
  readonly #all: Pool;
  readonly #byCaller = new Map<string, Pool>();
  readonly #maxOthersBytesOfCaller: number;
  readonly #clock: Clock;
  /** The first that offered its memory comes first. */
  readonly #offered = new Set<BodyReservation>();
  /** No more than there are uploads. */
  readonly #waiting = new Map<BodyReservation, Waiter>();
  #isWaking = false;

  constructor(largestBodyBytes: number, maxBytes = MAX_BODY_BYTES_IN_MEMORY, clock = MONOTONIC_CLOCK) {
    this.#clock = clock;
    const share = (fraction: number) => Math.floor(maxBytes * fraction);
    this.#all = makePool(Math.max(maxBytes - largestBodyBytes, share(MIN_FRACTION_FOR_OTHERS)));
    // Together with its oldest body, a caller then leaves room for a body of maximum size from another caller.
    this.#maxOthersBytesOfCaller = Math.max(maxBytes - 2 * largestBodyBytes, share(MIN_FRACTION_FOR_OTHERS_OF_CALLER));
  }

  get reservedBytes(): number {
    return this.#all.reservedBytes;
  }

  get reservationCount(): number {
    return this.#all.reservations.size;
  }

  /**
   * @param lifetimeMilliseconds after this time it is released, even if its request never releases it
   * @param body freed once when it is released: it would otherwise wait for the garbage collector
   */
  reserve(caller: string, lifetimeMilliseconds: number, body: Body): BodyReservation {
    return new BodyReservation(this, caller, this.#clock.now() + lifetimeMilliseconds, body);
  }

  tryGrow(reservation: BodyReservation, bytes: number): boolean {
    releaseExpired(this.#all.reservations, this.#clock.now());
    const ofCaller = this.#poolOf(reservation);
    // The caller's own first: if its share leaves no room, bodies of others would be dropped in vain.
    if (!this.#makeRoom(ofCaller, reservation, bytes) || !this.#makeRoom(this.#all, reservation, bytes)) return false;
    for (const pool of [this.#all, ofCaller]) {
      pool.reservations.add(reservation);
      pool.reservedBytes += bytes;
    }
    return true;
  }

  isOverShare(reservation: BodyReservation, bytes: number): boolean {
    return !canGrow(this.#poolOf(reservation), reservation, bytes);
  }

  /** Resolves to whether it has grown: no later than at the deadline, and when it is released. */
  async waitToGrow(reservation: BodyReservation, bytes: number): Promise<boolean> {
    const { promise, resolve } = Promise.withResolvers<boolean>();
    const settle = (hasGrown: boolean) => {
      this.#waiting.delete(reservation);
      resolve(hasGrown);
    };
    const cancel = this.#clock.after(WAIT_LIMIT_MILLISECONDS, () => settle(false));
    this.#waiting.set(reservation, { bytes, settle });
    const hasGrown = await promise;
    cancel();
    return hasGrown;
  }

  offer(reservation: BodyReservation): void {
    this.#offered.add(reservation);
    this.#wake();
  }

  withdraw(reservation: BodyReservation): void {
    this.#offered.delete(reservation);
  }

  release(reservation: BodyReservation, bytes: number): void {
    this.#offered.delete(reservation);
    this.#waiting.get(reservation)?.settle(false);
    for (const pool of [this.#all, this.#poolOf(reservation)]) {
      if (pool.reservations.delete(reservation)) pool.reservedBytes -= bytes;
    }
    this.#wake();
  }

  /** Lets those grow that can, in the order in which they began to wait. What they reclaim wakes nobody a second time. */
  #wake(): void {
    if (this.#isWaking) return;
    this.#isWaking = true;
    for (const [reservation, { bytes, settle }] of this.#waiting) if (reservation.tryGrowTo(bytes)) settle(true);
    this.#isWaking = false;
  }

  /** Takes memory that other requests offer, the first offer first, until the reservation can grow. */
  #makeRoom(pool: Pool, reservation: BodyReservation, bytes: number): boolean {
    for (const other of this.#offered) {
      if (canGrow(pool, reservation, bytes)) return true;
      if (pool.reservations.has(other)) other.release();
    }
    return canGrow(pool, reservation, bytes);
  }

  /** Pools are never removed: a deployment has no more callers than tokens. */
  #poolOf({ caller }: BodyReservation): Pool {
    const known = this.#byCaller.get(caller);
    if (known !== undefined) return known;
    const pool = makePool(this.#maxOthersBytesOfCaller);
    this.#byCaller.set(caller, pool);
    return pool;
  }
}

type Body = Pick<BodyCollector, "finish" | "free">;

/**
 * The memory that one request holds, and the body in it. It is released when the body has been sent and when the client disconnects.
 */
export class BodyReservation implements Permit {
  readonly caller: string;
  readonly expiresAt: number;
  readonly #memory: BodyMemory;
  readonly #body: Body;
  #reservedBytes = 0;
  #isReleased = false;

  constructor(memory: BodyMemory, caller: string, expiresAt: number, body: Body) {
    this.#memory = memory;
    this.caller = caller;
    this.expiresAt = expiresAt;
    this.#body = body;
  }

  get reservedBytes(): number {
    return this.#reservedBytes;
  }

  /** The body; null once it is gone. Do not keep it: a release detaches its memory, and it is then empty. */
  get bytes(): Uint8Array<ArrayBuffer> | null {
    return this.#isReleased ? null : this.#body.finish();
  }

  /** @returns false when there was no memory in time, or the reservation has been released: the request must end. */
  async growTo(bytes: number): Promise<boolean> {
    return this.tryGrowTo(bytes) || (!this.#isReleased && this.#memory.waitToGrow(this, bytes));
  }

  tryGrowTo(bytes: number): boolean {
    if (this.#isReleased) return false;
    const more = bytes - this.#reservedBytes;
    if (more > 0 && !this.#memory.tryGrow(this, more)) return false;
    this.#reservedBytes = Math.max(bytes, this.#reservedBytes);
    return true;
  }

  /** Whether it is the caller's share that leaves no room for this, however much others hold. */
  isOverShare(bytes: number): boolean {
    return this.#memory.isOverShare(this, bytes - this.#reservedBytes);
  }

  /** To be called when a backend has all of the body. From now on, another request may take the memory, and with it the body. */
  offer(): void {
    this.#memory.offer(this);
  }

  withdraw(): void {
    this.#memory.withdraw(this);
  }

  /** May be called more than once. */
  release(): void {
    if (this.#isReleased) return;
    this.#isReleased = true;
    this.#body.free();
    this.#memory.release(this, this.#reservedBytes);
    this.#reservedBytes = 0;
  }
}

function makePool(maxOthersBytes: number): Pool {
  return { reservations: new Set(), reservedBytes: 0, maxOthersBytes };
}

function canGrow(pool: Pool, reservation: BodyReservation, bytes: number): boolean {
  const [oldest = reservation] = pool.reservations;
  return oldest === reservation || pool.reservedBytes - oldest.reservedBytes + bytes <= pool.maxOthersBytes;
}

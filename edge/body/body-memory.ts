/**
 * The memory for bodies. On Cloudflare, an isolate that takes too much ends with every request in it
 * (platform/cloudflare/isolate-memory.ts). So each request reserves memory before it allocates any, and waits when there
 * is none.
 *
 * Two requests that each hold half of what they need must not deadlock: the oldest may always grow to the largest body,
 * and all others share the rest. The same rule divides the rest among the requests of one caller, so a caller with slow
 * uploads never holds what the largest body of another needs.
 */
import { WALL_CLOCK, type WallClock } from "../clock.ts";
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
/** Requests poll with their own timers: in workerd, one request must not wake another. */
const POLL_MILLISECONDS = 20;
/** Each poll costs microseconds, so the others poll rarely. If they were rejected, clients would just send again. */
const MAX_FREQUENT_POLLERS_PER_CALLER = 16;
const RARE_POLL_MILLISECONDS = 1000;

interface Pool {
  readonly reservations: Set<BodyReservation>;
  readonly frequentPollers: Set<BodyReservation>;
  reservedBytes: number;
  /** The most that all reservations but the oldest may hold together. */
  readonly maxOthersBytes: number;
}

export class BodyMemory {
  readonly #all: Pool;
  readonly #byCaller = new Map<string, Pool>();
  readonly #maxOthersBytesOfCaller: number;
  readonly clock: WallClock;

  constructor(largestBodyBytes: number, maxBytes = MAX_BODY_BYTES_IN_MEMORY, clock = WALL_CLOCK) {
    this.clock = clock;
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
   * @param dropBody called once when it is released: drops the body, which would otherwise wait for the garbage collector
   */
  reserve(caller: string, lifetimeMilliseconds: number, dropBody: () => void): BodyReservation {
    return new BodyReservation(this, caller, this.clock.now() + lifetimeMilliseconds, dropBody);
  }

  tryGrow(reservation: BodyReservation, bytes: number): boolean {
    releaseExpired(this.#all.reservations, this.clock.now());
    const ofCaller = this.#poolOf(reservation);
    reclaim(ofCaller, reservation, bytes);
    reclaim(this.#all, reservation, bytes);
    if (!canGrow(this.#all, reservation, bytes) || !canGrow(ofCaller, reservation, bytes)) return false;
    ofCaller.frequentPollers.delete(reservation);
    for (const pool of [this.#all, ofCaller]) {
      pool.reservations.add(reservation);
      pool.reservedBytes += bytes;
    }
    return true;
  }

  isOverShare(reservation: BodyReservation, bytes: number): boolean {
    return !canGrow(this.#poolOf(reservation), reservation, bytes);
  }

  choosePollMilliseconds(reservation: BodyReservation): number {
    const { frequentPollers } = this.#poolOf(reservation);
    if (frequentPollers.size < MAX_FREQUENT_POLLERS_PER_CALLER) frequentPollers.add(reservation);
    return frequentPollers.has(reservation) ? POLL_MILLISECONDS : RARE_POLL_MILLISECONDS;
  }

  release(reservation: BodyReservation, bytes: number): void {
    const ofCaller = this.#poolOf(reservation);
    ofCaller.frequentPollers.delete(reservation);
    for (const pool of [this.#all, ofCaller]) {
      if (pool.reservations.delete(reservation)) pool.reservedBytes -= bytes;
    }
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

/** The memory that one request holds. It is released when the body has been sent and when the client disconnects. */
export class BodyReservation implements Permit {
  readonly caller: string;
  readonly expiresAt: number;
  readonly #memory: BodyMemory;
  readonly #dropBody: () => void;
  #bytes = 0;
  #isReleased = false;
  #isOffered = false;

  constructor(memory: BodyMemory, caller: string, expiresAt: number, dropBody: () => void) {
    this.#memory = memory;
    this.caller = caller;
    this.expiresAt = expiresAt;
    this.#dropBody = dropBody;
  }

  /** The body is gone, too. */
  get isReleased(): boolean {
    return this.#isReleased;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** @returns false when there was no memory in time, or the reservation has been released: the request must end. */
  async growTo(bytes: number): Promise<boolean> {
    // By the clock, not by counting polls: the timers of a busy isolate fire late, and the delays add up.
    const { clock } = this.#memory;
    const deadline = clock.now() + WAIT_LIMIT_MILLISECONDS;
    while (!this.#isReleased) {
      if (this.growAtOnce(bytes)) return true;
      if (clock.now() >= deadline) return false;
      await clock.wait(this.#memory.choosePollMilliseconds(this));
    }
    return false;
  }

  growAtOnce(bytes: number): boolean {
    if (this.#isReleased) return false;
    const more = bytes - this.#bytes;
    if (more > 0 && !this.#memory.tryGrow(this, more)) return false;
    this.#bytes = Math.max(bytes, this.#bytes);
    return true;
  }

  /** Whether it is the caller's share that leaves no room for this, however much others hold. */
  isOverShare(bytes: number): boolean {
    return this.#memory.isOverShare(this, bytes - this.#bytes);
  }

  /** From now on, another request may take the memory, and with it the body. */
  offer(): void {
    this.#isOffered = true;
  }

  withdraw(): void {
    this.#isOffered = false;
  }

  reclaim(): void {
    if (this.#isOffered) this.release();
  }

  /** May be called more than once. */
  release(): void {
    if (this.#isReleased) return;
    this.#isReleased = true;
    this.#memory.release(this, this.#bytes);
    this.#bytes = 0;
    this.#dropBody();
  }
}

function makePool(maxOthersBytes: number): Pool {
  return { reservations: new Set(), frequentPollers: new Set(), reservedBytes: 0, maxOthersBytes };
}

/** Takes memory that other requests offer, the oldest first, until the reservation can grow. */
function reclaim(pool: Pool, reservation: BodyReservation, bytes: number): void {
  for (const other of pool.reservations) {
    if (canGrow(pool, reservation, bytes)) return;
    other.reclaim();
  }
}

function canGrow(pool: Pool, reservation: BodyReservation, bytes: number): boolean {
  const [oldest = reservation] = pool.reservations;
  return oldest === reservation || pool.reservedBytes - oldest.bytes + bytes <= pool.maxOthersBytes;
}

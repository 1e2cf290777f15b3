/**
 * The memory that bodies may take in one isolate, shared by the requests that it serves at once.
 *
 * An isolate has 128 MiB for everything, and going over it ends every request in it. So each request reserves memory
 * before it takes it, as its body arrives, and waits where there is none.
 *
 * Two requests that each hold half of what they need must not wait for each other for ever: the oldest may always grow
 * to the largest body, and all others together have what is left. A caller's requests have a share of that by the same
 * rule, so that a caller with slow uploads never holds what another caller's largest body needs.
 */

/** Half of an isolate: the other half is for the runtime, for what the network holds, and for the code. */
const MAX_BODY_BYTES_IN_MEMORY = 64 * 1024 * 1024;
/** Where the largest body takes nearly all of that, other bodies still have this part of it, and go beyond it. */
const LEAST_PART_FOR_OTHERS = 1 / 4;
/** The same within the share of one caller, so that its small bodies need not wait for its largest. */
const LEAST_PART_FOR_OTHERS_OF_OWNER = 1 / 16;

const WAIT_LIMIT_MILLISECONDS = 5000;
/** Requests look again by their own timers: in workerd, one request must not wake another. */
const LOOK_AGAIN_MILLISECONDS = 20;
/**
 * Each look costs the isolate some microseconds, so only so many requests of one caller look that often. The others wait
 * as long and look seldom: refused at once, they would be sent again at once.
 */
const MAX_EAGER_PER_OWNER = 16;
const LOOK_SELDOM_MILLISECONDS = 1000;

/** What a request that finds no memory should wait before it tries again, in seconds. */
export const RETRY_AFTER_SECONDS = 2;

/** Reservations in the order in which they first grew, and what they hold together. */
interface Pool {
  readonly reservations: Set<Reservation>;
  /** Those that wait and look often. */
  readonly eager: Set<Reservation>;
  reservedBytes: number;
  /** What all but the oldest may hold together. */
  readonly maxOthersBytes: number;
}

export class BodyMemory {
  readonly #all: Pool;
  readonly #byOwner = new Map<string, Pool>();
  readonly #maxOthersBytesOfOwner: number;

  /** @param largestBodyBytes the limit of one body */
  constructor(largestBodyBytes: number, maxBytes = MAX_BODY_BYTES_IN_MEMORY) {
    const part = (ofAll: number) => Math.floor(maxBytes * ofAll);
    this.#all = makePool(Math.max(maxBytes - largestBodyBytes, part(LEAST_PART_FOR_OTHERS)));
    // Together with its oldest, a caller then holds at most everything less one largest body.
    this.#maxOthersBytesOfOwner = Math.max(maxBytes - 2 * largestBodyBytes, part(LEAST_PART_FOR_OTHERS_OF_OWNER));
  }

  get reservedBytes(): number {
    return this.#all.reservedBytes;
  }

  /** Reservations that hold something. */
  get reservationCount(): number {
    return this.#all.reservations.size;
  }

  /**
   * A reservation of nothing yet.
   *
   * @param owner the name of the caller
   * @param lifetimeMilliseconds after which it is released at the latest, whatever became of its request
   */
  reserve(owner: string, lifetimeMilliseconds: number): Reservation {
    return new Reservation(this, owner, Date.now() + lifetimeMilliseconds);
  }

  /** Gives a reservation so many bytes more, if they are there. */
  tryGrow(reservation: Reservation, bytes: number): boolean {
    this.#releaseExpired();
    const owned = this.#poolOf(reservation);
    if (!hasRoom(this.#all, reservation, bytes) || !hasRoom(owned, reservation, bytes)) return false;
    owned.eager.delete(reservation);
    for (const pool of [this.#all, owned]) {
      pool.reservations.add(reservation);
      pool.reservedBytes += bytes;
    }
    return true;
  }

  /** How long a reservation that found no room should wait before it looks again. */
  waitMilliseconds(reservation: Reservation): number {
    const { eager } = this.#poolOf(reservation);
    if (eager.size < MAX_EAGER_PER_OWNER) eager.add(reservation);
    return eager.has(reservation) ? LOOK_AGAIN_MILLISECONDS : LOOK_SELDOM_MILLISECONDS;
  }

  /** Takes back all that a reservation holds, and its place among those that wait. */
  takeBack(reservation: Reservation, bytes: number): void {
    const owned = this.#poolOf(reservation);
    owned.eager.delete(reservation);
    for (const pool of [this.#all, owned]) {
      if (pool.reservations.delete(reservation)) pool.reservedBytes -= bytes;
    }
  }

  /** Never removed: a deployment has no more callers than tokens. */
  #poolOf({ owner }: Reservation): Pool {
    const known = this.#byOwner.get(owner);
    if (known !== undefined) return known;
    const pool = makePool(this.#maxOthersBytesOfOwner);
    this.#byOwner.set(owner, pool);
    return pool;
  }

  /** The last resort: workerd drops a request's code when its client goes, and nothing may be held for ever. */
  #releaseExpired(): void {
    const now = Date.now();
    for (const reservation of this.#all.reservations) {
      if (reservation.expiresAt > now) return;
      reservation.release();
    }
  }
}

/** What one request holds. Its owner releases it as soon as the body is gone, and when the client is. */
export class Reservation {
  readonly owner: string;
  readonly expiresAt: number;
  readonly #memory: BodyMemory;
  #bytes = 0;
  #isReleased = false;

  constructor(memory: BodyMemory, owner: string, expiresAt: number) {
    this.#memory = memory;
    this.owner = owner;
    this.expiresAt = expiresAt;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /**
   * Waits a little until it holds so many bytes.
   *
   * @returns false where there was no room in time, or it is released; then the request is over and must release it.
   */
  async growTo(bytes: number): Promise<boolean> {
    // By the clock: timers of a busy isolate come late, and all of them together much later.
    const deadline = Date.now() + WAIT_LIMIT_MILLISECONDS;
    while (!this.#isReleased) {
      const more = bytes - this.#bytes;
      if (more <= 0) return true;
      if (this.#memory.tryGrow(this, more)) {
        this.#bytes = bytes;
        return true;
      }
      if (Date.now() >= deadline) return false;
      await scheduler.wait(this.#memory.waitMilliseconds(this));
    }
    return false;
  }

  /** Gives everything back. A second call does nothing. */
  release(): void {
    if (this.#isReleased) return;
    this.#isReleased = true;
    this.#memory.takeBack(this, this.#bytes);
    this.#bytes = 0;
  }
}

function makePool(maxOthersBytes: number): Pool {
  return { reservations: new Set(), eager: new Set(), reservedBytes: 0, maxOthersBytes };
}

function hasRoom(pool: Pool, reservation: Reservation, bytes: number): boolean {
  const [oldest = reservation] = pool.reservations;
  return oldest === reservation || pool.reservedBytes - oldest.bytes + bytes <= pool.maxOthersBytes;
}

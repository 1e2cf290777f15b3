/**
 * The memory that bodies may take in one isolate: a budget in bytes, shared by the requests that it serves at once.
 *
 * An isolate has 128 MiB for everything, and going over it ends every request in it. So a request reserves room for its
 * body before it reads a byte: what it declares, or the limit where it declares nothing. Who finds no room waits a
 * little, and then is told to come back.
 */

/** Half of an isolate: the other half is for the runtime, for what the network holds, and for the code. */
const MAX_BODY_BYTES_IN_MEMORY = 64 * 1024 * 1024;

const WAIT_LIMIT_MILLISECONDS = 5000;
/** Requests look again by their own timers: in workerd, one request must not wake another. */
const LOOK_AGAIN_MILLISECONDS = 20;

/** What a request that finds no room should wait before it tries again, in seconds. */
export const RETRY_AFTER_SECONDS = 2;

export class BodyMemory {
  readonly #maxBytes: number;
  #reservedBytes = 0;

  constructor(maxBytes = MAX_BODY_BYTES_IN_MEMORY) {
    this.#maxBytes = maxBytes;
  }

  get reservedBytes(): number {
    return this.#reservedBytes;
  }

  /**
   * Runs `work` with room for `bytes` reserved.
   *
   * @returns what `work` returns, or null where no room was found in time. A body that is larger than the whole budget
   *   has the isolate's room to itself.
   */
  async withRoomFor<Result>(bytes: number, work: () => Promise<Result>): Promise<Result | null> {
    const size = Math.min(bytes, this.#maxBytes);
    let waitedMilliseconds = 0;
    while (this.#reservedBytes + size > this.#maxBytes) {
      if (waitedMilliseconds >= WAIT_LIMIT_MILLISECONDS) return null;
      await scheduler.wait(LOOK_AGAIN_MILLISECONDS);
      waitedMilliseconds += LOOK_AGAIN_MILLISECONDS;
    }
    this.#reservedBytes += size;
    try {
      return await work();
    } finally {
      this.#reservedBytes -= size;
    }
  }
}

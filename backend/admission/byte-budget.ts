/** A budget of bytes. One caller always leaves as much of it as one request of another can need. */

export interface Reservation {
  /** @returns whether there was room; if not, the reservation stays as it was. */
  resize(bytes: number): boolean;
  /** Whether it is the caller's share that leaves no room for this, however much others hold. */
  isOverShare(bytes: number): boolean;
  release(): void;
}

export class ByteBudget {
  readonly maxBytes: number;
  readonly #maxBytesPerCaller: number;
  readonly #bytesByCaller = new Map<string, number>();
  #reservedBytes = 0;

  /** @param maxBytesPerRequest what one request can need at the most */
  constructor(maxBytes: number, maxBytesPerRequest: number) {
    this.maxBytes = maxBytes;
    this.#maxBytesPerCaller = Math.max(maxBytesPerRequest, maxBytes - maxBytesPerRequest);
  }

  get reservedBytes(): number {
    return this.#reservedBytes;
  }

  get holders(): number {
    return this.#bytesByCaller.size;
  }

  /** An empty reservation of a caller. It must be released. */
  open(caller: string): Reservation {
    let held = 0;
    let isReleased = false;
    const resize = (bytes: number) => {
      if (isReleased || !this.#change(caller, bytes - held)) return false;
      held = bytes;
      return true;
    };
    return {
      resize,
      isOverShare: (bytes) => this.#callerBytes(caller) + bytes - held > this.#maxBytesPerCaller,
      release: () => {
        resize(0);
        isReleased = true;
      },
    };
  }

  #callerBytes(caller: string): number {
    return this.#bytesByCaller.get(caller) ?? 0;
  }

  #change(caller: string, difference: number): boolean {
    const callerBytes = this.#callerBytes(caller) + difference;
    const isOver = this.#reservedBytes + difference > this.maxBytes || callerBytes > this.#maxBytesPerCaller;
    if (isOver) return false;
    this.#reservedBytes += difference;
    // A caller that holds nothing is removed, so that the map is bounded by the budget.
    if (callerBytes === 0) this.#bytesByCaller.delete(caller);
    else this.#bytesByCaller.set(caller, callerBytes);
    return true;
  }
}

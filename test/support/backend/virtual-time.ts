/** A clock that jumps to what is due next: minutes pass in milliseconds, in the same order in every run. */

interface Due {
  readonly at: number;
  readonly run: () => void;
  isCancelled: boolean;
}

export class VirtualTime {
  /** Milliseconds. */
  now = 1_000_000;
  /** The earliest last. Events at the same time happen in the order in which they were planned. */
  readonly #planned: Due[] = [];

  /** Calls back after a time. The returned function prevents it. */
  after(milliseconds: number, run: () => void): () => void {
    const due = { at: this.now + Math.max(0, milliseconds), run, isCancelled: false };
    this.#planned.splice(this.#placeOf(due.at), 0, due);
    return () => {
      due.isCancelled = true;
    };
  }

  /**
   * Lets everything happen that is planned, and what that plans.
   *
   * @param observe called after each event, when all promises that it resolved have been handled; returns whether to
   *   go on.
   * @returns the number of events, at most `maxEvents`.
   */
  async run(observe: () => boolean, maxEvents: number): Promise<number> {
    let count = 0;
    while (count < maxEvents) {
      const due = this.#planned.pop();
      if (due === undefined) break;
      if (due.isCancelled) continue;
      count++;
      this.now = due.at;
      due.run();
      // Runs once no promise is left to be handled.
      await new Promise<void>((resolve) => setImmediate(resolve));
      if (!observe()) break;
    }
    return count;
  }

  /** Before all that is planned for the same time or an earlier one. */
  #placeOf(at: number): number {
    let low = 0;
    let high = this.#planned.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.#planned[middle]?.at ?? 0) > at) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

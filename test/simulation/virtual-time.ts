/**
 * A clock that stands still until something is due, and then jumps there. So minutes pass in milliseconds, and in the
 * same order in every run.
 */

interface Due {
  readonly at: number;
  /** Events at the same time happen in the order in which they were planned. */
  readonly sequence: number;
  readonly run: () => void;
  isCancelled: boolean;
}

export class VirtualTime {
  /** Milliseconds. */
  now = 1_000_000;
  #sequence = 0;
  /** A binary heap, the earliest first. */
  readonly #heap: Due[] = [];

  /** Calls back after a time. The returned function prevents it. */
  after(milliseconds: number, run: () => void): () => void {
    const due = { at: this.now + Math.max(0, milliseconds), sequence: this.#sequence++, run, isCancelled: false };
    this.#push(due);
    return () => {
      due.isCancelled = true;
    };
  }

  /**
   * Lets everything happen that is planned, and what that plans.
   *
   * @param observe called after each event, when all promises that it resolved have been handled; returns whether to
   *   go on.
   * @param maxEvents what is planned again and again for ever ends the run here.
   * @returns the number of events.
   */
  async run(observe: () => boolean, maxEvents: number): Promise<number> {
    let count = 0;
    for (let due = this.#pop(); due !== null && count < maxEvents; due = this.#pop()) {
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

  #push(due: Due): void {
    const heap = this.#heap;
    let at = heap.length;
    heap.push(due);
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (!this.#swapIfEarlier(at, parent)) return;
      at = parent;
    }
  }

  #pop(): Due | null {
    const heap = this.#heap;
    const [first] = heap;
    const last = heap.pop();
    if (first === undefined || last === undefined) return null;
    if (first === last) return first;
    heap[0] = last;
    for (let at = 0; ; ) {
      const left = 2 * at + 1;
      const right = left + 1;
      const child = isEarlier(heap[right], heap[left]) ? right : left;
      if (!this.#swapIfEarlier(child, at)) return first;
      at = child;
    }
  }

  /** Swaps two places of the heap if the first has the earlier event. */
  #swapIfEarlier(left: number, right: number): boolean {
    const [earlier, later] = [this.#heap[left], this.#heap[right]];
    if (earlier === undefined || later === undefined || !isEarlier(earlier, later)) return false;
    this.#heap[left] = later;
    this.#heap[right] = earlier;
    return true;
  }
}

function isEarlier(left: Due | undefined, right: Due | undefined): boolean {
  if (left === undefined || right === undefined) return left !== undefined;
  return left.at === right.at ? left.sequence < right.sequence : left.at < right.at;
}

/** Fetches of one request as Cloudflare has them: six may wait for an answer at once, and the seventh is queued. */
export class SixFetches {
  /** All that were begun, and how many waited at once, those in the queue included. */
  count = 0;
  most = 0;
  #waiting = 0;
  readonly #queue: (() => void)[] = [];

  async run<Answer>(fetch: () => Promise<Answer>): Promise<Answer> {
    this.count++;
    this.#waiting++;
    this.most = Math.max(this.most, this.#waiting);
    if (this.#waiting > 6) await new Promise<void>((resolve) => this.#queue.push(resolve));
    try {
      return await fetch();
    } finally {
      this.#waiting--;
      this.#queue.shift()?.();
    }
  }
}

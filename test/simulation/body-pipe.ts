/**
 * What workerd does with a body until a connection takes it, as measured on workerd 1.20261102. What the edge concludes
 * from it is tested on real sockets by test/service/edge/attempts.test.ts.
 */

/** The most that workerd buffers: so many writes, and so many bytes. */
const BUFFERED_WRITES = 3;
const BUFFERED_BYTES = 76 * 1024;

export class BodyPipe {
  readonly #onTaken: (bytes: number) => void;
  /** Where the writes that are buffered end, and those that wait. */
  #buffered: number[] = [];
  #waiting: { readonly end: number; readonly resolve: () => void }[] = [];
  #written = 0;
  #takes = 0;

  /** @param onTaken called with the number of bytes that the connection has taken so far */
  constructor(onTaken: (bytes: number) => void = () => {}) {
    this.#onTaken = onTaken;
  }

  /** Resolves when the bytes are buffered or taken. */
  write({ length }: Uint8Array): Promise<void> {
    this.#written += length;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#waiting.push({ end: this.#written, resolve });
    this.#pump();
    return promise;
  }

  async close(): Promise<void> {}

  /** From now on, the connection takes so many bytes in all. */
  take(bytes: number): void {
    this.#takes = Math.max(this.#takes, bytes);
    this.#pump();
  }

  #pump(): void {
    const taken = Math.min(this.#takes, this.#written);
    this.#buffered = this.#buffered.filter((end) => end > taken);
    for (let [next] = this.#waiting; next !== undefined; [next] = this.#waiting) {
      const { end, resolve } = next;
      const hasRoom = this.#buffered.length < BUFFERED_WRITES && end - taken <= BUFFERED_BYTES;
      if (end > taken && !hasRoom) break;
      if (end > taken) this.#buffered.push(end);
      this.#waiting.shift();
      resolve();
    }
    this.#onTaken(taken);
  }
}

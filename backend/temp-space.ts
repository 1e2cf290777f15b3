/**
 * The temporary space of all renders together: reserved before a byte is written, so that the disk never fills.
 */
export class TempSpace {
  readonly #maxBytes: number;
  #reservedBytes = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  get reservedBytes(): number {
    return this.#reservedBytes;
  }

  /**
   * Runs `work` with `bytes` reserved.
   *
   * @throws Error where so much is not left: the service is short of space, which is no fault of the request.
   */
  async withReserved<Result>(bytes: number, work: () => Promise<Result>): Promise<Result> {
    if (this.#reservedBytes + bytes > this.#maxBytes) {
      throw new Error(`no temporary space: ${bytes} bytes wanted, ${this.#maxBytes - this.#reservedBytes} left`);
    }
    this.#reservedBytes += bytes;
    try {
      return await work();
    } finally {
      this.#reservedBytes -= bytes;
    }
  }
}

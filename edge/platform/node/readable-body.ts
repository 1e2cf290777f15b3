/** The bytes of an answer in Node: what a stream has, on its way to a client. */
import type { ServerResponse } from "node:http";
import type { Readable } from "node:stream";
import type { PassedBody } from "../platform.ts";

export class ReadableBody implements PassedBody {
  readonly #open: () => Readable;
  readonly #discard: () => void;
  readonly #maxBytes: number;
  readonly #report: () => void;
  /** What the edge itself reads. */
  #source: Readable | null = null;
  #pieces: AsyncIterator<Uint8Array> | null = null;

  /** @param open called once, if a client gets the bytes; else `discard` is */
  constructor(open: () => Readable, discard: () => void, maxBytes = Number.POSITIVE_INFINITY, report = () => {}) {
    this.#open = open;
    this.#discard = discard;
    this.#maxBytes = maxBytes;
    this.#report = report;
  }

  limitTo(maxBytes: number, report: () => void): ReadableBody {
    return new ReadableBody(this.#open, this.#discard, maxBytes, report);
  }

  async next(): Promise<Uint8Array | null> {
    const source = this.#source ?? this.#open();
    this.#source = source;
    this.#pieces ??= source[Symbol.asyncIterator]();
    const { value } = await this.#pieces.next();
    return value ?? null;
  }

  discard(): void {
    if (this.#source === null) this.#discard();
    else this.#source.destroy();
  }

  /**
   * Breaks the answer off where the bytes break off, and where they are more or fewer than its head says: a client would take the rest for
   * its next answer.
   * @param declared how many there are by its head; infinite if it does not say
   * @param end called when all of them are written
   */
  sendTo(response: ServerResponse, declared: number, end: () => void): void {
    const source = this.#open();
    let bytes = 0;
    let isEnded = false;
    source.on("data", (piece: Buffer) => {
      bytes += piece.length;
      if (bytes > this.#maxBytes) this.#report();
      if (bytes > Math.min(this.#maxBytes, declared)) response.destroy();
      else if (!response.write(piece)) source.pause();
    });
    source.once("end", () => {
      isEnded = bytes === declared || declared === Number.POSITIVE_INFINITY;
      if (isEnded) end();
    });
    source.on("error", () => response.destroy());
    source.once("close", () => {
      if (!isEnded) response.destroy();
    });
    response.on("drain", () => source.resume());
    response.once("close", () => {
      if (!isEnded) source.destroy();
    });
  }
}

/**
 * Reads the body of a request piece by piece.
 *
 * A read that waits holds the memory that it reads into. So the first is small, and only a client that fills it gets more.
 */
import { readInTime } from "./read-in-time.ts";

/** Most bodies fit into it. */
const FIRST_READ_BYTES = 4 * 1024;
/**
 * The most that one read returns. workerd's default reader returns chunks of 4 KiB, each of which needs a timer: with it, a
 * body of 1 MiB took five times as long.
 */
const READ_BYTES = 64 * 1024;

export class BodyReader {
  readonly #reader: ReadableStreamBYOBReader;
  #memory = new ArrayBuffer(FIRST_READ_BYTES);

  constructor(body: ReadableStream<Uint8Array>) {
    this.#reader = body.getReader({ mode: "byob" });
  }

  /**
   * The next piece, which is valid until the next call. After "late" and "broken" the reader must not be used again, and the stream
   * stays locked.
   */
  async next(timeBudgetMilliseconds: number): Promise<Uint8Array | "end" | "late" | "broken"> {
    if (timeBudgetMilliseconds <= 0) return "late";
    const piece = this.#reader.read(new Uint8Array(this.#memory));
    const reading = await readInTime(piece, timeBudgetMilliseconds).catch(() => "broken" as const);
    if (typeof reading === "string") return reading;
    if (reading.done) return "end";
    const { value } = reading;
    // The read has detached the buffer that it was given and returns the same memory as a new one.
    const { buffer } = value;
    const isFull = value.length === buffer.byteLength;
    this.#memory = isFull && buffer.byteLength < READ_BYTES ? new ArrayBuffer(READ_BYTES) : buffer;
    return value;
  }

  /** Unlocks the stream, so that the rest of the body can be drained. */
  release(): void {
    this.#reader.releaseLock();
  }
}

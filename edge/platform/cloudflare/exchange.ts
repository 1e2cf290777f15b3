/** A request of Workers and its answer, as the edge sees them. */

import type { BodyClock, BodyPiece, BodyReader } from "../../../protocol/body-collector.ts";
import { FairLimit, type Permit } from "../../body/fair-limit.ts";
import type { Answer, ClientRequest, PassedBody } from "../platform.ts";
import { FIRST_READ_BYTES, MAX_LARGE_READS, READ_BYTES } from "./isolate-memory.ts";

export class WorkerRequest implements ClientRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: Headers;
  readonly body: BodyReader | null;
  readonly #request: Request;
  readonly #execution: ExecutionContext | undefined;

  constructor(request: Request, execution: ExecutionContext | undefined) {
    this.#request = request;
    this.#execution = execution;
    this.method = request.method;
    this.url = request.url;
    this.headers = request.headers;
    this.body = request.body === null ? null : new StreamedBody(request.body, request.headers.get("Content-Length"));
  }

  takePlace(): boolean {
    return true;
  }

  /** Of the platform's own, for what asks for a file by it. */
  at(url: URL): Request {
    return new Request(url, this.#request);
  }

  /**
   * The signal is asked for only if needed: workerd keeps a request whose signal was used until the next garbage collection. A flood
   * of requests for 57 KB took 1.5 GB in ten seconds, without the signal 0.4 (in workerd alone).
   */
  whenClientLeaves(callback: () => void): void {
    this.#request.signal.addEventListener("abort", callback);
  }

  inBackground(work: Promise<unknown>): void {
    this.#execution?.waitUntil(work);
  }
}

/** How long a request may keep its place whose client has left: workerd does not resume it. */
const LARGE_READ_MILLISECONDS = 60_000;
/**
 * workerd's default reader returns 4 KiB at once: with its timers, 1 MiB took five times as long. So as many
 * bodies as the isolate has room for are read by more.
 */
const largeReads = new FairLimit(2 * MAX_LARGE_READS, LARGE_READ_MILLISECONDS);
const NOBODY = "";

/** A read that waits holds the memory that it reads into, so that is small until a client has filled it once. */
export class StreamedBody implements BodyReader {
  readonly #stream: ReadableStream<Uint8Array>;
  #reader: ReadableStreamBYOBReader | null = null;
  #memory: ArrayBuffer | null = null;
  /** How much memory the next read gets, if it gets new one. */
  #bytes: number;
  #largeRead: Permit | null = null;
  /** How much of it is to come; infinite if that is not known. */
  #left: number;
  isOver = false;

  constructor(stream: ReadableStream<Uint8Array>, contentLength: string | null) {
    this.#stream = stream;
    this.#left = contentLength === null ? Number.POSITIVE_INFINITY : Number(contentLength) || 1;
    this.#bytes = Math.min(this.#left, FIRST_READ_BYTES);
  }

  get isBegun(): boolean {
    return this.#reader !== null;
  }

  async next(timeBudgetMilliseconds: number, clock: BodyClock): Promise<BodyPiece> {
    const piece = timeBudgetMilliseconds <= 0 ? "late" : await this.#read(timeBudgetMilliseconds, clock);
    if (typeof piece === "string") this.isOver = true;
    if (this.isOver || this.#left <= 0) this.#largeRead?.release();
    return piece;
  }

  async #read(timeBudgetMilliseconds: number, clock: BodyClock): Promise<BodyPiece> {
    this.#reader ??= this.#stream.getReader({ mode: "byob" });
    const { promise, resolve } = Promise.withResolvers<Uint8Array<ArrayBuffer> | "end" | "late" | "broken">();
    const cancel = clock.after(timeBudgetMilliseconds, () => resolve("late"));
    this.#reader.read(new Uint8Array(this.#memory ?? new ArrayBuffer(this.#bytes))).then(
      ({ done, value }) => resolve(done ? "end" : value),
      () => resolve("broken"),
    );
    const value = await promise;
    cancel();
    if (typeof value === "string") return value;
    // The read has detached the buffer that it was given and returns the same memory as a new one.
    const { buffer } = value;
    const isFull = value.length === buffer.byteLength;
    this.#memory = buffer;
    this.#left -= value.length;
    if (!isFull || buffer.byteLength >= READ_BYTES || this.#left <= 0) return value;
    this.#largeRead ??= largeReads.acquire(NOBODY);
    if (this.#largeRead === null) return value;
    this.#memory = null;
    this.#bytes = READ_BYTES;
    return value;
  }
}

export class StreamedAnswer implements PassedBody {
  readonly stream: ReadableStream<Uint8Array>;
  #reader: ReadableStreamDefaultReader<Uint8Array> | null = null;

  constructor(stream: ReadableStream<Uint8Array>) {
    this.stream = stream;
  }

  limitTo(maxBytes: number, report: () => void): StreamedAnswer {
    let bytes = 0;
    const limit = new TransformStream<Uint8Array, Uint8Array>({
      transform(chunk, controller) {
        bytes += chunk.length;
        if (bytes <= maxBytes) return controller.enqueue(chunk);
        report();
        controller.error(new RangeError("the answer is over its limit"));
      },
    });
    return new StreamedAnswer(this.stream.pipeThrough(limit));
  }

  async next(): Promise<Uint8Array | null> {
    this.#reader ??= this.stream.getReader();
    const { value } = await this.#reader.read();
    return value ?? null;
  }

  discard(): void {
    (this.#reader ?? this.stream).cancel().catch(() => {});
  }
}

/** All header fields at once: each that is set later takes some 10 µs. */
export function toResponse({ status, headers, body }: Answer): Response {
  if (body instanceof StreamedAnswer) return new Response(body.stream, { status, headers });
  if (body === null || typeof body === "string" || body instanceof Uint8Array) {
    return new Response(body, { status, headers });
  }
  throw new TypeError("a body of another platform");
}

/** Reads the body of a request within the size limit, the time limits and the memory for bodies. */
import type { BodyCollector } from "../../protocol/body-collector.ts";
import { BODY_SILENCE_MILLISECONDS, bodyTooSlow, NO_MEMORY_RETRY_SECONDS } from "../../protocol/body-collector.ts";
import { type Problem, problem, renderQueueFull } from "../../rules/problem.ts";
import { MAX_BODY_MILLISECONDS, MAX_UPLOAD_MILLISECONDS } from "../../rules/render-time.ts";
import { WALL_CLOCK, type WallClock } from "../clock.ts";
import type { BodyReservation } from "./body-memory.ts";
import { FairLimit } from "./fair-limit.ts";

/** In one isolate. A body that never comes takes 60 KB (2026-11-24), which no other limit counts. */
const MAX_UPLOADS = 1024;

const FIRST_READ_BYTES = 4 * 1024;
/** workerd's default reader returns 4 KiB at once: with its timers, 1 MiB took five times as long (2026-11-21). */
const READ_BYTES = 64 * 1024;

/** How much longer than its deadlines a request may keep what it holds, to allow for delays in workerd. */
const SLACK_MILLISECONDS = 10_000;

export function makeUploadLimit(timeoutSeconds: number, clock?: WallClock): FairLimit {
  return new FairLimit(MAX_UPLOADS, timeoutSeconds * 1000 + SLACK_MILLISECONDS, clock);
}

/** How long a render can take until an answer begins. */
export function longestRenderMilliseconds(bodyTimeoutSeconds: number, backendTimeoutSeconds: number): number {
  const seconds = bodyTimeoutSeconds + backendTimeoutSeconds;
  return seconds * 1000 + MAX_UPLOAD_MILLISECONDS + MAX_BODY_MILLISECONDS + SLACK_MILLISECONDS;
}

/** If the result is a problem, the rest of the body is not read. The stream stays locked if the client is gone. */
export async function readBody(
  { body }: Request,
  collector: BodyCollector,
  reservation: BodyReservation,
  timeoutSeconds: number,
  clock: WallClock,
): Promise<Problem | null> {
  if (body === null) return null;
  const reader = new BodyReader(body, clock, collector.declaredSize ?? FIRST_READ_BYTES);
  const deadline = clock.now() + timeoutSeconds * 1000;
  let refusal: Problem | null = null;
  while (refusal === null && !collector.isComplete) {
    const chunk = await reader.next(Math.min(BODY_SILENCE_MILLISECONDS, deadline - clock.now()));
    if (chunk === "late") return bodyTooSlow();
    if (chunk === "broken") return problem("invalid_request", "The body did not arrive completely.", {});
    if (chunk === "end") break;
    const bytes = collector.capacityWith(chunk.length);
    const isRoom = reservation.growAtOnce(bytes) || (await reservation.growTo(bytes));
    refusal = isRoom ? collector.add(chunk) : noMemory(reservation.isOverShare(bytes));
  }
  reader.release();
  return refusal;
}

function noMemory(isOverShare: boolean): Problem {
  return renderQueueFull(isOverShare ? "edge_memory_share" : "edge_memory", NO_MEMORY_RETRY_SECONDS);
}

/** A read that waits holds the memory that it reads into, so that is small until a client has filled it once. */
export class BodyReader {
  readonly #reader: ReadableStreamBYOBReader;
  readonly #clock: WallClock;
  #memory: ArrayBuffer | null = null;
  /** How much memory the next read gets, if it gets new one. */
  #bytes: number;

  /** @param expectedBytes how long the body is, if that is known */
  constructor(body: ReadableStream<Uint8Array>, clock = WALL_CLOCK, expectedBytes = FIRST_READ_BYTES) {
    this.#reader = body.getReader({ mode: "byob" });
    this.#clock = clock;
    this.#bytes = Math.max(1, Math.min(expectedBytes, FIRST_READ_BYTES));
  }

  /** The chunk is valid until the next call. After "late" and "broken" the stream stays locked: nothing discards it. */
  async next(timeBudgetMilliseconds: number): Promise<Uint8Array | "end" | "late" | "broken"> {
    if (timeBudgetMilliseconds <= 0) return "late";
    const { promise, resolve } = Promise.withResolvers<Uint8Array<ArrayBuffer> | "end" | "late" | "broken">();
    const cancel = this.#clock.after(timeBudgetMilliseconds, () => resolve("late"));
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
    this.#memory = isFull && buffer.byteLength < READ_BYTES ? null : buffer;
    this.#bytes = READ_BYTES;
    return value;
  }

  /** Unlocks the stream, so that the rest of the body can be discarded. */
  release(): void {
    this.#reader.releaseLock();
  }
}

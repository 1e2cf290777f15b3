/**
 * Reading a request's body: within its limit, its time, and the memory that there is for bodies.
 */

import { BodyCollector, type RequestHead } from "../rules/http/request-head.ts";
import type { Limits } from "../rules/limits.ts";
import { type Problem, problem } from "../rules/problem.ts";
import { RETRY_AFTER_SECONDS, type Reservation } from "./body-memory.ts";
import { readInTime } from "./read-in-time.ts";

/** A client that sends nothing for so long is taken for gone. */
const SILENCE_LIMIT_MILLISECONDS = 10_000;
/**
 * Read at once at most. By itself workerd hands out pieces of 4 KiB, each with a timer of its own: a request of 1 MiB took six
 * times as long.
 */
export const PIECE_BYTES = 64 * 1024;

export type BodyReading =
  | { readonly kind: "body"; readonly collector: BodyCollector }
  | { readonly kind: "refused"; readonly problem: Problem };

export interface ReadingBounds {
  readonly limits: Limits;
  readonly timeoutSeconds: number;
  readonly reservation: Reservation;
}

/**
 * Reads a body into a collector. Of one that is refused, nothing is kept; what is left of it stays unread, and the stream
 * stays locked where nothing more is to be expected of it.
 */
export async function readBody(request: Request, head: RequestHead, bounds: ReadingBounds): Promise<BodyReading> {
  const collector = new BodyCollector(head, bounds.limits);
  const refusal = request.body === null ? null : await fill(collector, request.body, bounds);
  if (refusal === null) return { kind: "body", collector };
  collector.free();
  bounds.reservation.release();
  return { kind: "refused", problem: refusal };
}

async function fill(
  collector: BodyCollector,
  body: ReadableStream<Uint8Array>,
  { timeoutSeconds, reservation }: ReadingBounds,
): Promise<Problem | null> {
  const reader = body.getReader({ mode: "byob" });
  let piece = new Uint8Array(PIECE_BYTES);
  const deadline = Date.now() + timeoutSeconds * 1000;
  for (;;) {
    const patience = Math.min(SILENCE_LIMIT_MILLISECONDS, deadline - Date.now());
    const reading =
      patience <= 0 ? "late" : await readInTime(reader.read(piece), patience).catch(() => "broken" as const);
    if (reading === "late") return problem("invalid_request", "The body did not arrive in time.", {});
    if (reading === "broken") return problem("invalid_request", "The body did not arrive whole.", {});
    if (reading.done) break;
    const hasRoom = await reservation.growTo(collector.capacityWith(reading.value.length));
    const refusal = hasRoom ? collector.add(reading.value) : noRoom();
    // The same memory for the next piece: reading has taken it from the array that was.
    piece = new Uint8Array(reading.value.buffer);
    if (refusal === null) continue;
    reader.releaseLock();
    return refusal;
  }
  reader.releaseLock();
  return null;
}

function noRoom(): Problem {
  const detail = `No room for the body became free in time. Try again in ${RETRY_AFTER_SECONDS} seconds.`;
  return problem("render_queue_full", detail, { retry_after: RETRY_AFTER_SECONDS });
}

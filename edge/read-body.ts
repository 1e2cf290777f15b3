/**
 * Reads the body of a request within the size limit, the time limits and the memory for bodies.
 */

import { BodyCollector } from "../rules/http/body-collector.ts";
import type { RequestHead } from "../rules/http/request-head.ts";
import type { Limits } from "../rules/limits.ts";
import { type Problem, problem, renderQueueFull } from "../rules/problem.ts";
import { RETRY_AFTER_SECONDS, type Reservation } from "./body-memory.ts";
import { readInTime } from "./read-in-time.ts";

/** A client that sends nothing for this long is considered gone. */
const SILENCE_LIMIT_MILLISECONDS = 10_000;
/**
 * The most that one read returns. workerd's default reader returns chunks of 4 KiB, each of which needs a timer: with it, a
 * body of 1 MiB took five times as long.
 */
export const CHUNK_BYTES = 64 * 1024;

export type BodyReading =
  | { readonly kind: "body"; readonly collector: BodyCollector }
  | { readonly kind: "problem"; readonly problem: Problem };

export interface ReadingBounds {
  readonly limits: Limits;
  readonly timeoutSeconds: number;
  readonly reservation: Reservation;
}

/**
 * Reads a body into a collector. If the result is a problem, the memory has been released and the rest of the body is not
 * read. The stream stays locked if the client is considered gone.
 */
export async function readBody(request: Request, head: RequestHead, bounds: ReadingBounds): Promise<BodyReading> {
  const collector = new BodyCollector(head, bounds.limits);
  const problem = request.body === null ? null : await fill(collector, request.body, bounds);
  if (problem === null) return { kind: "body", collector };
  collector.free();
  bounds.reservation.release();
  return { kind: "problem", problem };
}

async function fill(
  collector: BodyCollector,
  body: ReadableStream<Uint8Array>,
  { timeoutSeconds, reservation }: ReadingBounds,
): Promise<Problem | null> {
  const reader = body.getReader({ mode: "byob" });
  let chunk = new Uint8Array(CHUNK_BYTES);
  const deadline = Date.now() + timeoutSeconds * 1000;
  for (;;) {
    const patience = Math.min(SILENCE_LIMIT_MILLISECONDS, deadline - Date.now());
    const reading =
      patience <= 0 ? "late" : await readInTime(reader.read(chunk), patience).catch(() => "broken" as const);
    if (reading === "late") return problem("invalid_request", "The body did not arrive in time.", {});
    if (reading === "broken") return problem("invalid_request", "The body did not arrive completely.", {});
    if (reading.done) break;
    const hasMemory = await reservation.growTo(collector.capacityWith(reading.value.length));
    const rejection = hasMemory ? collector.add(reading.value) : memoryExhausted();
    // The read detached `chunk`; its memory is reused for the next one.
    chunk = new Uint8Array(reading.value.buffer);
    if (rejection === null) continue;
    reader.releaseLock();
    return rejection;
  }
  reader.releaseLock();
  return null;
}

function memoryExhausted(): Problem {
  return renderQueueFull("No room for the body became free in time.", RETRY_AFTER_SECONDS);
}

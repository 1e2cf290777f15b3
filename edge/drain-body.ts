/**
 * What is left of a body when its answer is a problem.
 *
 * A connection that is closed while its client still writes is reset, and a simple client, which writes its whole body
 * before it reads, never sees the answer. So some of the rest is read and thrown away first: a bounded amount, for a
 * bounded time. Then the answer is sent and the runtime closes the connection.
 */
import { PIECE_BYTES } from "./read-body.ts";
import { readInTime } from "./read-in-time.ts";

/** More than a body of the default limit and half of another. */
const MAX_DRAINED_BYTES = 32 * 1024 * 1024;
const MAX_DRAIN_MILLISECONDS = 5000;
/** A client that sends nothing for so long waits for its answer. */
const SILENCE_MILLISECONDS = 500;

/** Reads and forgets what is left of a request's body, within bounds. */
export async function drainBody({ body, headers }: Request): Promise<void> {
  // A client that sent `Expect: 100-continue` (RFC 9110 section 10.1.1) has not sent its body yet. A stream that is locked
  // has been given up by its reader.
  if (body === null || body.locked || headers.has("Expect")) return;
  const reader = body.getReader({ mode: "byob" });
  let piece = new Uint8Array(PIECE_BYTES);
  const deadline = Date.now() + MAX_DRAIN_MILLISECONDS;
  for (let drainedBytes = 0; drainedBytes < MAX_DRAINED_BYTES; ) {
    const patience = Math.min(SILENCE_MILLISECONDS, deadline - Date.now());
    const reading =
      patience <= 0 ? "late" : await readInTime(reader.read(piece), patience).catch(() => "late" as const);
    if (reading === "late" || reading.done) return;
    drainedBytes += reading.value.length;
    piece = new Uint8Array(reading.value.buffer);
  }
}

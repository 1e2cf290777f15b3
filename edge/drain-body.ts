/**
 * Reads and discards the rest of a body before a problem is sent.
 *
 * A connection that is closed while the client still writes is reset, and a simple client, which writes its whole body
 * before it reads, never sees the response. So a bounded amount of the rest is read first, for a bounded time. Then the
 * response is sent, and the runtime closes the connection.
 */
import { CHUNK_BYTES } from "./read-body.ts";
import { readInTime } from "./read-in-time.ts";

/** One and a half times the default limit of a body. */
const MAX_DRAINED_BYTES = 32 * 1024 * 1024;
const MAX_DRAIN_MILLISECONDS = 5000;
/** A client that sends nothing for this long is waiting for the response. */
const SILENCE_MILLISECONDS = 500;

/** Discards the rest of a request's body, within the bounds above. */
export async function drainBody({ body, headers }: Request): Promise<void> {
  // A client that sent `Expect: 100-continue` (RFC 9110 section 10.1.1) has not sent its body yet. A stream stays locked
  // when `readBody` considers its client gone.
  if (body === null || body.locked || headers.has("Expect")) return;
  const reader = body.getReader({ mode: "byob" });
  let chunk = new Uint8Array(CHUNK_BYTES);
  const deadline = Date.now() + MAX_DRAIN_MILLISECONDS;
  for (let drainedBytes = 0; drainedBytes < MAX_DRAINED_BYTES; ) {
    const patience = Math.min(SILENCE_MILLISECONDS, deadline - Date.now());
    const reading =
      patience <= 0 ? "late" : await readInTime(reader.read(chunk), patience).catch(() => "late" as const);
    if (reading === "late" || reading.done) return;
    drainedBytes += reading.value.length;
    chunk = new Uint8Array(reading.value.buffer);
  }
}

/**
 * Reads and discards the rest of a body before a problem is sent.
 *
 * A connection that is closed while the client still writes is reset, and a simple client, which writes its whole body
 * before it reads, never sees the response. So a bounded amount of the rest is read first, for a bounded time, by a
 * bounded number of requests. All others get their response at once. Then the runtime closes the connection.
 */
import { FairLimit } from "../body/fair-limit.ts";
import { BodyReader } from "../body/read-body.ts";
import type { EdgeContext } from "../context.ts";
import { loggedClientSignal } from "./request-log.ts";

/** One and a half times the default limit of a body. */
const MAX_DRAINED_BYTES = 32 * 1024 * 1024;
const MAX_DRAIN_MILLISECONDS = 5000;
/** A client that sends nothing for this long is waiting for the response. */
const SILENCE_MILLISECONDS = 500;

/** How many bodies an isolate drains at the same time. */
const MAX_DRAINS = 64;
/** Requests without a valid token share as one caller. No caller has this name. */
const NOBODY = "";

/** Does not depend on settings: bodies are drained even while these are not valid. */
const drains = new FairLimit(MAX_DRAINS, 2 * MAX_DRAIN_MILLISECONDS);

/** Discards the rest of a request's body, within the bounds above. */
export async function drainBody(context: EdgeContext): Promise<void> {
  const { body, headers } = context.req.raw;
  // A client that sent `Expect: 100-continue` (RFC 9110 section 10.1.1) has not sent its body yet. A stream stays
  // locked when `readBody` considers its client gone.
  if (body === null || body.locked || headers.has("Expect")) return;
  const permit = drains.acquire(context.var.caller ?? NOBODY);
  if (permit === null) return;
  loggedClientSignal(context).addEventListener("abort", permit.release);
  await discard(new BodyReader(body));
  permit.release();
}

async function discard(reader: BodyReader): Promise<void> {
  const deadline = Date.now() + MAX_DRAIN_MILLISECONDS;
  for (let drainedBytes = 0; drainedBytes < MAX_DRAINED_BYTES; ) {
    const chunk = await reader.next(Math.min(SILENCE_MILLISECONDS, deadline - Date.now()));
    if (typeof chunk === "string") return;
    drainedBytes += chunk.length;
  }
}

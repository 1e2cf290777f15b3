/** Discards the rest of a body before a problem is sent: see `MAX_DISCARDED_BYTES`. */
import {
  DISCARD_SILENCE_MILLISECONDS,
  MAX_DISCARD_MILLISECONDS,
  MAX_DISCARDED_BYTES,
} from "../../protocol/body-collector.ts";
import { FairLimit } from "../body/fair-limit.ts";
import { BodyReader } from "../body/read-body.ts";
import type { EdgeContext } from "../context.ts";
import { loggedClientSignal } from "./request-log.ts";

/** How many bodies an isolate discards at the same time. Other requests are answered at once. */
const MAX_DISCARDS = 64;
/** Requests without a valid token share as one caller. No caller has this name. */
const NOBODY = "";

/** Does not depend on settings: bodies are discarded even while these are not valid. */
const discards = new FairLimit(MAX_DISCARDS, 2 * MAX_DISCARD_MILLISECONDS);

export async function discardBody(context: EdgeContext): Promise<void> {
  const { body, headers } = context.req.raw;
  // A client that sent `Expect: 100-continue` (RFC 9110 section 10.1.1) has not sent its body yet. A stream stays
  // locked when `readBody` considers its client gone.
  if (body === null || body.locked || headers.has("Expect")) return;
  const permit = discards.acquire(context.var.caller ?? NOBODY);
  if (permit === null) return;
  loggedClientSignal(context).addEventListener("abort", permit.release);
  await readToEnd(new BodyReader(body));
  permit.release();
}

async function readToEnd(reader: BodyReader): Promise<void> {
  const deadline = Date.now() + MAX_DISCARD_MILLISECONDS;
  for (let discardedBytes = 0; discardedBytes < MAX_DISCARDED_BYTES; ) {
    const chunk = await reader.next(Math.min(DISCARD_SILENCE_MILLISECONDS, deadline - Date.now()));
    if (typeof chunk === "string") return;
    discardedBytes += chunk.length;
  }
}

/**
 * `GET /v1/constraints`: bytes made once an isolate, with a strong validator, so that a look-up costs next to nothing.
 */
import { constraintsDocument } from "../rules/constraints.ts";
import { type EdgeContext, settingsOf } from "./context.ts";
import type { EdgeSettings } from "./settings.ts";

interface ConstraintsAnswer {
  /** Bytes: a string would be encoded again for every request. */
  readonly body: Uint8Array;
  readonly etag: string;
}

const answersBySettings = new WeakMap<EdgeSettings, Promise<ConstraintsAnswer>>();

export async function answerConstraints(context: EdgeContext): Promise<Response> {
  const settings = settingsOf(context);
  let answer = answersBySettings.get(settings);
  if (answer === undefined) {
    answer = makeAnswer(settings);
    answersBySettings.set(settings, answer);
  }
  const { body, etag } = await answer;
  // The answer depends on a token: it may be kept by its caller, and by nobody in between.
  const headers = { ETag: etag, "Cache-Control": "private, no-cache" };
  if (matches(context.req.header("If-None-Match"), etag)) return new Response(null, { status: 304, headers });
  return new Response(body, { headers: { ...headers, "Content-Type": "application/json" } });
}

async function makeAnswer({ limits }: EdgeSettings): Promise<ConstraintsAnswer> {
  const body = new TextEncoder().encode(JSON.stringify(constraintsDocument(limits)));
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", body));
  return { body, etag: `"${digest.toHex().slice(0, 32)}"` };
}

/** Whether an `If-None-Match` field names the entity tag: by weak comparison, as RFC 9110 section 13.1.2 has it. */
function matches(ifNoneMatch: string | undefined, etag: string): boolean {
  if (ifNoneMatch === undefined) return false;
  return ifNoneMatch.split(",").some((candidate) => ["*", etag, `W/${etag}`].includes(candidate.trim()));
}

/**
 * `GET /v1/constraints`: the document is built once per isolate, with a strong entity tag, so that a request costs next to
 * nothing. hono's `etag` in front of this handler compares the tag with `If-None-Match` and answers 304.
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
  return new Response(body, {
    headers: {
      ETag: etag,
      // Only callers with a token get it: a caller may keep it, a cache between may not.
      "Cache-Control": "private, no-cache",
      "Content-Type": "application/json",
    },
  });
}

async function makeAnswer({ limits }: EdgeSettings): Promise<ConstraintsAnswer> {
  const body = new TextEncoder().encode(JSON.stringify(constraintsDocument(limits)));
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", body));
  return { body, etag: `"${digest.toHex().slice(0, 32)}"` };
}

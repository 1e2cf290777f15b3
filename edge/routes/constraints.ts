/**
 * `GET /v1/constraints`: the document is built once per isolate, so a request costs next to nothing.
 */
import { constraintsDocument } from "../../rules/constraints.ts";
import { type EdgeContext, settingsOf } from "../context.ts";
import type { EdgeSettings } from "../settings.ts";
import { type TaggedJson, tagJson } from "./tagged-json.ts";

const answersBySettings = new WeakMap<EdgeSettings, Promise<TaggedJson>>();

export async function answerConstraints(context: EdgeContext): Promise<Response> {
  const settings = settingsOf(context);
  let answer = answersBySettings.get(settings);
  if (answer === undefined) {
    answer = tagJson(constraintsDocument(settings.limits));
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

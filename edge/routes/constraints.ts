/**
 * `GET /v1/constraints`: the document is built once per isolate, so a request costs next to nothing.
 */
import { constraintsDocument } from "../../rules/constraints.ts";
import { deploymentOf, type EdgeContext } from "../context.ts";
import { tagJson } from "../tagged-json.ts";

export async function answerConstraints(context: EdgeContext): Promise<Response> {
  const deployment = deploymentOf(context);
  deployment.constraints ??= tagJson(constraintsDocument(deployment.settings.limits));
  const { body, etag } = await deployment.constraints;
  return new Response(body, {
    headers: {
      ETag: etag,
      // Only callers with a token get it: a caller may keep it, a cache between may not.
      "Cache-Control": "private, no-cache",
      "Content-Type": "application/json",
    },
  });
}

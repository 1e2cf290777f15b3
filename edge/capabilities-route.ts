/**
 * `GET /capabilities.json`: what every backend of the deployment has installed. hono's `etag` in front of this handler answers
 * 304.
 */
import { serviceUnavailable } from "../rules/problem.ts";
import { deploymentOf, type EdgeContext } from "./context.ts";
import { problemResponse } from "./problem-response.ts";

export async function answerCapabilities(context: EdgeContext): Promise<Response> {
  const answer = await deploymentOf(context).originCapabilities.answer(context.req.raw.signal);
  // No backend has answered lately: an empty list would say that there are no fonts.
  if (answer === null) return problemResponse(context, serviceUnavailable());
  return new Response(answer.body, {
    headers: {
      ETag: answer.etag,
      // Fonts and packages change with a deployment only. Everybody gets the same.
      "Cache-Control": "public, max-age=60",
      "Content-Type": "application/json",
    },
  });
}

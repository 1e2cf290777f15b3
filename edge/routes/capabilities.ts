/**
 * `GET /capabilities.json`: the fonts, packages and formats that every backend of the deployment has.
 */
import { serviceUnavailable } from "../../rules/problem.ts";
import { deploymentOf, type EdgeContext } from "../context.ts";
import { loggedClientSignal } from "../log/request-log.ts";
import { problemResponse } from "../problem-response.ts";

export async function answerCapabilities(context: EdgeContext): Promise<Response> {
  const answer = await deploymentOf(context).commonCapabilities.answer(() => loggedClientSignal(context));
  // No backend has answered lately. An empty list would claim that there are no fonts.
  if (answer === null) return problemResponse(context, serviceUnavailable("no_backend_answered"));
  return new Response(answer.body, {
    headers: {
      ETag: answer.etag,
      // Fonts and packages change only with a deployment, and every caller gets the same document.
      "Cache-Control": "public, max-age=60",
      "Content-Type": "application/json",
    },
  });
}

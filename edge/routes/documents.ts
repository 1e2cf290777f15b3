/** The documents that the edge makes of its settings and of what its backends say. */
import { constraintsDocument } from "../../rules/constraints.ts";
import { serviceUnavailable } from "../../rules/problem.ts";
import { deploymentOf, type EdgeContext, renewBackends } from "../context.ts";
import { problemResponse } from "../problem-response.ts";
import { loggedClientSignal } from "../requests/request-log.ts";
import { tagJson } from "../tagged-json.ts";

/** `GET /v1/constraints`: the document is built once per isolate, so a request costs next to nothing. */
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

/** `GET /capabilities.json`: the fonts, packages and formats that every backend of the deployment has. */
export async function answerCapabilities(context: EdgeContext): Promise<Response> {
  await renewBackends(context);
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

/**
 * `GET /metrics`: the metrics of every backend in one exposition, distinguished by the label `origin`. A backend that
 * is down does not fail the scrape: it shows as `service_origin_up 0`.
 */
export async function answerMetrics(context: EdgeContext): Promise<Response> {
  await renewBackends(context);
  const text = await deploymentOf(context).metrics.get(() => loggedClientSignal(context));
  return new Response(text, {
    headers: { "Content-Type": "text/plain; version=0.0.4; charset=utf-8", "Cache-Control": "no-store" },
  });
}

/** The documents that the edge makes of its settings and of what its backends say. */
import { constraintsDocument } from "../../rules/constraints.ts";
import { serviceUnavailable } from "../../rules/problem.ts";
import { deploymentOf, type EdgeContext, renewBackends, respond } from "../context.ts";
import { problemResponse } from "../problem-response.ts";
import { watchClient } from "../requests/request-log.ts";

/** Half of a SHA-256 is enough to tell documents apart. */
const TAG_HEX_DIGITS = 32;

interface TaggedJson {
  /** Bytes: a string would be encoded again for every request. */
  readonly body: Uint8Array;
  readonly etag: string;
}

const tagged = new WeakMap<object, TaggedJson>();

/**
 * Answers with a document that many requests share: encoded once, with a strong entity tag, the same in every isolate,
 * by which hono's `etag` answers 304.
 */
async function answerJson(context: EdgeContext, document: object, cacheControl: string): Promise<Response> {
  const { body, etag } = tagged.get(document) ?? (await tagJson(document));
  return respond(context, body, {
    headers: { ETag: etag, "Cache-Control": cacheControl, "Content-Type": "application/json" },
  });
}

async function tagJson(document: object): Promise<TaggedJson> {
  const body = new TextEncoder().encode(JSON.stringify(document));
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", body));
  const known = { body, etag: `"${digest.toHex().slice(0, TAG_HEX_DIGITS)}"` };
  tagged.set(document, known);
  return known;
}

/** `GET /v1/constraints`. Only callers with a token get it: a caller may keep it, a cache between may not. */
export function answerConstraints(context: EdgeContext): Promise<Response> {
  const deployment = deploymentOf(context);
  deployment.constraints ??= constraintsDocument(deployment.settings.limits);
  return answerJson(context, deployment.constraints, "private, no-cache");
}

export async function answerCapabilities(context: EdgeContext): Promise<Response> {
  await renewBackends(context);
  const document = await deploymentOf(context).commonCapabilities.get(() => watchClient(context));
  // No backend has answered lately. An empty list would claim that there are no fonts.
  if (document === null) return problemResponse(context, serviceUnavailable("no_backend_answered"));
  // Fonts and packages change only with a deployment, and every caller gets the same document.
  return answerJson(context, document, "public, max-age=60");
}

/** `GET /metrics`. A backend that is down does not fail the scrape: it shows as `service_origin_up 0`. */
export async function answerMetrics(context: EdgeContext): Promise<Response> {
  await renewBackends(context);
  const text = await deploymentOf(context).metrics.get(() => watchClient(context));
  return new Response(text, {
    headers: { "Content-Type": "text/plain; version=0.0.4; charset=utf-8", "Cache-Control": "no-store" },
  });
}

/** The documents that the edge makes of its settings and of what its backends say. */
import { namesEntityTag } from "../../protocol/headers.ts";
import { constraintsDocument } from "../../rules/constraints.ts";
import { notFound, serviceUnavailable } from "../../rules/problem.ts";
import { deploymentOf, type EdgeContext, settingsOf } from "../context.ts";
import { formatMetrics } from "../gathered/metrics.ts";
import type { WaitingRequest } from "../gathered/shared-answer.ts";
import type { Answer } from "../platform/platform.ts";
import { problemAnswer } from "../problem-answer.ts";
import { whenClientLeaves } from "../requests/request-log.ts";

/** Half of a SHA-256 is enough to tell documents apart. */
const TAG_HEX_DIGITS = 32;

interface TaggedJson {
  /** Bytes: a string would be encoded again for every request. */
  readonly body: Uint8Array;
  readonly etag: string;
}

const tagged = new WeakMap<object, TaggedJson>();

/**
 * Answers with a document that many requests share: encoded once, with a strong entity tag, the same at every edge, or
 * with 304 to a client that has it.
 */
async function answerJson({ request }: EdgeContext, document: object, cacheControl: string): Promise<Answer> {
  const { body, etag } = tagged.get(document) ?? (await tagJson(document));
  const headers = { ETag: etag, "Cache-Control": cacheControl };
  if (namesEntityTag(request.headers.get("If-None-Match"), etag)) return { status: 304, headers, body: null };
  return { status: 200, headers: { ...headers, "Content-Type": "application/json" }, body };
}

async function tagJson(document: object): Promise<TaggedJson> {
  const body = new TextEncoder().encode(JSON.stringify(document));
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", body));
  const known = { body, etag: `"${digest.toHex().slice(0, TAG_HEX_DIGITS)}"` };
  tagged.set(document, known);
  return known;
}

function waitingRequest(context: EdgeContext): WaitingRequest {
  return {
    whenClientLeaves: (callback) => void whenClientLeaves(context, callback),
    inBackground: (work) => context.request.inBackground(work),
  };
}

/** `GET /v1/constraints`. Only callers with a token get it: a caller may keep it, a cache between may not. */
export function answerConstraints(context: EdgeContext): Promise<Answer> {
  const deployment = deploymentOf(context);
  deployment.constraints ??= constraintsDocument(deployment.settings.limits);
  return answerJson(context, deployment.constraints, "private, no-cache");
}

export async function answerCapabilities(context: EdgeContext): Promise<Answer> {
  const { pool, commonCapabilities } = deploymentOf(context);
  await pool.ready();
  const document = await commonCapabilities.get(waitingRequest(context));
  // No backend has answered lately. An empty list would claim that there are no fonts.
  if (document === null) return problemAnswer(context, serviceUnavailable("no_backend_answered"));
  // Fonts and packages change only with a deployment, and every caller gets the same document.
  return answerJson(context, document, "public, max-age=60");
}

/** `GET /metrics`. A backend that is down does not fail the scrape: it shows as `service_origin_up 0`. */
export async function answerMetrics(context: EdgeContext): Promise<Answer> {
  const { pool, metrics, counts } = deploymentOf(context);
  await pool.ready();
  const gathered = await metrics.get(waitingRequest(context));
  const text = formatMetrics(gathered, context.platform.isWholeEdge ? counts : null);
  const headers = { "Content-Type": "text/plain; version=0.0.4; charset=utf-8", "Cache-Control": "no-store" };
  return { status: 200, headers, body: text };
}

/** RFC 9116, section 2.5.5, recommends less than a year. It is written anew each day, as long as the deployment runs. */
const VALID_DAYS = 90;
const DAY_MILLISECONDS = 86_400_000;

/** `GET /.well-known/security.txt` (RFC 9116): where to report a flaw of this deployment, which only its operator knows. */
export function answerSecurityText(context: EdgeContext): Answer {
  const { securityContacts } = settingsOf(context);
  if (securityContacts.length === 0) return problemAnswer(context, notFound());
  const today = Math.floor(Date.now() / DAY_MILLISECONDS);
  const expires = new Date((today + VALID_DAYS) * DAY_MILLISECONDS).toISOString().replace(".000", "");
  const lines = [...securityContacts.map((contact) => `Contact: ${contact}`), `Expires: ${expires}`];
  return { status: 200, headers: { "Content-Type": "text/plain; charset=utf-8" }, body: `${lines.join("\n")}\n` };
}

/** The origins of the web that may use the service: its own, by URL and host name, and those of other pages (CORS). */
import { API_TOKEN_HEADER, REQUEST_ID_HEADER } from "../../protocol/headers.ts";
import { problem } from "../../rules/problem.ts";
import { type EdgeContext, type RequestOrigin, servedMethods, settingsOf } from "../context.ts";
import type { Answer } from "../platform/platform.ts";
import { problemAnswer } from "../problem-answer.ts";
import type { CorsOrigins } from "../settings.ts";

const INVALID = "The request has no valid http or https URL: see its Host, and X-Forwarded-Proto if a proxy sets it.";

/** Whatever the URL standard takes for the end of a host, or for a user name in front of it. */
const NOT_IN_A_HOST = /[/?#@\\\s]/;

/** A name of 253 bytes (RFC 1035, section 2.3.4), a colon and a port. A longer one would be passed on to backends. */
const MAX_HOST_LENGTH = 253 + 6;

const ORIGIN = /^https?:\/\/[^/]*/;
/** As it is written: the router also takes it percent-encoded. */
const HEALTH = /^https?:\/\/[^/]*\/health(?:[?#]|$)/;

/** Of the request before: nearly all are sent to the same one, and to parse a URL takes as long as to validate a body. */
let known: { readonly text: string; readonly origin: RequestOrigin } | null = null;

/** Where a request is sent to, by its URL; null if that is not valid. What comes after the host cannot make it so. */
function originOf(url: string): RequestOrigin | null {
  const text = ORIGIN.exec(url)?.[0] ?? "";
  if (known?.text === text) return known.origin;
  const parsed = URL.parse(text);
  if (parsed === null || parsed.host.length > MAX_HOST_LENGTH) return null;
  const { protocol, host, hostname } = parsed;
  known = { text, origin: { protocol, host, hostname } };
  return known.origin;
}

const OTHER_HOST =
  "The service is not served under the host name of this request. If it should be, its operator adds the name to SERVICE_HOSTS.";

/**
 * A page of the web can have its own name resolved to an address of the machine that shows it (DNS rebinding), and is
 * then of one origin with whatever answers there. Probes of Kubernetes and balancers ask for `/health` by address.
 */
export function requireServedUrl(context: EdgeContext): Answer | null {
  const { url, headers } = context.request;
  // workerd only concatenates the URL, of scheme (`X-Forwarded-Proto`), `Host` and path: a slash in the host would turn
  // the requested path into a query.
  const origin = NOT_IN_A_HOST.test(headers.get("Host") ?? "") ? null : originOf(url);
  if (origin === null) return problemAnswer(context, problem("invalid_request", INVALID, {}));
  context.origin = origin;
  const { hosts } = settingsOf(context);
  if (hosts.length === 0 || hosts.includes(origin.hostname) || HEALTH.test(url)) return null;
  return problemAnswer(context, problem("forbidden", OTHER_HOST, {}));
}

const REQUEST_HEADERS = [API_TOKEN_HEADER, "Content-Type", "If-None-Match", "traceparent", "tracestate"];

const RESPONSE_HEADERS = [REQUEST_ID_HEADER, "Retry-After", "Content-Disposition", "ETag", "Server-Timing", "Allow"];

/** The longest that Chromium keeps the answer to a preflight request. */
const PREFLIGHT_MAX_AGE_SECONDS = 2 * 60 * 60;

/**
 * Pages of other origins may use the service only if `SERVICE_CORS_ORIGINS` names them, never with a browser's
 * credentials. Of the OPTIONS of a path that is served, only real preflight requests are answered here.
 */
export async function crossOriginAnswer(
  context: EdgeContext,
  next: (context: EdgeContext) => Promise<Answer>,
): Promise<Answer> {
  const { corsOrigins } = settingsOf(context);
  if (corsOrigins.length === 0) return next(context);
  const { method, headers } = context.request;
  const allowed = method === "OPTIONS" && headers.has("Access-Control-Request-Method") ? servedMethods(context) : null;
  const answer = allowed === null ? await next(context) : preflightAnswer(allowed);
  return { ...answer, headers: { ...answer.headers, ...originHeaders(corsOrigins, headers.get("Origin"), answer) } };
}

function preflightAnswer(allowed: string): Answer {
  const headers = {
    Allow: allowed,
    "Access-Control-Allow-Methods": allowed,
    "Access-Control-Allow-Headers": REQUEST_HEADERS.join(","),
    "Access-Control-Max-Age": String(PREFLIGHT_MAX_AGE_SECONDS),
  };
  return { status: 204, headers, body: null };
}

/** An answer that depends on the origin says so even if that is not allowed: caches must not give it to another. */
function originHeaders(allowed: CorsOrigins, origin: string | null, answer: Answer): Readonly<Record<string, string>> {
  const exposed = { "Access-Control-Expose-Headers": RESPONSE_HEADERS.join(",") };
  if (typeof allowed === "string") return { "Access-Control-Allow-Origin": allowed, ...exposed };
  const [varying = "Vary", varies = ""] = Object.entries(answer.headers).find(([name]) => /^vary$/i.test(name)) ?? [];
  return {
    [varying]: varies === "" ? "Origin" : `${varies}, Origin`,
    ...(origin !== null && allowed.includes(origin) && { "Access-Control-Allow-Origin": origin }),
    ...exposed,
  };
}

/** The origins of the web that may use the service: its own, by URL and host name, and those of other pages (CORS). */
import { cors } from "hono/cors";
import { createMiddleware } from "hono/factory";
import { API_TOKEN_HEADER, REQUEST_ID_HEADER } from "../../protocol/headers.ts";
import { problem } from "../../rules/problem.ts";
import { type EdgeBindings, type RequestOrigin, servedMethods, settingsOf } from "../context.ts";
import { problemResponse } from "../problem-response.ts";

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
export const requireServedUrl = createMiddleware<EdgeBindings>(async (context, next) => {
  const { url, headers } = context.req.raw;
  // workerd only concatenates the URL, of scheme (`X-Forwarded-Proto`), `Host` and path: a slash in the host would turn
  // the requested path into a query.
  const origin = NOT_IN_A_HOST.test(headers.get("Host") ?? "") ? null : originOf(url);
  if (origin === null) return problemResponse(context, problem("invalid_request", INVALID, {}));
  context.set("origin", origin);
  const { hosts } = settingsOf(context);
  if (hosts.length === 0 || hosts.includes(origin.hostname) || HEALTH.test(url)) return next();
  return problemResponse(context, problem("forbidden", OTHER_HOST, {}));
});

const REQUEST_HEADERS = [API_TOKEN_HEADER, "Content-Type", "If-None-Match", "traceparent", "tracestate"];

const RESPONSE_HEADERS = [REQUEST_ID_HEADER, "Retry-After", "Content-Disposition", "ETag", "Server-Timing", "Allow"];

/** The longest that Chromium keeps the answer to a preflight request. */
const PREFLIGHT_MAX_AGE_SECONDS = 2 * 60 * 60;

export const CORS_HEADERS_OF_304 = ["Access-Control-Allow-Origin", "Access-Control-Expose-Headers"];

/**
 * Pages of other origins may use the service only if `SERVICE_CORS_ORIGINS` names them, never with a browser's
 * credentials. hono takes every OPTIONS for a preflight request, so it gets only real ones, for a path that is served.
 */
export const allowOtherOrigins = createMiddleware<EdgeBindings>(async (context, next) => {
  const { corsOrigins } = settingsOf(context);
  if (corsOrigins.length === 0) return next();
  if (context.req.method === "OPTIONS") {
    const allowed = servedMethods(context);
    if (allowed === null || context.req.header("Access-Control-Request-Method") === undefined) return next();
    context.res.headers.set("Allow", allowed);
  }
  const answerWithCors = cors({
    origin: typeof corsOrigins === "string" ? corsOrigins : [...corsOrigins],
    allowMethods: () => [servedMethods(context) ?? ""],
    allowHeaders: REQUEST_HEADERS,
    exposeHeaders: RESPONSE_HEADERS,
    maxAge: PREFLIGHT_MAX_AGE_SECONDS,
  });
  return answerWithCors(context, next);
});

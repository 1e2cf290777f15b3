/**
 * Validates the URL of a request, which workerd only concatenates of scheme (`X-Forwarded-Proto`), `Host` and path: a
 * slash in the host would turn the requested path into a query.
 */
import { createMiddleware } from "hono/factory";
import { problem } from "../../rules/problem.ts";
import { type EdgeBindings, settingsOf } from "../context.ts";
import { problemResponse } from "../problem-response.ts";

const INVALID = "The request has no valid http or https URL: see its Host, and X-Forwarded-Proto if a proxy sets it.";

/** Whatever the URL standard takes for the end of a host, or for a user name in front of it. */
const NOT_IN_A_HOST = /[/?#@\\\s]/;

/** A name of 253 bytes (RFC 1035, section 2.3.4), a colon and a port. A longer one would be passed on to backends. */
const MAX_HOST_LENGTH = 253 + 6;

const OTHER_HOST =
  "The service is not served under the host name of this request. If it should be, its operator adds the name to SERVICE_HOSTS.";

/**
 * A page of the web can have its own name resolved to an address of the machine that shows it (DNS rebinding), and is
 * then of one origin with whatever answers there. Probes of Kubernetes and balancers ask for `/health` by address.
 */
export const requireServedHost = createMiddleware<EdgeBindings>(async (context, next) => {
  const { hosts } = settingsOf(context);
  const { hostname, pathname } = new URL(context.req.raw.url);
  if (hosts.length === 0 || hosts.includes(hostname) || pathname === "/health") return next();
  return problemResponse(context, problem("forbidden", OTHER_HOST, {}));
});

export const requireUrl = createMiddleware<EdgeBindings>(async (context, next) => {
  const { url, headers } = context.req.raw;
  const isWeb = /^https?:\/\//.test(url) && !NOT_IN_A_HOST.test(headers.get("Host") ?? "");
  if (isWeb && URL.canParse(url) && new URL(url).host.length <= MAX_HOST_LENGTH) return next();
  return problemResponse(context, problem("invalid_request", INVALID, {}));
});

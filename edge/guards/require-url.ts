/**
 * Validates the URL of a request. workerd only concatenates it: scheme (`X-Forwarded-Proto` behind a proxy), `Host` and
 * path. A slash in the host would turn the requested path into a query.
 */
import { createMiddleware } from "hono/factory";
import { problem } from "../../rules/problem.ts";
import { type EdgeBindings, settingsOf } from "../context.ts";
import { problemResponse } from "../problem-response.ts";

const INVALID = "The request has no valid http or https URL: see its Host, and X-Forwarded-Proto if a proxy sets it.";

/** Whatever the URL standard takes for the end of a host, or for a user name in front of it. */
const NOT_IN_A_HOST = /[/?#@\\\s]/;

/**
 * A name has at most 253 bytes (RFC 1035, section 2.3.4), a port six with its colon. A longer one would be passed on to
 * backends.
 */
const MAX_HOST_LENGTH = 253 + 6;

const OTHER_HOST =
  "The service is not served under the host name of this request. If it should be, its operator adds the name to SERVICE_HOSTS.";

/**
 * Refuses a request for a host that the deployment does not name, if it names any. A page of the web can have its own
 * name resolved to an address of the machine that shows it (DNS rebinding), and is then of one origin with whatever
 * answers there. `/health` says nothing that is worth that, and the probes of Kubernetes and of balancers ask for it by
 * address.
 */
export const requireServedHost = createMiddleware<EdgeBindings>(async (context, next) => {
  const { hosts } = settingsOf(context);
  const { hostname, pathname } = new URL(context.req.raw.url);
  if (hosts.length === 0 || hosts.includes(hostname) || pathname === "/health") return next();
  return problemResponse(context, problem("forbidden", OTHER_HOST, {}));
});

/** Refuses a request whose URL cannot be named or passed on. */
export const requireUrl = createMiddleware<EdgeBindings>(async (context, next) => {
  const { url, headers } = context.req.raw;
  const isWeb = /^https?:\/\//.test(url) && !NOT_IN_A_HOST.test(headers.get("Host") ?? "");
  if (isWeb && URL.canParse(url) && new URL(url).host.length <= MAX_HOST_LENGTH) return next();
  return problemResponse(context, problem("invalid_request", INVALID, {}));
});

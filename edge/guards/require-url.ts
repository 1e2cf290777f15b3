/**
 * The URL of a request, of which workerd makes a text without looking at it: scheme (`X-Forwarded-Proto` where a proxy is in
 * front), `Host` and path one after another. A host with a slash would move the path that is asked for into the query.
 */
import { createMiddleware } from "hono/factory";
import { problem } from "../../rules/problem.ts";
import type { EdgeBindings } from "../context.ts";
import { problemResponse } from "../problem-response.ts";

const INVALID = "The request has no valid http or https URL: see its Host, and X-Forwarded-Proto if a proxy sets it.";

/** Whatever the URL standard takes for the end of a host, or for a user name in front of it. */
const NOT_IN_A_HOST = /[/?#@\\\s]/;

/** A name has at most 253 bytes (RFC 1035, section 2.3.4), a port six with its colon. A longer one would be passed on to backends. */
const MAX_HOST_LENGTH = 253 + 6;

/** Refuses a request whose URL cannot be named or passed on. */
export const requireUrl = createMiddleware<EdgeBindings>(async (context, next) => {
  const { url, headers } = context.req.raw;
  const isWeb = /^https?:\/\//.test(url) && !NOT_IN_A_HOST.test(headers.get("Host") ?? "");
  if (isWeb && URL.canParse(url) && new URL(url).host.length <= MAX_HOST_LENGTH) return next();
  return problemResponse(context, problem("invalid_request", INVALID, {}));
});

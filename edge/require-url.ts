/**
 * The URL of a request, of which workerd makes a text without looking at it: scheme (`X-Forwarded-Proto` where a proxy is in
 * front), `Host` and path one after another. A host with a slash would move the path that is asked for into the query.
 */
import { createMiddleware } from "hono/factory";
import { problem } from "../rules/problem.ts";
import type { EdgeBindings } from "./context.ts";
import { problemResponse } from "./problem-response.ts";

const INVALID = "The request has no valid http or https URL: see its Host, and X-Forwarded-Proto if a proxy sets it.";

/** Whatever the URL standard takes for the end of a host, or for a user name in front of it. */
const NOT_IN_A_HOST = /[/?#@\\\s]/;

/** Refuses a request whose URL nobody can name or pass on. */
export const requireUrl = createMiddleware<EdgeBindings>(async (context, next) => {
  const { url, headers } = context.req.raw;
  const isValid = /^https?:\/\//.test(url) && URL.canParse(url) && !NOT_IN_A_HOST.test(headers.get("Host") ?? "");
  return isValid ? next() : problemResponse(context, problem("invalid_request", INVALID, {}));
});

/**
 * Pages of other origins (CORS) may use the service only if `SERVICE_CORS_ORIGINS` names them, never with a browser's
 * credentials. hono takes every OPTIONS for a preflight request, so it gets only real ones, for a path that is served.
 */
import type { MiddlewareHandler } from "hono";
import { cors } from "hono/cors";
import { createMiddleware } from "hono/factory";
import { API_TOKEN_HEADER, REQUEST_ID_HEADER } from "../../protocol/headers.ts";
import { type EdgeBindings, settingsOf } from "../context.ts";
import type { CorsOrigins } from "../settings.ts";
import { servedMethods } from "./metrics-access.ts";

const REQUEST_HEADERS = [API_TOKEN_HEADER, "Content-Type", "If-None-Match", "traceparent", "tracestate"];

const RESPONSE_HEADERS = [REQUEST_ID_HEADER, "Retry-After", "Content-Disposition", "ETag", "Server-Timing", "Allow"];

/** The longest that Chromium keeps the answer to a preflight request. */
const PREFLIGHT_MAX_AGE_SECONDS = 2 * 60 * 60;

export const CORS_HEADERS_OF_304 = ["Access-Control-Allow-Origin", "Access-Control-Expose-Headers"];

export const allowOtherOrigins = createMiddleware<EdgeBindings>(async (context, next) => {
  const settings = settingsOf(context);
  if (settings.corsOrigins.length === 0) return next();
  if (context.req.method === "OPTIONS") {
    const allowed = servedMethods(context);
    if (allowed === null || context.req.header("Access-Control-Request-Method") === undefined) return next();
    context.res.headers.set("Allow", allowed);
  }
  return middlewareFor(settings.corsOrigins)(context, next);
});

function middlewareFor(origins: CorsOrigins): MiddlewareHandler<EdgeBindings> {
  return cors({
    origin: typeof origins === "string" ? origins : [...origins],
    allowMethods: (_origin, context) => [servedMethods(context) ?? ""],
    allowHeaders: REQUEST_HEADERS,
    exposeHeaders: RESPONSE_HEADERS,
    maxAge: PREFLIGHT_MAX_AGE_SECONDS,
  });
}

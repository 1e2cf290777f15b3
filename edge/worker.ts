/** The Worker at the edge: its routes, and the one place where exceptions become `service_unavailable`. */
import { type Handler, Hono, type MiddlewareHandler } from "hono";
import { etag, RETAINED_304_HEADERS } from "hono/etag";
import { CAPABILITIES_PATH } from "../protocol/capabilities.ts";
import { EDGE_ROUTES, FILE_ROUTES, SECURITY_TEXT_PATH } from "../protocol/routes.ts";
import { methodNotAllowed, notFound, serviceUnavailable } from "../rules/problem.ts";
import { RequestClock } from "./clock.ts";
import { answerHeaders, type EdgeBindings, type EdgeContext, respond, servedMethods, settingsOf } from "./context.ts";
import { limitCallerRate, requireToken } from "./guards/caller.ts";
import { requireMetricsAccess } from "./guards/metrics-access.ts";
import { allowOtherOrigins, CORS_HEADERS_OF_304, requireServedUrl } from "./guards/web-origins.ts";
import { RequestRecord } from "./log/request-record.ts";
import { discardBody, problemResponse } from "./problem-response.ts";
import { endRequest, logFailure } from "./requests/request-log.ts";
import { answerCapabilities, answerConstraints, answerMetrics } from "./routes/documents.ts";
import { answerStaticFile } from "./routes/pages.ts";
import { answerRender } from "./routes/render.ts";
import { answerSecurityText } from "./routes/security-text.ts";

const app = new Hono<EdgeBindings>();

app.use(async (context, next) => {
  context.set("requestId", crypto.randomUUID());
  context.set("record", new RequestRecord());
  context.set("clock", new RequestClock());
  await next();
  if (!context.res.ok) await discardBody(context);
  if (context.res !== context.get("record").complete) {
    const { headers } = context.res;
    for (const [name, value] of Object.entries(answerHeaders(context))) headers.set(name, value);
  }
  endRequest(context, context.res);
});

app.use(requireServedUrl);
app.use(allowOtherOrigins);

type EdgePath = (typeof EDGE_ROUTES)[number]["path"];
type EdgeHandlers = readonly (Handler<EdgeBindings> | MiddlewareHandler<EdgeBindings>)[];

const HEADERS_OF_304 = [...RETAINED_304_HEADERS, ...CORS_HEADERS_OF_304];

const HANDLERS: Readonly<Record<EdgePath, EdgeHandlers>> = {
  "/v1/render": [requireToken, limitCallerRate, answerRender],
  "/v1/constraints": [requireToken, etag({ retainedHeaders: HEADERS_OF_304 }), answerConstraints],
  [CAPABILITIES_PATH]: [etag({ retainedHeaders: HEADERS_OF_304 }), answerCapabilities],
  "/health": [answerHealth],
  "/metrics": [requireMetricsAccess, answerMetrics],
  [SECURITY_TEXT_PATH]: [answerSecurityText],
};

for (const { method, path } of EDGE_ROUTES) app.on(method, [path], ...HANDLERS[path]);
for (const { method, path } of FILE_ROUTES) app.on(method, path, answerStaticFile);

/** A Worker whose settings are not valid must not appear healthy. */
function answerHealth(context: EdgeContext): Response {
  settingsOf(context);
  return respond(context, '{"status":"ok"}', { headers: { "Content-Type": "application/json" } });
}

// Not hono's `methodNotAllowed`: it does not answer OPTIONS, and the backend needs the same list.
app.notFound((context) => {
  const allowed = servedMethods(context);
  if (allowed === null) return problemResponse(context, notFound());
  if (context.req.method === "OPTIONS") return new Response(null, { status: 204, headers: { Allow: allowed } });
  const response = problemResponse(context, methodNotAllowed(allowed));
  response.headers.set("Allow", allowed);
  return response;
});

app.onError((error, context) => {
  logFailure(context, "error", {
    requestId: context.get("requestId"),
    message: "request failed",
    error: String(error),
  });
  return problemResponse(context, serviceUnavailable("edge_failure"));
});

export default app;

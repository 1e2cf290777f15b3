/**
 * The edge's HTTP application: its routes, and the one place where exceptions become `service_unavailable`.
 */
import { Hono } from "hono";
import { OPENAPI_DOCUMENT_NAME, STATIC_DOCUMENTS } from "../rules/constraints.ts";
import { COMMON_HEADERS, REQUEST_ID_HEADER } from "../rules/http/headers.ts";
import { methodNotAllowed, notFound, serviceUnavailable } from "../rules/problem.ts";
import { requireToken } from "./authorization.ts";
import { answerConstraints } from "./constraints-route.ts";
import { type EdgeBindings, settingsOf } from "./context.ts";
import { drainBody } from "./drain-body.ts";
import { answerMetrics } from "./metrics-route.ts";
import { problemResponse } from "./problem-response.ts";
import { answerReference, REFERENCE_PATHS } from "./reference-page.ts";
import { answerRender } from "./render-route.ts";

export const app = new Hono<EdgeBindings>();

const GET_METHODS = "GET, HEAD, OPTIONS";
const STATIC_PATHS = [...Object.keys(STATIC_DOCUMENTS), OPENAPI_DOCUMENT_NAME].map((name) => `/${name}`);

/** What each path answers to. Everything else is 404, or 405 with this list. */
const METHODS_BY_PATH: Readonly<Record<string, string>> = {
  "/v1/render": "POST, OPTIONS",
  "/v1/constraints": GET_METHODS,
  "/health": GET_METHODS,
  "/metrics": GET_METHODS,
  ...Object.fromEntries([...STATIC_PATHS, ...REFERENCE_PATHS].map((path) => [path, GET_METHODS])),
};

app.use(async (context, next) => {
  context.set("requestId", crypto.randomUUID());
  await next();
  if (!context.res.ok) await drainBody(context.req.raw);
  const { headers } = context.res;
  headers.set(REQUEST_ID_HEADER, context.var.requestId);
  for (const [name, value] of Object.entries(COMMON_HEADERS)) headers.set(name, value);
});

app.get("/health", (context) => {
  // A Worker that cannot use its settings must not look alive.
  settingsOf(context);
  return context.json({ status: "ok" });
});
app.get("/metrics", answerMetrics);
app.get("/v1/constraints", requireToken, answerConstraints);
app.post("/v1/render", requireToken, answerRender);
app.on("GET", STATIC_PATHS, async (context) => {
  // By the path as it was matched: the asset server would redirect another spelling of it.
  const asset = await context.env.ASSETS.fetch(
    new Request(new URL(context.req.path, context.req.url), context.req.raw),
  );
  return new Response(asset.body, asset);
});
app.on("GET", REFERENCE_PATHS, answerReference);

app.notFound((context) => {
  const allowed = Object.hasOwn(METHODS_BY_PATH, context.req.path) ? METHODS_BY_PATH[context.req.path] : undefined;
  if (allowed === undefined) return problemResponse(context, notFound());
  if (context.req.method === "OPTIONS") return new Response(null, { status: 204, headers: { Allow: allowed } });
  const response = problemResponse(context, methodNotAllowed(allowed));
  response.headers.set("Allow", allowed);
  return response;
});

app.onError((error, context) => {
  console.error({ requestId: context.var.requestId, message: "request failed", error: String(error) });
  return problemResponse(context, serviceUnavailable());
});

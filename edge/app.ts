/** The edge: its routes, and the one place where exceptions become `service_unavailable`. A platform calls it for each request. */
import { NO_MEMORY_RETRY_SECONDS } from "../protocol/body-collector.ts";
import { CAPABILITIES_PATH } from "../protocol/capabilities.ts";
import { COMMON_HEADERS, REQUEST_ID_HEADER, SERVER_TIMING_HEADER } from "../protocol/headers.ts";
import { EDGE_ROUTES, FILE_ROUTES, SECURITY_TEXT_PATH } from "../protocol/routes.ts";
import { methodNotAllowed, notFound, type Problem, renderQueueFull, serviceUnavailable } from "../rules/problem.ts";
import { EdgeContext, servedMethods, settingsOf } from "./context.ts";
import { limitCallerRate, requireMetricsAccess, requireToken } from "./guards/caller.ts";
import { crossOriginAnswer, requireServedUrl } from "./guards/web-origins.ts";
import type { Answer, ClientRequest, Platform } from "./platform/platform.ts";
import { discardBody, problemAnswer } from "./problem-answer.ts";
import { endRequest, logFailure } from "./requests/request-log.ts";
import { answerCapabilities, answerConstraints, answerMetrics, answerSecurityText } from "./routes/documents.ts";
import { answerStaticFile } from "./routes/pages.ts";
import { answerRender } from "./routes/render.ts";

/** Null to go on with the next step. */
type Step = (context: EdgeContext) => Answer | null | Promise<Answer | null>;
type EdgePath = (typeof EDGE_ROUTES)[number]["path"];

const STEPS: Readonly<Record<EdgePath, readonly Step[]>> = {
  // Whoever has no token takes no place from those that have one.
  "/v1/render": [requireToken, limitCallerRate, requirePlace, answerRender],
  "/v1/constraints": [requirePlace, requireToken, answerConstraints],
  [CAPABILITIES_PATH]: [requirePlace, answerCapabilities],
  "/health": [requirePlace, answerHealth],
  "/metrics": [requirePlace, requireMetricsAccess, answerMetrics],
  [SECURITY_TEXT_PATH]: [requirePlace, answerSecurityText],
};

const ROUTES = new Map<string, { readonly method: "GET" | "POST"; readonly steps: readonly Step[] }>([
  ...EDGE_ROUTES.map(({ method, path }) => [path, { method, steps: STEPS[path] }] as const),
  ...FILE_ROUTES.map(({ method, path }) => [path, { method, steps: [requirePlace, answerStaticFile] }] as const),
]);

export async function answerRequest(platform: Platform, request: ClientRequest): Promise<Answer> {
  const context = new EdgeContext(platform, request);
  let answer: Answer;
  try {
    answer = await answerRoute(context);
  } catch (error) {
    logFailure(context, "error", {
      message: "request failed",
      error: String(error),
    });
    answer = problemAnswer(context, serviceUnavailable("edge_failure"));
  }
  if (answer.status >= 300) await discardBody(context);
  return complete(context, answer);
}

/** For what a platform refuses by itself. The rest of the body is its own matter. */
export function refuseRequest(platform: Platform, request: ClientRequest, reason: Problem): Answer {
  const context = new EdgeContext(platform, request);
  return complete(context, problemAnswer(context, reason));
}

/** Adds the header fields of every answer, and ends the request. */
function complete(context: EdgeContext, answer: Answer): Answer {
  const timing = context.record.serverTiming;
  const whole = {
    ...answer,
    headers: {
      ...answer.headers,
      [REQUEST_ID_HEADER]: context.requestId,
      ...COMMON_HEADERS,
      ...(timing !== "" && { [SERVER_TIMING_HEADER]: timing }),
    },
  };
  endRequest(context, whole);
  return whole;
}

async function answerRoute(context: EdgeContext): Promise<Answer> {
  return requireServedUrl(context) ?? crossOriginAnswer(context, takeSteps);
}

async function takeSteps(context: EdgeContext): Promise<Answer> {
  const { method } = context.request;
  const route = ROUTES.get(context.path);
  const isHead = method === "HEAD" && route?.method === "GET";
  if (route === undefined || (method !== route.method && !isHead)) return answerUnrouted(context);
  for (const step of route.steps) {
    const answer = await step(context);
    if (answer !== null) return isHead ? withoutBody(answer) : answer;
  }
  return answerUnrouted(context);
}

function requirePlace(context: EdgeContext): Answer | null {
  if (context.request.takePlace()) return null;
  return problemAnswer(context, renderQueueFull("open_requests", NO_MEMORY_RETRY_SECONDS));
}

function withoutBody({ status, headers, body }: Answer): Answer {
  if (body !== null && typeof body === "object" && "discard" in body) body.discard();
  return { status, headers, body: null };
}

/** A deployment whose settings are not valid must not appear healthy. */
function answerHealth(context: EdgeContext): Answer {
  settingsOf(context);
  return { status: 200, headers: { "Content-Type": "application/json" }, body: '{"status":"ok"}' };
}

function answerUnrouted(context: EdgeContext): Answer {
  const allowed = servedMethods(context);
  if (allowed === null) return problemAnswer(context, notFound(context.path));
  if (context.request.method === "OPTIONS") return { status: 204, headers: { Allow: allowed }, body: null };
  const answer = problemAnswer(context, methodNotAllowed(allowed));
  return { ...answer, headers: { ...answer.headers, Allow: allowed } };
}

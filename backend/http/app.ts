/** The backend's HTTP application, which `start/run.ts` starts and stops. Exceptions become `service_unavailable`. */
import { randomUUID } from "node:crypto";
import type { Socket } from "node:net";
import Fastify, { type FastifyInstance, LogController, type RouteHandlerMethod } from "fastify";
import { CAPABILITIES_PATH } from "../../protocol/capabilities.ts";
import {
  COMMON_HEADERS,
  EDGE_COUNTS_HEADER,
  formatBackendLoad,
  LOAD_HEADER,
  REQUEST_ID_HEADER,
  REQUEST_ID_PATTERN,
} from "../../protocol/headers.ts";
import { Connections } from "../../protocol/node/connections.ts";
import { answerMalformed } from "../../protocol/node/malformed.ts";
import { BACKEND_ROUTES } from "../../protocol/routes.ts";
import { traceIdOf } from "../../protocol/trace-context.ts";
import { notFound, serviceUnavailable } from "../../rules/problem.ts";
import { TYPST_VERSION } from "../../typst/typst-release.mjs";
import { describeError, errorCode } from "../error-log.ts";
import { traceParentOf } from "../observe/request-observer.ts";
import { answerUnrouted, PendingAnswers, reportFailure, sendProblem } from "./problem-response.ts";
import { RenderRoute, refuseWithoutToken } from "./render-route.ts";
import { openParts, type Prerequisites, readLoad, type ServiceParts } from "./service-parts.ts";

/** How long a whole request may take to arrive, on any route. The render route has shorter deadlines for bodies. */
const REQUEST_TIMEOUT_MILLISECONDS = 90_000;

/** Of edges, which bound their own: with more, the one that has been idle for longest is closed. */
const MAX_CONNECTIONS = 4096;

/** Fastify would answer 415, for which there is no problem code. */
const MALFORMED_MEDIA_TYPE = "FST_ERR_CTP_INVALID_MEDIA_TYPE";

export interface RenderService {
  readonly app: FastifyInstance;
  /** From now on `/ready` returns 503, and answers tell the edge to send renders elsewhere. They are still accepted. */
  readonly announceStop: () => void;
  readonly refuseRenders: () => void;
  /** Renders that have begun and whose answers are not completely delivered. */
  readonly underWay: () => number;
  /** @throws SettingError for an unusable folder of fonts or packages. */
  readonly findCapabilities: () => Promise<unknown>;
  /** Resolves with the name of a file that is missing from the work directory: the backend must end. */
  readonly workDirectoryLost: Promise<string>;
}

export function buildRenderService(prerequisites: Prerequisites): RenderService {
  const { app, connections } = createApp(prerequisites);
  const parts = openParts(prerequisites, app.log);
  const { stage, capabilities, workDirectoryWatch } = parts;
  const route = new RenderRoute(parts);
  addHooks(app, parts, connections);
  addErrorHandlers(app, route);
  const handlers = { ...createHandlers(parts), "/v1/render": route.handle };
  for (const { method, path } of BACKEND_ROUTES) app.route({ method, url: path, handler: handlers[path] });
  return {
    app,
    announceStop: () => {
      if (stage.current === "serving") stage.current = "draining";
    },
    refuseRenders: () => {
      stage.current = "refusing";
    },
    underWay: () => route.underWay,
    findCapabilities: () => capabilities.findDocument(),
    workDirectoryLost: workDirectoryWatch.lost,
  };
}

function addHooks(
  app: FastifyInstance,
  { settings, metrics, stage, close }: ServiceParts,
  connections: Connections,
): void {
  app.addHook("onRequest", async (request, reply) => {
    reply.headers({ ...COMMON_HEADERS, [REQUEST_ID_HEADER]: request.id });
    const counts = request.headers[EDGE_COUNTS_HEADER.toLowerCase()];
    if (typeof counts === "string" && refuseWithoutToken(request, settings.backendTokens) === null) {
      metrics.countEdgeReport(counts);
      reply.header(EDGE_COUNTS_HEADER, counts);
    }
  });
  app.addHook("onSend", async (_request, reply) => {
    // A connection that is kept alive would keep the backend from ending, and the next request on it would be lost.
    if (stage.current !== "serving" || connections.isClosing) reply.header("Connection", "close");
  });
  app.addHook("onClose", close);
}

function addErrorHandlers(app: FastifyInstance, route: RenderRoute): void {
  app.setNotFoundHandler(answerUnrouted);
  app.setErrorHandler((error, request, reply) => {
    // Fastify reads the media type before it calls a handler, but an unknown path, the token and the size come first.
    if (request.is404) return answerUnrouted(request, reply);
    if (errorCode(error) === MALFORMED_MEDIA_TYPE) return route.handle(request, reply);
    return sendProblem(request, reply, reportFailure(request, error));
  });
}

function createHandlers(parts: ServiceParts) {
  const { settings, sandbox, capabilities, machineWatch, metrics, stage } = parts;
  // With no token configured, every render would be refused.
  const canServe = settings.backendTokens.length > 0;
  return {
    [CAPABILITIES_PATH]: async (_request, reply) => {
      const { body, digest } = await capabilities.findDocument();
      return reply.headers({ "Content-Type": "application/json", ETag: `"${digest}"` }).send(body);
    },
    "/health": () => ({ status: "ok", typst: TYPST_VERSION, sandbox: sandbox.mode }),
    "/ready": async (request, reply) => {
      reply.header(LOAD_HEADER, formatBackendLoad(readLoad(parts)));
      const obstacle = !canServe
        ? "no_tokens"
        : stage.current !== "serving"
          ? "draining"
          : await machineWatch.findShortage();
      return obstacle === null ? { status: "ready" } : sendProblem(request, reply, serviceUnavailable(obstacle));
    },
    "/metrics": (_request, reply) => {
      reply.type(metrics.contentType);
      return metrics.scrape();
    },
  } satisfies Readonly<Record<string, RouteHandlerMethod>>;
}

function createApp({ settings, logOutput }: Prerequisites): {
  readonly app: FastifyInstance;
  readonly connections: Connections;
} {
  const pendingAnswers = new PendingAnswers();
  const app: FastifyInstance = Fastify({
    logger: {
      level: settings.logLevel,
      serializers: { err: describeError },
      stream: { write: (line: string) => logOutput.writeLine(line) },
    },
    logController: new LogController({ disableRequestLogging: true }),
    // The edge passes on the scheme and host of the client's request, for `instance`.
    trustProxy: true,
    requestTimeout: REQUEST_TIMEOUT_MILLISECONDS,
    keepAliveTimeout: settings.idleConnectionSeconds * 1000,
    clientErrorHandler: (_error: Error, socket: Socket) =>
      void pendingAnswers.waitFor(socket).then(() => answerMalformed(socket)),
    childLoggerFactory: (logger, bindings, options, { headers }) => {
      const traceId = traceIdOf(traceParentOf(headers), String(bindings.reqId));
      return logger.child({ ...bindings, traceId }, options);
    },
    genReqId: ({ headers }) => {
      const id = String(headers[REQUEST_ID_HEADER.toLowerCase()]);
      return REQUEST_ID_PATTERN.test(id) ? id : randomUUID();
    },
    frameworkErrors: (_error, request, reply) => void sendProblem(request, reply, notFound()),
  });
  pendingAnswers.watch(app.server);
  const connections = new Connections(app.server, MAX_CONNECTIONS);
  // An unknown expectation may be ignored (RFC 9110, section 10.1.1). There is no problem code for 417.
  app.server.on("checkExpectation", (request, response) => app.server.emit("request", request, response));
  // Only the render route reads a body, after it has validated the token.
  app.removeAllContentTypeParsers();
  app.addContentTypeParser("*", (_request, _payload, done) => done(null));
  return { app, connections };
}

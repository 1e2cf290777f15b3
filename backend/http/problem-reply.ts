/**
 * Problems as replies, and the answers to what no route takes.
 */
import { randomUUID } from "node:crypto";
import type { Socket } from "node:net";
import type { FastifyReply, FastifyRequest } from "fastify";
import { COMMON_HEADERS, NOT_STORED_HEADERS, REQUEST_ID_HEADER } from "../../rules/http/headers.ts";
import {
  methodNotAllowed,
  notFound,
  PROBLEM_MEDIA_TYPE,
  PROBLEMS,
  type Problem,
  problem,
  problemDocument,
  problemInstance,
  serviceUnavailable,
} from "../../rules/problem.ts";

/** For a client to read the last answer on its connection. */
const LINGER_MILLISECONDS = 1000;

const METHODS_BY_PATH: Readonly<Record<string, string>> = {
  "/v1/render": "POST, OPTIONS",
  "/health": "GET, HEAD, OPTIONS",
  "/ready": "GET, HEAD, OPTIONS",
  "/metrics": "GET, HEAD, OPTIONS",
};

/** Answers with a problem. `instance` is the URL that the client asked for, as the edge passes it on. */
export function sendProblem(request: FastifyRequest, reply: FastifyReply, refusal: Problem): FastifyReply {
  const instance = problemInstance(`${request.protocol}://${request.host}${request.url}`, request.id);
  if (refusal.code === "render_queue_full") reply.header("Retry-After", refusal.context.retry_after);
  return reply
    .code(PROBLEMS[refusal.code].status)
    .headers({ ...COMMON_HEADERS, ...NOT_STORED_HEADERS, [REQUEST_ID_HEADER]: request.id })
    .type(PROBLEM_MEDIA_TYPE)
    .serializer((payload: unknown) => JSON.stringify(payload))
    .send(problemDocument(refusal, instance));
}

/** Answers a request that no route took: its path is unknown, or it is known for other methods. */
export function answerUnrouted(request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const path = request.url.split("?", 1)[0] ?? "";
  const allowed = METHODS_BY_PATH[path];
  if (allowed === undefined) return sendProblem(request, reply, notFound());
  reply.header("Allow", allowed);
  if (request.method === "OPTIONS") return reply.code(204).send();
  return sendProblem(request, reply, methodNotAllowed(allowed));
}

/** Logs why the service failed; the client hears no more than that it did. */
export function reportFailure(request: FastifyRequest, error: unknown): Problem {
  request.log.error({ err: error }, "request failed");
  return serviceUnavailable();
}

/**
 * Answers bytes that are no HTTP request, and closes: there is nothing to route, and no telling where a next one begins.
 * A request that came before them on the connection gets its own answer first.
 */
export function answerMalformedHttp(socket: Socket, pendingAnswers: Promise<unknown>): void {
  void pendingAnswers.then(() => closeWithProblem(socket));
}

function closeWithProblem(socket: Socket): void {
  if (!socket.writable) return;
  const requestId = randomUUID();
  const refusal = problem("invalid_request", "The request is not valid HTTP, or did not arrive in time.", {});
  const body = JSON.stringify(problemDocument(refusal, `#${requestId}`));
  const headers = {
    ...COMMON_HEADERS,
    ...NOT_STORED_HEADERS,
    "Content-Type": PROBLEM_MEDIA_TYPE,
    "Content-Length": Buffer.byteLength(body),
    [REQUEST_ID_HEADER]: requestId,
    Connection: "close",
  };
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.end(`HTTP/1.1 400 Bad Request\r\n${lines.join("")}\r\n${body}`);
  // A client may keep its side open for ever.
  setTimeout(() => socket.destroy(), LINGER_MILLISECONDS).unref();
}

/** Problems as responses of a backend: to a request, to one without a route, and to bytes that are not HTTP. */
import { randomUUID } from "node:crypto";
import type { IncomingMessage, Server } from "node:http";
import type { Socket } from "node:net";
import type { FastifyReply, FastifyRequest } from "fastify";
import {
  COMMON_HEADERS,
  FORWARDED_PREFIX_HEADER,
  NOT_STORED_HEADERS,
  PROBLEM_CAUSE_HEADER,
  PROBLEM_CODE_HEADER,
  parseForwardedPrefix,
  REQUEST_ID_HEADER,
} from "../../protocol/headers.ts";
import { allowedMethods, BACKEND_ROUTES } from "../../protocol/routes.ts";
import type { UnavailableCause } from "../../rules/causes.ts";
import {
  methodNotAllowed,
  notFound,
  PROBLEM_MEDIA_TYPE,
  PROBLEMS,
  type Problem,
  problem,
  problemDocument,
  problemInstance,
  retryAfterSeconds,
  serviceUnavailable,
} from "../../rules/problem.ts";

export function sendProblem(request: FastifyRequest, reply: FastifyReply, sent: Problem): FastifyReply {
  const prefix = parseForwardedPrefix(String(request.headers[FORWARDED_PREFIX_HEADER.toLowerCase()] ?? ""));
  const instance = problemInstance(`${request.protocol}://${request.host}${request.url}`, request.id, prefix);
  const seconds = retryAfterSeconds(sent);
  if (seconds !== null) reply.header("Retry-After", seconds);
  return reply
    .code(PROBLEMS[sent.code].status)
    .headers({
      ...COMMON_HEADERS,
      ...NOT_STORED_HEADERS,
      [REQUEST_ID_HEADER]: request.id,
      [PROBLEM_CODE_HEADER]: sent.code,
      ...(sent.cause !== undefined && { [PROBLEM_CAUSE_HEADER]: sent.cause }),
    })
    .type(PROBLEM_MEDIA_TYPE)
    .serializer((payload: unknown) => JSON.stringify(payload))
    .send(problemDocument(sent, instance));
}

/** Logs why the service failed. The client is only told that it did, or what the machine lacks. */
export function reportFailure(
  request: FastifyRequest,
  error: unknown,
  cause: UnavailableCause = "backend_failure",
): Problem {
  request.log.error({ err: error }, "request failed");
  return serviceUnavailable(cause);
}

export function answerUnrouted(request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const [path = ""] = request.url.split("?", 1);
  const allowed = allowedMethods(BACKEND_ROUTES, path);
  if (allowed === null) return sendProblem(request, reply, notFound());
  reply.header("Allow", allowed);
  if (request.method === "OPTIONS") return reply.code(204).send();
  return sendProblem(request, reply, methodNotAllowed(allowed));
}

const LINGER_MILLISECONDS = 1000;

/**
 * For bytes that are not HTTP or come late. The start of a next request cannot be found, so the connection is closed.
 */
export async function answerMalformedHttp(socket: Socket, pendingAnswers: PendingAnswers): Promise<void> {
  await pendingAnswers.waitFor(socket);
  if (!socket.writable) return;
  const requestId = randomUUID();
  const malformed = problem("invalid_request", "The request is not valid HTTP, or did not arrive in time.", {});
  const body = JSON.stringify(problemDocument(malformed, `#${requestId}`));
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
  // The client may never close its side.
  setTimeout(() => socket.destroy(), LINGER_MILLISECONDS).unref();
}

export class PendingAnswers {
  readonly #bySocket = new WeakMap<Socket, Map<IncomingMessage, Promise<unknown>>>();

  watch(server: Server): void {
    server.on("request", (request, response) => {
      const pending = this.#bySocket.get(request.socket) ?? new Map<IncomingMessage, Promise<unknown>>();
      this.#bySocket.set(request.socket, pending);
      pending.set(request, new Promise((resolve) => response.once("close", resolve)));
      response.once("close", () => pending.delete(request));
    });
  }

  /** Resolves once every complete request on a connection is answered. An incomplete one gets no answer. */
  async waitFor(socket: Socket): Promise<void> {
    const pending = [...(this.#bySocket.get(socket) ?? [])].filter(([request]) => request.complete);
    await Promise.all(pending.map(([, closed]) => closed));
  }
}

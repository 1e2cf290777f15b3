/** Problems as responses of a backend: to a request, to one without a route, and after those that are not yet answered. */
import type { IncomingMessage, Server } from "node:http";
import type { Socket } from "node:net";
import type { FastifyReply, FastifyRequest } from "fastify";
import {
  COMMON_HEADERS,
  FORWARDED_PREFIX_HEADER,
  PROBLEM_CAUSE_HEADER,
  PROBLEM_CODE_HEADER,
  REQUEST_ID_HEADER,
} from "../../protocol/headers.ts";
import { answerProblem } from "../../protocol/problem-answer.ts";
import { allowedMethods, BACKEND_ROUTES } from "../../protocol/routes.ts";
import type { UnavailableCause } from "../../rules/causes.ts";
import { methodNotAllowed, notFound, type Problem, serviceUnavailable } from "../../rules/problem.ts";

export function sendProblem(request: FastifyRequest, reply: FastifyReply, sent: Problem): FastifyReply {
  const url = `${request.protocol}://${request.host}${request.url}`;
  const prefix = String(request.headers[FORWARDED_PREFIX_HEADER.toLowerCase()] ?? "");
  const { status, headers, body } = answerProblem(sent, url, request.id, prefix);
  return (
    reply
      .code(status)
      .headers({
        ...COMMON_HEADERS,
        ...headers,
        [REQUEST_ID_HEADER]: request.id,
        [PROBLEM_CODE_HEADER]: sent.code,
        ...(sent.cause !== undefined && { [PROBLEM_CAUSE_HEADER]: sent.cause }),
      })
      // As bytes: to a text, Fastify adds a charset.
      .send(Buffer.from(body))
  );
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

/** Problems as responses of a backend, and the answer to a request without a route. */
import type { FastifyReply, FastifyRequest } from "fastify";
import {
  COMMON_HEADERS,
  NOT_STORED_HEADERS,
  PROBLEM_CAUSE_HEADER,
  PROBLEM_CODE_HEADER,
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
  problemDocument,
  problemInstance,
  serviceUnavailable,
} from "../../rules/problem.ts";

/** Answers with a problem. `instance` is the URL that the client requested, as the edge passes it on. */
export function sendProblem(request: FastifyRequest, reply: FastifyReply, problem: Problem): FastifyReply {
  const instance = problemInstance(`${request.protocol}://${request.host}${request.url}`, request.id);
  if (problem.code === "render_queue_full") reply.header("Retry-After", problem.context.retry_after);
  return reply
    .code(PROBLEMS[problem.code].status)
    .headers({
      ...COMMON_HEADERS,
      ...NOT_STORED_HEADERS,
      [REQUEST_ID_HEADER]: request.id,
      [PROBLEM_CODE_HEADER]: problem.code,
      ...(problem.cause !== undefined && { [PROBLEM_CAUSE_HEADER]: problem.cause }),
    })
    .type(PROBLEM_MEDIA_TYPE)
    .serializer((payload: unknown) => JSON.stringify(payload))
    .send(problemDocument(problem, instance));
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

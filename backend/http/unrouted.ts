/**
 * The answer to a request without a route: its path is unknown, or exists for other methods only.
 */
import type { FastifyReply, FastifyRequest } from "fastify";
import { allowedMethods, BACKEND_ROUTES } from "../../protocol/routes.ts";
import { methodNotAllowed, notFound } from "../../rules/problem.ts";
import { sendProblem } from "./problem-response.ts";

export function answerUnrouted(request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const [path = ""] = request.url.split("?", 1);
  const allowed = allowedMethods(BACKEND_ROUTES, path);
  if (allowed === null) return sendProblem(request, reply, notFound());
  reply.header("Allow", allowed);
  if (request.method === "OPTIONS") return reply.code(204).send();
  return sendProblem(request, reply, methodNotAllowed(allowed));
}

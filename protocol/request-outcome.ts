/** How a request ended, as edge and backend log and count it. */
import { PROBLEMS, type ProblemCode, type ProblemOrigin } from "../rules/problem.ts";

/** `ok`, the code of the problem that was answered, or `client_gone` if the client did not wait. */
export type RequestOutcome = "ok" | "client_gone" | ProblemCode;

/** An outcome, roughly. Only `service` means that the service failed. */
export type OutcomeClass = "ok" | "client_gone" | ProblemOrigin;

export function outcomeClass(outcome: RequestOutcome): OutcomeClass {
  return outcome === "ok" || outcome === "client_gone" ? outcome : PROBLEMS[outcome].origin;
}

/**
 * The check of a request before it is sent, by the service's own code. Only this module loads the rules; `ServiceClient`
 * imports it when it needs it, so that a bundler can leave it out of what a page loads first.
 */
import { problemDocument } from "../../rules/problem.ts";
import { checkRequest, type Disagreement, type PublishedConstraints } from "../../rules/published-rules.ts";
import { asLocalProblem, type ServiceProblem } from "./service-problem.ts";

export { asConstraints } from "../../rules/published-rules.ts";

export type LocalCheck =
  /** The service will accept the request. Typst may still fail to compile it. */
  | { readonly verdict: "accepted" }
  /** The problem that the service would answer. */
  | { readonly verdict: "refused"; readonly problem: ServiceProblem }
  /** The deployment publishes rules that this version does not know: update the package. */
  | { readonly verdict: "unknown"; readonly disagreements: readonly Disagreement[] };

export function checkLocally(body: Uint8Array, constraints: PublishedConstraints): LocalCheck {
  const check = checkRequest(body, constraints);
  if (check.verdict !== "refused") return check;
  return { verdict: "refused", problem: asLocalProblem(problemDocument(check.problem, "")) };
}

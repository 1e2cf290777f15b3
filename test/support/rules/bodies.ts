/** Bodies for the tests, and what is wrong with them. */
import { DEFAULT_LIMITS, type Limits } from "../../../rules/limits.ts";
import type { Problem } from "../../../rules/problem.ts";
import { parseRenderRequest } from "../../../rules/render-request.ts";

const encoder = new TextEncoder();

/** The bytes of a body: of the text, or of the JSON text of any other value. */
export function bodyOf(request: unknown): Uint8Array {
  return encoder.encode(typeof request === "string" ? request : JSON.stringify(request));
}

/** The problem of a request, or null when it is valid. */
export function problemOf(request: unknown, limits: Limits = DEFAULT_LIMITS): Problem | null {
  const parsed = parseRenderRequest(request instanceof Uint8Array ? request : bodyOf(request), limits);
  return parsed.ok ? null : parsed.problem;
}

/** The errors of a problem by `loc` and `type`, in their order. */
export function errorsOf(problem: Problem | null): string[] {
  const context = problem?.context ?? {};
  const errors = "errors" in context ? (context.errors ?? []) : [];
  return errors.map(({ loc, type }) => `${loc.join(".")}: ${type}`);
}

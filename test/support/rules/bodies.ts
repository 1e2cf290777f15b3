/** Bodies for the tests: text as bytes, and bytes at any alignment in memory. */
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

/** The text around a body in its buffer. Reading it would change the verdict. */
const AROUND = encoder.encode('"}]\\u0041,"source":"x');

/** The same bytes at an offset of a multiple of four plus `alignment`, with other bytes before and after them. */
export function placedAt(alignment: number, bytes: Uint8Array): Uint8Array {
  const offset = 16 + alignment;
  const buffer = new ArrayBuffer(offset + bytes.length + AROUND.length);
  new Uint8Array(buffer).set(AROUND.subarray(0, offset));
  new Uint8Array(buffer).set(bytes, offset);
  new Uint8Array(buffer).set(AROUND, offset + bytes.length);
  return new Uint8Array(buffer, offset, bytes.length);
}

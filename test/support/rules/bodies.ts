/**
 * Bodies for the tests: text as bytes, and bytes where a request's may lie in memory.
 */
import { DEFAULT_LIMITS, type Limits } from "../../../rules/limits.ts";
import type { Problem } from "../../../rules/problem.ts";
import { parseRenderRequest } from "../../../rules/render-request.ts";

const encoder = new TextEncoder();

/** A body of this text; anything but a string is written as JSON first. */
export function bodyOf(request: unknown): Uint8Array {
  return encoder.encode(typeof request === "string" ? request : JSON.stringify(request));
}

/** What `parseRenderRequest` rejects a request with, or null where it accepts. */
export function problemOf(request: unknown, limits: Limits = DEFAULT_LIMITS): Problem | null {
  const parsed = parseRenderRequest(request instanceof Uint8Array ? request : bodyOf(request), limits);
  return parsed.ok ? null : parsed.problem;
}

/** The errors of a problem by place and type, in their order; none where it has none. */
export function errorsOf(problem: Problem | null): string[] {
  const context = problem?.context ?? {};
  const errors = "errors" in context ? (context.errors ?? []) : [];
  return errors.map(({ loc, type }) => `${loc.join(".")}: ${type}`);
}

/** What surrounds a body in its buffer: text that would change a verdict, were it read. */
const AROUND = encoder.encode('"}]\\u0041,"source":"x');

/** The same bytes at `alignment` (0 to 3) past a multiple of four, with other bytes before and after them. */
export function placedAt(alignment: number, bytes: Uint8Array): Uint8Array {
  const offset = 16 + alignment;
  const buffer = new ArrayBuffer(offset + bytes.length + AROUND.length);
  new Uint8Array(buffer).set(AROUND.subarray(0, offset));
  new Uint8Array(buffer).set(bytes, offset);
  new Uint8Array(buffer).set(AROUND, offset + bytes.length);
  return new Uint8Array(buffer, offset, bytes.length);
}

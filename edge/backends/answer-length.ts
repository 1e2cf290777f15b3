/**
 * How long a backend's answer may be.
 */
import { fileExtensionOf } from "../../protocol/rendered-file.ts";
import type { Limits } from "../../rules/limits.ts";
import { outputTooLarge, type Problem } from "../../rules/problem.ts";

/** Far more than the longest problem: twenty errors with paths of 128 segments. */
export const MAX_PROBLEM_BYTES = 1024 * 1024;

type Head = Pick<Response, "headers">;

/** The most bytes of an answer. */
export function maxAnswerBytes({ headers }: Head, limits: Limits): number {
  return fileExtensionOf(headers.get("Content-Type")) === null ? MAX_PROBLEM_BYTES : limits.max_output_bytes;
}

/** How long an answer says it is; null if it does not say, or if the runtime decodes it. */
export function lengthOf({ headers }: Head): number | null {
  const length = headers.get("Content-Length");
  return length === null || headers.has("Content-Encoding") ? null : Number(length);
}

/** The problem of a file that is over the limit: a backend with a higher one has rendered it. Null if there is none. */
export function problemOfLength(answer: Head, limits: Limits): Problem | null {
  const length = lengthOf(answer) ?? 0;
  return length > maxAnswerBytes(answer, limits) ? outputTooLarge(length, limits.max_output_bytes) : null;
}

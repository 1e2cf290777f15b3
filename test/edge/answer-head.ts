/** Heads of answers that backends send, or something in their place. */
import type { ResponseHead } from "../../edge/backends/backend-answer.ts";
import { PROBLEMS, type ProblemCode } from "../../rules/problem.ts";

/** @param fields further header fields */
export function headOf(
  content: ProblemCode | "file" | "foreign",
  fields: Readonly<Record<string, string>> = {},
): ResponseHead & { readonly headers: Headers } {
  if (content === "foreign") return { status: 502, headers: new Headers({ "Content-Type": "text/html", ...fields }) };
  if (content === "file")
    return { status: 200, headers: new Headers({ "Content-Type": "application/pdf", ...fields }) };
  const headers = { "Content-Type": "application/problem+json", "X-Service-Problem-Code": content, ...fields };
  return { status: PROBLEMS[content].status, headers: new Headers(headers) };
}

/** The verdicts of the fast and of the slow parser side by side. */
import { isDeepStrictEqual } from "node:util";
import type { StringSpan } from "../../../rules/json/string.ts";
import type { Limits } from "../../../rules/limits.ts";
import { PROBLEMS } from "../../../rules/problem.ts";
import { type ParsedRequest, type ParseResult, parseRenderRequest } from "../../../rules/render-request.ts";
import { type SlowRequest, type Verdict, validateSlowly } from "./slow-validator.ts";

/** The fast parser's verdict in the form of the slow one's: without prose, an accepted request decoded. */
function verdictOf(body: Uint8Array, parsed: ParseResult): Verdict {
  if (parsed.ok) return { code: null, request: decodeRequest(body, parsed.request) };
  const { code, context } = parsed.problem;
  if (!("errors" in context)) return { code, context };
  return { code, context: { ...context, errors: context.errors?.map(({ loc, type }) => ({ loc, type })) } };
}

/** How the verdicts of the two parsers on a body differ, or null if they agree. */
export function disagreement(body: Uint8Array, limits: Limits): string | null {
  const slow = validateSlowly(body, limits);
  const parsed = parseRenderRequest(body, limits);
  const fast = verdictOf(body, parsed);
  if (isDeepStrictEqual(fast, slow)) return breachOfForm(parsed);
  return `of ${JSON.stringify(Buffer.from(body).toString("latin1"))}\nfast: ${JSON.stringify(fast)}\nslow: ${JSON.stringify(slow)}`;
}

/** How a problem breaks the rules for every problem, or null. */
function breachOfForm(parsed: ParseResult): string | null {
  if (parsed.ok) return null;
  const { code, context, detail } = parsed.problem;
  const foreign = Object.keys(context).find((member) => !PROBLEMS[code].context.some((known) => known === member));
  if (foreign !== undefined) return `${code} has a context member that its catalogue entry does not name: ${foreign}`;
  if (hasLoneSurrogate({ detail, context })) return `${code} holds a lone surrogate`;
  const errors = "errors" in context ? (context.errors ?? []) : [];
  if (errors.some(({ msg }) => Array.from(msg).length > 200)) return "a msg is longer than 200 characters";
  return null;
}

function hasLoneSurrogate(value: unknown): boolean {
  if (typeof value === "string") return !value.isWellFormed();
  if (typeof value !== "object" || value === null) return false;
  return Object.values(value).some(hasLoneSurrogate);
}

function decodeRequest(body: Uint8Array, { source, files, data, output }: ParsedRequest): SlowRequest {
  return {
    source: decodedString(body, source),
    files: files.map(({ key, encoding, content, size }) => ({
      key,
      encoding,
      content: decodedString(body, content),
      size,
    })),
    data: data && textOf(body, data),
    // A cut at 4096 units may include one more, so that it does not split a surrogate pair.
    output: { ...output, filename: output.filename?.slice(0, 4096) ?? null },
  };
}

function textOf(body: Uint8Array, { start, end }: { start: number; end: number }): string {
  return Buffer.from(body.subarray(start, end)).toString("utf8");
}

/** The string of a span, read back from the body with the quotes around it. */
function decodedString(body: Uint8Array, span: StringSpan): string {
  const value: unknown = JSON.parse(textOf(body, { start: span.start - 1, end: span.end + 1 }));
  if (typeof value !== "string") throw new Error("a span does not hold a JSON string");
  const isDescribed =
    span.size === Buffer.byteLength(value) &&
    span.hasEscapes === textOf(body, span).includes("\\") &&
    span.hasLoneSurrogates === !value.isWellFormed();
  if (!isDescribed) throw new Error(`a span is not as it says: ${JSON.stringify(span)}`);
  return value;
}

/** One refusal by each layer, and what the header fields of all answers of the edge say. */
import { FILE_MEDIA_TYPES } from "../../../protocol/file-types.ts";
import {
  BACKEND_TOKEN_HEADER,
  CALLER_HEADER,
  LIMITS_HEADER,
  REQUEST_ID_HEADER,
  REQUEST_ID_PATTERN,
} from "../../../protocol/headers.ts";
import type { ProblemCode } from "../../../rules/problem.ts";
import { type Answer, codeOf } from "./answers.ts";
import { type CheckGroup, defineCheck, observe } from "./check.ts";
import { failure } from "./faults.ts";

/** Typst's message would quote it, and must not be returned. */
const MARK = "mark-of-the-doctor";
export const BROKEN_RENDER = { source: `#panic("${MARK}")` };
export const INVALID_RENDER = { source: "x", files: { "../x": { encoding: "text", content: "" } } };

const REJECTION_FAULTS = {
  accepted: failure`What must be rejected is rendered: another version, a cache or a mock answers.
    → Deploy one version everywhere, with the same SERVICE_MAX_ variables for edge and backends.`,
  "diagnostics-leak": failure`The response contains text of Typst or of the template: another version, or a proxy.
    → Deploy an unchanged release of edge and backends.`,
};

function defineRejectionCheck(id: string, title: string, code: ProblemCode, request: object) {
  return defineCheck(id, title, {
    needs: ["render-pdf"],
    faults: REJECTION_FAULTS,
    faultOfCode: { 200: "accepted" },
    async run(edge) {
      const exchange = await edge.render(request);
      if (exchange.kind === "no-answer" || codeOf(exchange) !== code) return exchange;
      const isLeak = new RegExp(`${MARK}|panicked|┌─|\\.typ\\b`).test(exchange.problem?.detail ?? "");
      const seen = isLeak ? "it contains Typst's message" : `${exchange.status} ${code}`;
      return observe(isLeak ? "diagnostics-leak" : null, seen);
    },
  });
}

export const REJECTIONS: CheckGroup = {
  name: "Rejections",
  needs: ["token"],
  checks: [
    defineRejectionCheck(
      "invalid-request",
      "a file outside the folder gets 400",
      "invalid_template_path",
      INVALID_RENDER,
    ),
    defineRejectionCheck(
      "compile-error",
      "a template that panics gets 422, not Typst's message",
      "template_compile_failed",
      BROKEN_RENDER,
    ),
  ],
};

const WRONG_FIELDS = {
  internal: ({ headers }) => [BACKEND_TOKEN_HEADER, LIMITS_HEADER, CALLER_HEADER].some((name) => headers.has(name)),
  unsafe({ headers }) {
    const policy = headers.get("Content-Security-Policy") ?? "";
    const isSafe = policy.includes("default-src 'none'") && /\bsandbox\b/.test(policy);
    const isSvg = headers.get("Content-Type") === FILE_MEDIA_TYPES.svg;
    return headers.get("X-Content-Type-Options") !== "nosniff" || (isSvg && !isSafe);
  },
  stored({ headers, problem, request, status }) {
    const isConcerned = problem !== null || (request.startsWith("POST ") && status === 200);
    return isConcerned && !/\bno-store\b/.test(headers.get("Cache-Control") ?? "");
  },
  "request-id"({ headers, problem }, all) {
    const id = headers.get(REQUEST_ID_HEADER) ?? "";
    const isRepeated = all.filter((other) => other.headers.get(REQUEST_ID_HEADER) === id).length > 1;
    return !REQUEST_ID_PATTERN.test(id) || (problem?.requestId ?? id) !== id || isRepeated;
  },
} as const satisfies Record<string, (answer: Answer, all: readonly Answer[]) => boolean>;

export const RESPONSE_HEADERS: CheckGroup = {
  name: "Header fields",
  needs: ["health"],
  checks: [
    defineCheck("header-fields", "all answers have the service's header fields", {
      faults: {
        internal: failure`Header fields between edge and backend reach callers: a proxy adds them, or this is a backend.
          → Find out what answers at this URL, and remove the fields there.`,
        unsafe: failure`A proxy in front removes X-Content-Type-Options, or the Content-Security-Policy of an SVG.
          → Let it pass on both: an SVG may hold scripts.`,
        stored: failure`A proxy changes Cache-Control: no-store, and a cache may mix up callers.
          → Exclude /v1/ from caches (Cloudflare: a bypass rule).`,
        "request-id": failure`A proxy removes or replaces X-Request-Id, the key to the logs, or a cache answers.
          → Let it pass on the field as the service sends it, and cache neither /v1/ nor /health.`,
      },
      run({ answers }) {
        for (const fault of ["internal", "unsafe", "stored", "request-id"] as const) {
          const wrong = answers.filter((answer) => WRONG_FIELDS[fault](answer, answers));
          const seen = `${wrong.length} of ${answers.length} answers, such as to ${wrong[0]?.request}`;
          if (wrong.length > 0) return observe(fault, seen);
        }
        return observe(null, `${answers.length} answers`);
      },
    }),
  ],
};

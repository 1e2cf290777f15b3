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
import { codeOf } from "./answers.ts";
import {
  type CheckGroup,
  defineCheck,
  type Examination,
  knownConstraints,
  observe,
  passCheck,
  skipCheck,
} from "./check.ts";
import { failure } from "./faults.ts";
import type { SeenAnswer } from "./server.ts";

/** Typst's message would quote it, and must not be returned. */
const MARK = "mark-of-the-doctor";
export const BROKEN_RENDER = { source: `#panic("${MARK}")` };
export const INVALID_RENDER = { source: "x", files: { "../x": { encoding: "text", content: "" } } };
const MAX_SOURCE_BYTES = 2 * 1024 * 1024;

const REJECTION_FAULTS = {
  accepted: failure`What must be rejected is rendered: another version, a cache or a mock answers.
    → Deploy one version everywhere, with the same SERVICE_MAX_ variables for edge and backends.`,
  "diagnostics-leak": failure`The response contains text of Typst or of the template: another version, or a proxy.
    → Deploy an unchanged release of edge and backends.`,
};

interface Rejection {
  readonly code: ProblemCode;
  readonly needs?: readonly string[];
  /** Null if there is none to send. */
  readonly requestFor: (examination: Examination) => object | null;
}

function defineRejectionCheck(id: string, title: string, { code, requestFor, ...row }: Rejection) {
  return defineCheck(id, title, {
    ...row,
    faults: REJECTION_FAULTS,
    faultOfCode: { 200: "accepted" },
    async run(edge, examination) {
      const request = requestFor(examination);
      if (request === null) return skipCheck("the limit of this deployment is too large to try");
      const exchange = await edge.render(request);
      if (exchange.kind === "no-answer" || codeOf(exchange) !== code) return exchange;
      const isLeak = new RegExp(`${MARK}|panicked|┌─|\\.typ\\b`).test(exchange.problem?.detail ?? "");
      return isLeak
        ? observe("diagnostics-leak", "it contains Typst's message")
        : passCheck(`${exchange.status} ${code}`);
    },
  });
}

export const REJECTIONS: CheckGroup = {
  name: "Rejections",
  needs: ["token"],
  checks: [
    defineRejectionCheck("invalid-request", "a file outside the folder gets 400", {
      code: "invalid_template_path",
      requestFor: () => INVALID_RENDER,
    }),
    defineRejectionCheck("over-limit", "a template one byte over its limit gets 413", {
      code: "template_source_too_large",
      requestFor(examination) {
        const { max_template_source_bytes: limit = MAX_SOURCE_BYTES } = knownConstraints(examination).limits;
        return limit < MAX_SOURCE_BYTES ? { source: "x".repeat(limit + 1) } : null;
      },
    }),
    defineRejectionCheck("compile-error", "a template that panics gets 422, not Typst's message", {
      code: "template_compile_failed",
      needs: ["render-pdf"],
      requestFor: () => BROKEN_RENDER,
    }),
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
} as const satisfies Record<string, (answer: SeenAnswer, all: readonly SeenAnswer[]) => boolean>;

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
        return passCheck(`${answers.length} answers`);
      },
    }),
  ],
};

/**
 * The header fields of all answers of the edge so far. Nothing is sent.
 */
import {
  BACKEND_TOKEN_HEADER,
  CALLER_HEADER,
  LIMITS_HEADER,
  REQUEST_ID_HEADER,
  REQUEST_ID_PATTERN,
} from "../../protocol/headers.ts";
import { type CheckGroup, deploymentCheck, found, ok, skipped } from "./check.ts";
import type { Examination, SeenAnswer } from "./examination.ts";

const PROXY_CAUSE = "A proxy in front removes or replaces header fields of the service.";

const nosniff = deploymentCheck({
  id: "nosniff",
  title: "X-Content-Type-Options: nosniff",
  looksAt: "Every answer has it",
  needs: ["health"],
  faults: {
    missing: {
      severity: "failure",
      cause: PROXY_CAUSE,
      advice: "Let it pass on X-Content-Type-Options, or set it there.",
    },
  },
  run: async ({ answers }) => {
    return everyOf(answers, "no answer", ({ headers }) => headers.get("X-Content-Type-Options") === "nosniff");
  },
});

const noStore = deploymentCheck({
  id: "no-store",
  title: "Cache-Control: no-store",
  looksAt: "Every problem and every rendered file has it",
  needs: ["health"],
  faults: {
    missing: {
      severity: "failure",
      cause: "A cache in front sets its own Cache-Control: documents of one caller could reach another.",
      advice: "Exclude /v1/ from caching (Cloudflare: a cache rule that bypasses).",
    },
  },
  run: async ({ answers }) => {
    const concerned = answers.filter((seen) => seen.problem !== null || isRendered(seen));
    return everyOf(concerned, "no problem or file", ({ headers }) =>
      /\bno-store\b/.test(headers.get("Cache-Control") ?? ""),
    );
  },
});

const svgPolicy = deploymentCheck({
  id: "svg-policy",
  title: "an SVG may not run anything",
  looksAt: "The `Content-Security-Policy` of the rendered SVG has `default-src 'none'` and `sandbox`",
  needs: ["render-svg"],
  faults: {
    missing: {
      severity: "failure",
      cause: PROXY_CAUSE,
      advice: "Let it pass on Content-Security-Policy unchanged: an SVG of a caller may hold scripts.",
    },
  },
  run: async ({ answers }) => {
    const images = answers.filter(({ headers }) => headers.get("Content-Type") === "image/svg+xml");
    return everyOf(images, "no SVG", ({ headers }) => {
      const policy = headers.get("Content-Security-Policy") ?? "";
      return policy.includes("default-src 'none'") && /\bsandbox\b/.test(policy);
    });
  },
});

const serverDetails = deploymentCheck({
  id: "server-details",
  title: "no details of the server",
  looksAt: "`Server` names no version, and neither `X-Powered-By` nor a field between edge and backend is there",
  needs: ["health"],
  faults: {
    version: {
      severity: "warning",
      cause: "A proxy in front reveals its program and version.",
      advice: "Switch it off there (nginx: server_tokens off).",
    },
    internal: {
      severity: "failure",
      cause: "Header fields between edge and backend reach callers: a proxy adds them, or this is a backend.",
      advice: "Find out what answers at this URL, and remove the fields there.",
    },
  },
  run: async ({ answers }) => {
    const internal = [BACKEND_TOKEN_HEADER, LIMITS_HEADER, CALLER_HEADER].filter((name) =>
      answers.some(({ headers }) => headers.has(name)),
    );
    if (internal.length > 0) return found("internal", internal.join(", "));
    const server = answers.map(({ headers }) => headers.get("Server")).find((value) => /[\d/]/.test(value ?? ""));
    if (server) return found("version", `Server: ${server}`);
    const poweredBy = answers.map(({ headers }) => headers.get("X-Powered-By")).find((value) => value !== null);
    return poweredBy ? found("version", `X-Powered-By: ${poweredBy}`) : ok("none");
  },
});

const requestId = deploymentCheck({
  id: "request-id",
  title: "every answer has its request id",
  looksAt: "`X-Request-Id` is a UUID, another one each time, and the fragment of `instance` in problems",
  needs: ["health"],
  faults: {
    missing: {
      severity: "failure",
      cause: PROXY_CAUSE,
      advice: "Let it pass on X-Request-Id unchanged: without it, no request can be found in the logs.",
    },
    repeated: {
      severity: "failure",
      cause: "Two requests have the same id: a cache in front answered one of them.",
      advice: "Exclude /v1/ and /health from caching.",
    },
    "not-in-problem": {
      severity: "failure",
      cause: "A proxy replaces X-Request-Id with its own, so the id that callers report is not in the logs.",
      advice: "Let the proxy keep the field as the service sends it.",
    },
  },
  run: async ({ answers }) => {
    const ids = answers.map(({ headers }) => headers.get(REQUEST_ID_HEADER) ?? "");
    const without = answers.find((_, index) => !REQUEST_ID_PATTERN.test(ids[index] ?? ""));
    if (without !== undefined) return found("missing", without.request);
    if (new Set(ids).size < ids.length) return found("repeated", `${ids.length - new Set(ids).size} of ${ids.length}`);
    const other = answers.find(
      ({ problem, headers }) => problem !== null && problem.requestId !== headers.get(REQUEST_ID_HEADER),
    );
    if (other !== undefined) return found("not-in-problem", other.request);
    return ok(`${ids.length} answers, ${ids.length} ids`);
  },
});

const instance = deploymentCheck({
  id: "instance",
  title: "problems name the URL that was asked",
  looksAt: "`instance` of each problem has the host and path of its request",
  needs: ["health"],
  faults: {
    "other-url": {
      severity: "warning",
      cause: "A proxy in front changes host or path, so the URLs in problems are not those that callers know.",
      advice: "Let it pass on Host and path as the caller sent them.",
    },
  },
  run: async ({ answers }) => {
    const problems = answers.filter(({ problem }) => problem !== null);
    if (problems.length === 0) return skipped("no problem was answered");
    const other = problems.find(({ problem, url }) => {
      const named = URL.canParse(problem?.instance ?? "") ? new URL(problem?.instance ?? "") : null;
      // Where a proxy ends TLS, the scheme of its own request may be another.
      return named?.host !== url.host || named.pathname !== url.pathname;
    });
    if (other !== undefined) return found("other-url", `${other.problem?.instance} for ${other.request}`);
    return ok(`${problems.length} problems`);
  },
});

export const RESPONSE_HEADERS: CheckGroup = {
  name: "Header fields",
  checks: [nosniff, noStore, svgPolicy, serverDetails, requestId, instance],
};

function everyOf(answers: readonly SeenAnswer[], none: string, isRight: (answer: SeenAnswer) => boolean) {
  if (answers.length === 0) return skipped(`${none} to look at`);
  const wrong = answers.filter((answer) => !isRight(answer));
  const [first] = wrong;
  if (first === undefined) return ok(`in ${answers.length} of ${answers.length}`);
  return found("missing", `not in ${wrong.length} of ${answers.length}, such as ${first.request}`);
}

function isRendered({ request, status }: Examination["answers"][number]): boolean {
  return request.startsWith("POST ") && status === 200;
}

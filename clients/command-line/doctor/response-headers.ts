/**
 * Checks the header fields of all answers of the edge so far. Nothing is sent.
 */
import {
  BACKEND_TOKEN_HEADER,
  CALLER_HEADER,
  LIMITS_HEADER,
  REQUEST_ID_HEADER,
  REQUEST_ID_PATTERN,
} from "../../../protocol/headers.ts";
import { check, found, group, ok, skipped } from "./check.ts";
import { failure, warning } from "./faults.ts";
import type { SeenAnswer } from "./server.ts";

const PROXY_CAUSE = "A proxy in front removes or replaces header fields of the service.";

export const RESPONSE_HEADERS = group("Header fields", "health", [
  check("nosniff", "each answer has X-Content-Type-Options: nosniff", {
    faults: { missing: failure`${PROXY_CAUSE} → Let it pass on X-Content-Type-Options, or set it there.` },
    run: ({ answers }) => inEach(answers, ({ headers }) => headers.get("X-Content-Type-Options") === "nosniff"),
  }),
  check("no-store", "problems and files have Cache-Control: no-store", {
    faults: { missing: failure`A cache in front may mix up callers. → Exclude /v1/ (Cloudflare: a bypass rule).` },
    run({ answers }) {
      const isRendered = ({ request, status }: SeenAnswer) => request.startsWith("POST ") && status === 200;
      const concerned = answers.filter((seen) => seen.problem !== null || isRendered(seen));
      return inEach(concerned, ({ headers }) => /\bno-store\b/.test(headers.get("Cache-Control") ?? ""));
    },
  }),
  check("svg-policy", "the Content-Security-Policy of an SVG is a sandbox", {
    needs: ["render-svg"],
    faults: { missing: failure`${PROXY_CAUSE} → Let it pass on Content-Security-Policy: an SVG may hold scripts.` },
    run({ answers }) {
      const images = answers.filter(({ headers }) => headers.get("Content-Type") === "image/svg+xml");
      return inEach(images, ({ headers }) => {
        const policy = headers.get("Content-Security-Policy") ?? "";
        return policy.includes("default-src 'none'") && /\bsandbox\b/.test(policy);
      });
    },
  }),
  check("server-details", "no version of a server, no internal header field", {
    faults: {
      version: warning`A proxy in front reveals its version. → Switch it off there (nginx: server_tokens off).`,
      internal: failure`Header fields between edge and backend reach callers: a proxy adds them, or this is a backend.
        → Find out what answers at this URL, and remove the fields there.`,
    },
    run({ answers }) {
      const valuesOf = (name: string) => answers.flatMap(({ headers }) => headers.get(name) ?? []);
      const internal = [BACKEND_TOKEN_HEADER, LIMITS_HEADER, CALLER_HEADER].filter((name) => valuesOf(name).length > 0);
      if (internal.length > 0) return found("internal", internal.join(", "));
      const server = valuesOf("Server").find((value) => /[\d/]/.test(value));
      if (server !== undefined) return found("version", `Server: ${server}`);
      const [poweredBy] = valuesOf("X-Powered-By");
      return poweredBy === undefined ? ok("none") : found("version", `X-Powered-By: ${poweredBy}`);
    },
  }),
  check("request-id", "each answer has its own X-Request-Id, as in its problem", {
    faults: {
      missing: failure`${PROXY_CAUSE} → Let it pass on X-Request-Id, the key to the logs.`,
      repeated: failure`Two requests have the same id: a cache answers. → Exclude /v1/ and /health from it.`,
      "not-in-problem": failure`A proxy replaces X-Request-Id, so the id that callers report is not in the logs.
        → Let the proxy keep the field as the service sends it.`,
    },
    run({ answers }) {
      const idOf = ({ headers }: SeenAnswer) => headers.get(REQUEST_ID_HEADER) ?? "";
      const without = answers.find((answer) => !REQUEST_ID_PATTERN.test(idOf(answer)));
      if (without !== undefined) return found("missing", without.request);
      const repeated = answers.length - new Set(answers.map(idOf)).size;
      if (repeated > 0) return found("repeated", `${repeated} of ${answers.length}`);
      const other = answers.find((answer) => answer.problem !== null && answer.problem.requestId !== idOf(answer));
      if (other !== undefined) return found("not-in-problem", other.request);
      return ok(`${answers.length} answers, ${answers.length} ids`);
    },
  }),
  check("instance", "problems name the host and path that were asked", {
    faults: { "other-url": warning`A proxy in front changes host or path. → Let it pass on both as they were sent.` },
    run({ answers }) {
      const problems = answers.filter(({ problem }) => problem !== null);
      if (problems.length === 0) return skipped("no problem was answered");
      const other = problems.find(({ problem, url }) => {
        const named = URL.parse(problem?.instance ?? "");
        // Where a proxy ends TLS, the scheme of its own request may be another.
        return named?.host !== url.host || named.pathname !== url.pathname;
      });
      if (other !== undefined) return found("other-url", `${other.problem?.instance} for ${other.request}`);
      return ok(`${problems.length} problems`);
    },
  }),
]);

function inEach(answers: readonly SeenAnswer[], isRight: (answer: SeenAnswer) => boolean) {
  if (answers.length === 0) return skipped("no answer to look at");
  const wrong = answers.filter((answer) => !isRight(answer));
  const [first] = wrong;
  if (first === undefined) return ok(`in ${answers.length} of ${answers.length}`);
  return found("missing", `not in ${wrong.length} of ${answers.length}, such as ${first.request}`);
}

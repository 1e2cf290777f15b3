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
import { check, found, group, ok, skipped } from "./check.ts";
import { failure, warning } from "./faults.ts";
import type { SeenAnswer } from "./server.ts";

const PROXY_CAUSE = "A proxy in front removes or replaces header fields of the service.";

export const RESPONSE_HEADERS = group("Header fields", [
  check("nosniff", {
    title: "X-Content-Type-Options: nosniff",
    looksAt: "Every answer has it",
    needs: ["health"],
    faults: { missing: failure`${PROXY_CAUSE} → Let it pass on X-Content-Type-Options, or set it there.` },
    run: ({ answers }) => inEach(answers, ({ headers }) => headers.get("X-Content-Type-Options") === "nosniff"),
  }),
  check("no-store", {
    title: "Cache-Control: no-store",
    looksAt: "Every problem and every rendered file has it",
    needs: ["health"],
    faults: {
      missing: failure`A cache in front sets its own Cache-Control: documents of one caller could reach another.
        → Exclude /v1/ from caching (Cloudflare: a cache rule that bypasses).`,
    },
    run({ answers }) {
      const isRendered = ({ request, status }: SeenAnswer) => request.startsWith("POST ") && status === 200;
      const concerned = answers.filter((seen) => seen.problem !== null || isRendered(seen));
      return inEach(concerned, ({ headers }) => /\bno-store\b/.test(headers.get("Cache-Control") ?? ""));
    },
  }),
  check("svg-policy", {
    title: "an SVG may not run anything",
    looksAt: "The `Content-Security-Policy` of the rendered SVG has `default-src 'none'` and `sandbox`",
    needs: ["render-svg"],
    faults: {
      missing: failure`${PROXY_CAUSE}
        → Let it pass on Content-Security-Policy unchanged: an SVG of a caller may hold scripts.`,
    },
    run({ answers }) {
      const images = answers.filter(({ headers }) => headers.get("Content-Type") === "image/svg+xml");
      return inEach(images, ({ headers }) => {
        const policy = headers.get("Content-Security-Policy") ?? "";
        return policy.includes("default-src 'none'") && /\bsandbox\b/.test(policy);
      });
    },
  }),
  check("server-details", {
    title: "no details of the server",
    looksAt: "`Server` names no version, and neither `X-Powered-By` nor a field between edge and backend is there",
    needs: ["health"],
    faults: {
      version: warning`A proxy in front reveals its program and version.
        → Switch it off there (nginx: server_tokens off).`,
      internal: failure`
        Header fields between edge and backend reach callers: a proxy adds them, or this is a backend.
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
  check("request-id", {
    title: "every answer has its request id",
    looksAt: "`X-Request-Id` is a UUID, another one each time, and the fragment of `instance` in problems",
    needs: ["health"],
    faults: {
      missing: failure`${PROXY_CAUSE}
        → Let it pass on X-Request-Id unchanged: without it, no request can be found in the logs.`,
      repeated: failure`Two requests have the same id: a cache in front answered one of them.
        → Exclude /v1/ and /health from caching.`,
      "not-in-problem": failure`
        A proxy replaces X-Request-Id with its own, so the id that callers report is not in the logs.
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
  check("instance", {
    title: "problems name the URL that was asked",
    looksAt: "`instance` of each problem has the host and path of its request",
    needs: ["health"],
    faults: {
      "other-url": warning`
        A proxy in front changes host or path, so the URLs in problems are not those that callers know.
        → Let it pass on Host and path as the caller sent them.`,
    },
    run({ answers }) {
      const instances = answers.flatMap(({ problem, url, request }) =>
        problem === null ? [] : [{ instance: problem.instance ?? "", url, request }],
      );
      if (instances.length === 0) return skipped("no problem was answered");
      const other = instances.find(({ instance, url }) => {
        const named = URL.parse(instance);
        // Where a proxy ends TLS, the scheme of its own request may be another.
        return named?.host !== url.host || named.pathname !== url.pathname;
      });
      if (other !== undefined) return found("other-url", `${other.instance} for ${other.request}`);
      return ok(`${instances.length} problems`);
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

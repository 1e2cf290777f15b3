/**
 * Requests that must be rejected, and what the rejection may say.
 */
import { DEFAULT_LIMITS, publishedLimits } from "../../rules/limits.ts";
import { sizeInWords } from "../terminal.ts";
import { faultIn, outcomeOf } from "./answers.ts";
import { check, found, group, ok, skipped } from "./check.ts";
import { known } from "./examination.ts";
import { failure, warning } from "./faults.ts";
import { whyNotSent } from "./renders.ts";

/** In the template that does not compile. Typst quotes it in its message, which must not come back. */
const MARK = "mark-of-the-doctor";
/** No larger body is sent. */
const MAX_SENT_BYTES = 2 * 1024 * 1024;

const NOT_ENFORCED = failure`The limit that is published is not the one that is enforced.
  → Deploy the edge again, and set the same SERVICE_MAX_ variables for edge and backends.`;

/** A request that holds a text, and what answers it if that is over the limit. */
const TEXT_LIMITS = [
  {
    limit: "max_template_source_bytes",
    code: "template_source_too_large",
    requestWith: (text: string) => ({ source: text }),
  },
  { limit: "max_string_bytes", code: "string_too_large", requestWith: (text: string) => ({ source: "x", data: text }) },
  {
    limit: "max_inline_file_bytes",
    code: "template_file_too_large",
    requestWith: (content: string) => ({ source: "x", files: { "a.txt": { encoding: "text", content } } }),
  },
] as const;

export const REJECTIONS = group("Rejections", [
  check("compile-error", {
    title: "a mistake in a template is 422, without details",
    looksAt:
      "A template that panics is answered 422 `template_compile_failed`, and nothing of what Typst says comes back",
    needs: ["token"],
    faults: {
      "diagnostics-leak": failure`
        The response contains text of Typst or of the template: another version, or a debugging proxy.
        → Deploy an unchanged release of edge and backends.`,
      compiled: failure`
        A template that cannot compile was answered with a file, so something other than Typst answered.
        → Find out what answers renders: a cache or a mock between edge and caller.`,
    },
    outcomes: { 200: "compiled" },
    async run(_edge, examination) {
      const request = { source: `#panic("${MARK}")` };
      const obstacle = whyNotSent(examination, request);
      if (obstacle !== null) return skipped(obstacle);
      const exchange = await examination.render(request);
      if (exchange.kind === "no-answer" || outcomeOf(exchange) !== "template_compile_failed") return exchange;
      const text = exchange.body.toString("utf8");
      const isLeak = text.includes(MARK) || /panicked|┌─|\.typ\b/.test(text);
      return isLeak ? found("diagnostics-leak", "it has the message of Typst") : ok("422 template_compile_failed");
    },
  }),
  check("over-limit", {
    title: "a request over a limit is 413",
    looksAt: "A source, a string or a file one byte over its limit, whichever is the smallest, is answered 413",
    needs: ["token"],
    faults: { "not-enforced": NOT_ENFORCED },
    outcomes: { 200: "not-enforced" },
    async run(_edge, examination) {
      const limits = publishedLimits(known(examination.constraints).limits);
      const [smallest] = TEXT_LIMITS.map((entry) => ({ ...entry, bytes: limits[entry.limit] }))
        .filter(({ bytes }) => bytes < MAX_SENT_BYTES && bytes + 1000 < limits.max_request_body_bytes)
        .filter(({ limit }) => limit !== "max_inline_file_bytes" || limits.effective_max_files > 0)
        .toSorted((left, right) => left.bytes - right.bytes);
      if (smallest === undefined) return skipped(`every limit is over ${sizeInWords(MAX_SENT_BYTES)}`);
      const { bytes, code, requestWith } = smallest;
      const exchange = await examination.render(requestWith("x".repeat(bytes + 1)));
      return outcomeOf(exchange) === code ? ok(`413 ${code} at ${sizeInWords(bytes)} and a byte`) : exchange;
    },
  }),
  check("over-declared", {
    title: "a declared length over the limit is 413",
    looksAt:
      "A head with a `Content-Length` over `max_request_body_bytes` is answered 413 before any of the body is sent",
    needs: ["token"],
    faults: {
      "not-enforced": NOT_ENFORCED,
      "waits-for-body": warning`A proxy in front reads the whole body before it passes the request on.
        → Switch off request buffering there (nginx: proxy_request_buffering off), or bound it by its own limit.`,
    },
    outcomes: { 200: "not-enforced", "timed-out": "waits-for-body" },
    async run(edge, { constraints }) {
      // Of a deployment that publishes none, what it has by default.
      const { max_request_body_bytes: limit = DEFAULT_LIMITS.max_request_body_bytes } = known(constraints).limits;
      const exchange = await edge.render({}, edge.credentials, limit + 1);
      if (exchange.kind === "no-answer" || exchange.status !== 413) return exchange;
      // A gateway in front may have a limit of its own, and then answers 413 itself.
      return ok(exchange.problem === null ? "413 of a gateway in front" : "413 request_too_large");
    },
  }),
  check("unknown-path", {
    title: "an unknown path is a problem of the service",
    looksAt: "A path that does not exist is answered 404 `not_found` as a problem (RFC 9457)",
    needs: ["health"],
    faults: {
      "not-routed": warning`
        Only some paths lead to the service: a proxy or the Worker's route passes on only some.
        → Route everything below the base URL to the service.`,
    },
    async run(edge) {
      const exchange = await edge.get("v1/nothing-of-the-doctor");
      if (outcomeOf(exchange) === "not_found") return ok("404 not_found");
      return exchange.kind === "answer" ? found("not-routed", faultIn(exchange).seen) : exchange;
    },
  }),
]);

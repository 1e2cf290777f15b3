/**
 * Requests that must be rejected, and what the rejection may say.
 */
import { DEFAULT_LIMITS, type LimitName } from "../../rules/limits.ts";
import { sizeInWords } from "../terminal.ts";
import { faultIn, isAnswer, problemIn } from "./answer-faults.ts";
import { type CheckGroup, deploymentCheck, found, ok, skipped } from "./check.ts";
import { whyNotSent } from "./renders.ts";
import { limitsOf } from "./rules.ts";

/** In the template that does not compile. Typst quotes it in its message, which must not come back. */
const MARK = "mark-of-the-doctor";
/** No larger body is sent. */
const MAX_SENT_BYTES = 2 * 1024 * 1024;

const compileError = deploymentCheck({
  id: "compile-error",
  title: "a mistake in a template is 422, without details",
  looksAt:
    "A template that panics is answered 422 `template_compile_failed`, and nothing of what Typst says comes back",
  needs: ["token"],
  faults: {
    "diagnostics-leak": {
      severity: "failure",
      cause: "The answer contains text of Typst or of the template: another version, or a debugging proxy.",
      advice: "Deploy an unchanged release of edge and backends.",
    },
    compiled: {
      severity: "failure",
      cause: "A template that cannot compile was answered with a file, so something other than Typst answered.",
      advice: "Find out what answers renders: a cache or a mock between edge and caller.",
    },
  },
  async run(examination) {
    const request = { source: `#panic("${MARK}")` };
    const obstacle = whyNotSent(examination, request);
    if (obstacle !== null) return skipped(obstacle);
    const exchange = await examination.render(request);
    if (exchange.kind === "no-answer") return faultIn(exchange);
    if (exchange.status === 200) return found("compiled", "status 200");
    if (problemIn(exchange)?.code !== "template_compile_failed") return faultIn(exchange);
    const text = exchange.body.toString("utf8");
    if (text.includes(MARK) || /panicked|┌─|\.typ\b/.test(text)) {
      return found("diagnostics-leak", "the answer has the message of Typst");
    }
    return ok("422 template_compile_failed");
  },
});

const LIMIT_FAULTS = {
  "not-enforced": {
    severity: "failure",
    cause: "The limit that is published is not the one that is enforced.",
    advice: "Deploy the edge again, and set the same SERVICE_MAX_ variables for edge and backends.",
  },
} as const;

const overLimit = deploymentCheck({
  id: "over-limit",
  title: "a request over a limit is 413",
  looksAt: "A source, a string or a file one byte over its limit, whichever is the smallest, is answered 413",
  needs: ["token"],
  faults: LIMIT_FAULTS,
  async run(examination) {
    const limits = limitsOf(examination);
    const candidates = [
      { limit: "max_template_source_bytes", code: "template_source_too_large" },
      { limit: "max_string_bytes", code: "string_too_large" },
      { limit: "max_inline_file_bytes", code: "template_file_too_large" },
    ] as const satisfies readonly { limit: LimitName; code: string }[];
    const [smallest] = candidates
      .filter(({ limit }) => limits[limit] < MAX_SENT_BYTES && limits[limit] + 1000 < limits.max_request_body_bytes)
      .filter(({ limit }) => limit !== "max_inline_file_bytes" || limits.effective_max_files > 0)
      .toSorted((left, right) => limits[left.limit] - limits[right.limit]);
    if (smallest === undefined) return skipped(`every limit is over ${sizeInWords(MAX_SENT_BYTES)}`);
    const tooLong = "x".repeat(limits[smallest.limit] + 1);
    const requests = {
      max_template_source_bytes: { source: tooLong },
      max_string_bytes: { source: "x", data: tooLong },
      max_inline_file_bytes: { source: "x", files: { "a.txt": { encoding: "text", content: tooLong } } },
    } as const;
    const exchange = await examination.render(requests[smallest.limit]);
    if (problemIn(exchange)?.code === smallest.code) {
      return ok(`413 ${smallest.code} at ${sizeInWords(limits[smallest.limit])} and a byte`);
    }
    return isAnswer(exchange, 200) ? found("not-enforced", "status 200") : faultIn(exchange);
  },
});

const overDeclared = deploymentCheck({
  id: "over-declared",
  title: "a declared length over the limit is 413",
  looksAt:
    "A head with a `Content-Length` over `max_request_body_bytes` is answered 413 before any of the body is sent",
  needs: ["token"],
  faults: {
    ...LIMIT_FAULTS,
    "waits-for-body": {
      severity: "warning",
      cause: "A proxy in front reads the whole body before it passes the request on.",
      advice: "Switch off request buffering there (nginx: proxy_request_buffering off), or bound it by its own limit.",
    },
  },
  async run(examination) {
    const { max_request_body_bytes } = limitsOf(examination);
    // Of a deployment that publishes none, what it has by default.
    const limit = Math.min(max_request_body_bytes, Number.MAX_SAFE_INTEGER - 1);
    const declaredBytes = limit > 1e12 ? DEFAULT_LIMITS.max_request_body_bytes + 1 : limit + 1;
    const exchange = await examination.askWithToken({
      method: "POST",
      path: "v1/render",
      headers: { "Content-Type": "application/json" },
      declaredBytes,
    });
    if (exchange.kind === "no-answer" && exchange.fault === "timed-out") {
      return found("waits-for-body", exchange.seen);
    }
    // A gateway in front may have a limit of its own, and then answers 413 itself.
    if (isAnswer(exchange, 413)) {
      return ok(problemIn(exchange) === null ? "413 of a gateway in front" : "413 request_too_large");
    }
    return isAnswer(exchange, 200) ? found("not-enforced", "status 200") : faultIn(exchange);
  },
});

const unknownPath = deploymentCheck({
  id: "unknown-path",
  title: "an unknown path is a problem of the service",
  looksAt: "A path that does not exist is answered 404 `not_found` as a problem (RFC 9457)",
  needs: ["health"],
  faults: {
    "not-routed": {
      severity: "warning",
      cause: "Only some paths lead to the service: a proxy or the Worker's route passes on only some.",
      advice: "Route everything below the base URL to the service.",
    },
  },
  async run(examination) {
    const exchange = await examination.ask({ path: "v1/nothing-of-the-doctor" });
    if (problemIn(exchange)?.code === "not_found") return ok("404 not_found");
    const fault = faultIn(exchange);
    return exchange.kind === "answer" ? found("not-routed", fault.seen) : fault;
  },
});

export const REFUSALS: CheckGroup = {
  name: "Rejections",
  checks: [compileError, overLimit, overDeclared, unknownPath],
};

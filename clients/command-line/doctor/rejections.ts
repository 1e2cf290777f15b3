/**
 * Requests that must be rejected, and what the rejection may say.
 */
import { DEFAULT_LIMITS } from "../../../rules/limits.ts";
import { sizeInWords } from "../../typescript/size-in-words.ts";
import { faultIn, outcomeOf } from "./answers.ts";
import { check, found, group, ok, skipped } from "./check.ts";
import { known } from "./examination.ts";
import { failure, warning } from "./faults.ts";
import { whyNotSent } from "./renders.ts";

/** A word in the template that does not compile. Typst's message quotes it, and must not be returned. */
const MARK = "mark-of-the-doctor";
/** No larger body is sent. */
const MAX_SENT_BYTES = 2 * 1024 * 1024;

const NOT_ENFORCED = failure`The limit that is published is not the one that is enforced.
  → Deploy the edge again, and set the same SERVICE_MAX_ variables for edge and backends.`;

export const REJECTIONS = group("Rejections", "token", [
  check("compile-error", "a template that panics gets 422, not Typst's message", {
    faults: {
      "diagnostics-leak": failure`The response contains text of Typst or of the template: another version, or a proxy.
        → Deploy an unchanged release of edge and backends.`,
      compiled: failure`Something other than Typst answers renders. → Look for a cache or a mock in front of it.`,
    },
    outcomes: { 200: "compiled" },
    async run(edge, examination) {
      const request = { source: `#panic("${MARK}")` };
      const obstacle = whyNotSent(examination, request);
      if (obstacle !== null) return skipped(obstacle);
      const exchange = await edge.render(request);
      if (exchange.kind === "no-answer" || outcomeOf(exchange) !== "template_compile_failed") return exchange;
      const text = exchange.body.toString("utf8");
      const isLeak = text.includes(MARK) || /panicked|┌─|\.typ\b/.test(text);
      return isLeak ? found("diagnostics-leak", "it contains Typst's message") : ok("422 template_compile_failed");
    },
  }),
  check("over-limit", "a template one byte over its limit gets 413", {
    faults: { "not-enforced": NOT_ENFORCED },
    outcomes: { 200: "not-enforced" },
    async run(edge, { constraints }) {
      const { max_template_source_bytes: limit = MAX_SENT_BYTES } = known(constraints).limits;
      if (limit >= MAX_SENT_BYTES) return skipped(`its limit is over ${sizeInWords(MAX_SENT_BYTES)}`);
      const exchange = await edge.render({ source: "x".repeat(limit + 1) });
      return outcomeOf(exchange) === "template_source_too_large"
        ? ok(`413 one byte above ${sizeInWords(limit)}`)
        : exchange;
    },
  }),
  check("over-declared", "a Content-Length over the limit gets 413, body unsent", {
    faults: {
      "not-enforced": NOT_ENFORCED,
      "waits-for-body": warning`A proxy in front reads the whole body before it passes the request on.
        → Switch off request buffering there (nginx: proxy_request_buffering off), or bound it by its own limit.`,
    },
    outcomes: { 200: "not-enforced", "timed-out": "waits-for-body" },
    async run(edge, { constraints }) {
      // A deployment that publishes none is taken to have the default.
      const { max_request_body_bytes: limit = DEFAULT_LIMITS.max_request_body_bytes } = known(constraints).limits;
      const exchange = await edge.render({}, edge.credentials, limit + 1);
      if (exchange.kind === "no-answer" || exchange.status !== 413) return exchange;
      // A gateway in front may have its own limit, and then answers 413 itself.
      return ok(exchange.problem === null ? "413 from a gateway in front" : "413 request_too_large");
    },
  }),
  check("unknown-path", "an unknown path gets a 404 problem (RFC 9457)", {
    needs: ["health"],
    faults: { "not-routed": warning`Only some paths reach the service. → Route all paths below the base URL to it.` },
    async run(edge) {
      const exchange = await edge.get("v1/nothing-of-the-doctor");
      if (outcomeOf(exchange) === "not_found") return ok("404 not_found");
      return exchange.kind === "answer" ? found("not-routed", faultIn(exchange).seen) : exchange;
    },
  }),
]);

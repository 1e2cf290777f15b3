/**
 * Whether the service answers at the URL, and whether it asks for a token and takes the right one.
 */
import * as v from "valibot";
import { API_TOKEN_HEADER } from "../../protocol/headers.ts";
import { asConstraints } from "../../rules/published-rules.ts";
import { type Exchange, faultIn, isOk, jsonIn, outcomeOf } from "./answers.ts";
import { check, found, group, ok } from "./check.ts";
import { EDGE_LOG, EDGE_SECRETS, failure } from "./faults.ts";

/** Not the form of any real token. */
export const WRONG_TOKEN = "wrong-token-of-the-doctor";

/** A backend's has the version of Typst and the sandbox as well. */
export const HEALTH = v.looseObject({ status: v.literal("ok"), typst: v.optional(v.string()) });

export const SERVICE = group("Service and token", [
  check("health", {
    title: "/health is that of the edge",
    looksAt: "Status 200 and a JSON object of strings, and that it is the edge's, not a backend's",
    needs: ["http"],
    faults: {
      settings: failure`The edge cannot use one of its settings: its log names which.
        → Read the log (${EDGE_LOG}) and correct the setting.`,
      backend: failure`This URL leads to a backend: it must be reachable only from the edge.
        → Give the URL of the edge, and close the backend's port to everybody else.`,
    },
    outcomes: { service_unavailable: "settings" },
    async run(edge) {
      const exchange = await edge.get("health");
      const health = jsonIn(exchange, HEALTH);
      if (health === null) return exchange;
      return "typst" in health || "sandbox" in health ? found("backend", "it names Typst and a sandbox") : ok("ok");
    },
  }),
  check("token-missing", {
    title: "without a token nothing is served",
    looksAt: "`GET /v1/constraints` and `POST /v1/render` without a token are answered 403 `forbidden`",
    needs: ["health"],
    faults: {
      open: failure`Anybody can use the service: a proxy in front adds the token, or answers from its cache.
        → Let the proxy pass on X-Service-Api-Token unchanged, and cache nothing below /v1/.`,
      "no-tokens": failure`The edge has no tokens: SERVICE_API_TOKENS is not set, and it rejects everybody.
        → Set it where this URL is served: ${EDGE_SECRETS}.`,
    },
    outcomes: { service_unavailable: "no-tokens" },
    async run(edge) {
      for (const send of [() => edge.get("v1/constraints"), () => edge.render({ source: "x" }, {})]) {
        const exchange = await send();
        if (isServed(exchange)) return found("open", faultIn(exchange).seen);
        if (outcomeOf(exchange) !== "forbidden") return exchange;
      }
      return ok("403 forbidden");
    },
  }),
  check("token-wrong", {
    title: "a wrong token is rejected",
    looksAt: "`GET /v1/constraints` with a wrong token is answered 403 `forbidden`",
    needs: ["token-missing"],
    faults: {
      open: failure`Any token is accepted: a proxy in front replaces it with the right one.
        → Let the proxy pass on X-Service-Api-Token unchanged.`,
    },
    async run(edge) {
      const exchange = await edge.get("v1/constraints", { [API_TOKEN_HEADER]: WRONG_TOKEN });
      if (isServed(exchange)) return found("open", faultIn(exchange).seen);
      return outcomeOf(exchange) === "forbidden" ? ok("403 forbidden") : exchange;
    },
  }),
  check("token", {
    title: "the token is accepted",
    looksAt: "`GET /v1/constraints` with the token of `--token-file` or `SERVICE_API_TOKEN` is answered 200",
    needs: ["token-missing"],
    faults: {
      "none-known": failure`No token was given, so nothing that needs one could be checked.
        → Set SERVICE_API_TOKEN, or name a file that holds the token by --token-file.`,
      rejected: failure`
        The token is not among SERVICE_API_TOKENS of this edge: it is another environment's, or has been replaced.
        → Compare it with the secret of the environment that serves this URL, without the name: in front of it.`,
      "not-constraints": failure`
        The response is not a constraints document: a proxy changes it, or another service answers.
        → Fetch /v1/constraints with curl and look at what comes.`,
    },
    outcomes: { forbidden: "rejected", 200: "not-constraints" },
    async run(edge, examination) {
      if (examination.target.token === "") return found("none-known", "no token");
      const exchange = await edge.get("v1/constraints", edge.credentials);
      const document = jsonIn(exchange, v.record(v.string(), v.unknown()));
      examination.constraints = asConstraints(document);
      if (examination.constraints === null) return exchange;
      examination.document = document;
      return ok("200");
    },
  }),
]);

/** Whether it is an answer that needs the token. A page of somebody else has status 200 as well. */
function isServed(exchange: Exchange): boolean {
  return isOk(exchange) && /^application\/(?:json|pdf)\b/.test(exchange.headers.get("Content-Type") ?? "");
}

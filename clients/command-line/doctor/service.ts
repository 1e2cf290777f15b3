/**
 * Whether the service answers at the URL, and whether it requires a token and accepts the right one.
 */
import * as v from "valibot";
import { API_TOKEN_HEADER } from "../../../protocol/headers.ts";
import { asConstraints } from "../../../rules/published-rules.ts";
import { mediaType } from "../../typescript/transport.ts";
import { isOk, jsonIn, outcomeOf } from "./answers.ts";
import { check, found, group, ok } from "./check.ts";
import { EDGE_LOG, EDGE_SECRETS, failure } from "./faults.ts";

/** No real token has this form. */
export const WRONG_TOKEN = "wrong-token-of-the-doctor";

/** The body of `/health`. A backend's also has the version of Typst and the sandbox. */
export const HEALTH = v.looseObject({ status: v.literal("ok"), typst: v.optional(v.string()) });

export const SERVICE = group("Service and token", "health", [
  check("health", "/health is the edge's, not a backend's", {
    needs: ["http"],
    faults: {
      settings: failure`The edge cannot use one of its settings. → Read which in its log (${EDGE_LOG}).`,
      backend: failure`This is the URL of a backend. → Give the edge's URL, and close the backend's port to others.`,
    },
    outcomes: { service_unavailable: "settings", not_found: "wrong-path" },
    async run(edge) {
      const exchange = await edge.get("health");
      const health = jsonIn(exchange, HEALTH);
      if (health === null) return exchange;
      return "typst" in health || "sandbox" in health ? found("backend", "it names Typst and a sandbox") : ok("ok");
    },
  }),
  check("token-missing", "without a token, constraints and renders get 403", {
    faults: {
      open: failure`Anybody can use the service: a proxy in front adds the token, or answers from its cache.
        → Let the proxy pass on X-Service-Api-Token unchanged, and cache nothing below /v1/.`,
      "no-tokens": failure`The edge rejects every request: SERVICE_API_TOKENS is not set. → Set it: ${EDGE_SECRETS}.`,
    },
    outcomes: { service_unavailable: "no-tokens" },
    async run(edge) {
      for (const send of [() => edge.get("v1/constraints"), () => edge.render({ source: "x" }, {})]) {
        const exchange = await send();
        if (outcomeOf(exchange) === "forbidden") continue;
        // A page of another service has status 200, too.
        const isServed = isOk(exchange) && /^application\/(?:json|pdf)$/.test(mediaType(exchange.headers));
        return isServed ? found("open", `200 ${mediaType(exchange.headers)}`) : exchange;
      }
      return ok("403 forbidden");
    },
  }),
  check("token-wrong", "a wrong token gets 403", {
    needs: ["token-missing"],
    faults: { open: failure`Any token is accepted: a proxy replaces it. → Let it pass on X-Service-Api-Token.` },
    outcomes: { 200: "open" },
    async run(edge) {
      const exchange = await edge.get("v1/constraints", { [API_TOKEN_HEADER]: WRONG_TOKEN });
      return outcomeOf(exchange) === "forbidden" ? ok("403 forbidden") : exchange;
    },
  }),
  check("token", "the token is accepted", {
    needs: ["token-missing"],
    faults: {
      "none-known": failure`No token was given, so little could be checked. → Set SERVICE_API_TOKEN or --token-file.`,
      rejected: failure`The token is not among SERVICE_API_TOKENS of this edge: it is another environment's, or old.
        → Compare it with the secret of the environment that serves this URL, without its name: prefix.`,
      "not-constraints": failure`The response is not a constraints document: a proxy or another service answers.
        → Fetch /v1/constraints with curl and look at the response.`,
    },
    outcomes: { forbidden: "rejected", 200: "not-constraints" },
    async run(edge, examination) {
      if (examination.target.token === "") return found("none-known", "no token");
      const exchange = await edge.get("v1/constraints", edge.credentials);
      examination.constraints = asConstraints(jsonIn(exchange, v.unknown()));
      return examination.constraints === null ? exchange : ok("200");
    },
  }),
]);

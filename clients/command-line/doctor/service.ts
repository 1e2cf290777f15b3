/** Whether the edge can be reached at the URL, and whether it requires a token and accepts the right one. */
import { once } from "node:events";
import { isIP } from "node:net";
import { connect } from "node:tls";
import * as v from "valibot";
import { API_TOKEN_HEADER } from "../../../protocol/headers.ts";
import { asConstraints } from "../../../rules/published-rules.ts";
import { mediaType, parseJson } from "../../typescript/transport.ts";
import { proxyOf } from "../proxy.ts";
import { LOOPBACK_HOSTS } from "../service-location.ts";
import { codeOf, isOk, readJson } from "./answers.ts";
import { type CheckGroup, defineCheck, observe, skipCheck } from "./check.ts";
import { EDGE_LOG, EDGE_SECRETS, failure, warning } from "./faults.ts";

/** No real token has this form. */
export const WRONG_TOKEN = "wrong-token-of-the-doctor";
/** Automatic renewal comes earlier: for a certificate of a short life, when a third of it is left. */
const RENEWAL_DAYS = 14;
/** The first connection has been made already. */
const TLS_MILLISECONDS = 10_000;
const DAY_MILLISECONDS = 24 * 60 * 60 * 1000;

/** The body of `/health`. A backend's also has the version of Typst and the sandbox. */
export const HEALTH = v.looseObject({ status: v.literal("ok"), typst: v.optional(v.string()) });

const INSTANCE = v.looseObject({ instance: v.string() });

export const SERVICE: CheckGroup = {
  name: "Service and token",
  needs: ["health"],
  checks: [
    defineCheck("health", "the edge can be reached and answers /health", {
      needs: [],
      faults: {
        settings: failure`The edge cannot use one of its settings. → Read which in its log (${EDGE_LOG}).`,
        backend: failure`This is the URL of a backend. → Give the edge's URL, and close the backend's port to others.`,
      },
      faultOfCode: { service_unavailable: "settings", not_found: "wrong-path" },
      async run(edge) {
        const exchange = await edge.get("health");
        const health = readJson(exchange, HEALTH);
        if (exchange.kind === "no-answer" || health === null) return exchange;
        if (health.typst !== undefined) return observe("backend", "it names Typst");
        const proxy = proxyOf(edge.url.href);
        return observe(null, `after ${exchange.milliseconds} ms${proxy?.isUsed ? `, by the proxy ${proxy.url}` : ""}`);
      },
    }),
    defineCheck("tls", "TLS, and a certificate that stays valid", {
      faults: {
        unencrypted: warning`Others can read token and documents in transit. → Serve it over TLS and give that URL.`,
        "ends-soon": warning`The certificate should have been renewed by now. → Renew it by hand and read the output.`,
      },
      async run({ url }) {
        if (url.protocol !== "https:") {
          const isHere = LOOPBACK_HOSTS.has(url.hostname);
          return isHere ? observe(null, "none, and not needed on this machine") : observe("unencrypted", url.protocol);
        }
        if (proxyOf(url.href)?.isUsed) return skipCheck("a proxy is between");
        const certificate = await certificateDays(url).catch(() => null);
        if (certificate === null) return skipCheck("no second connection to read the certificate");
        const { daysLeft, lifeDays } = certificate;
        const isLate = daysLeft < Math.min(RENEWAL_DAYS, lifeDays / 3);
        return observe(isLate ? "ends-soon" : null, `certificate valid for ${daysLeft} more days`, { daysLeft });
      },
    }),
    defineCheck("path", "below a path, its page and its problems keep the path", {
      faults: {
        page: failure`The page asks for its files outside the path: a proxy changes it, or serves only some paths below it.
          → Have the proxy pass on everything below the path, unchanged but for the path itself.`,
        instance: warning`The proxy takes the path off and does not say which, so instance of a problem lacks it.
          → Have it set X-Forwarded-Prefix (nginx: proxy_set_header X-Forwarded-Prefix /path;).`,
      },
      async run(edge) {
        const { pathname } = edge.url;
        if (pathname === "/") return observe(null, "it is served at the root");
        const page = await edge.get("");
        const [, script] = /<script[^>]* src="([^"]+)"/.exec(isOk(page) ? page.body.toString() : "") ?? [];
        if (script === undefined) return observe("page", "no page, or one without its script");
        const place = new URL(script, edge.url).pathname;
        if (!place.startsWith(pathname)) return observe("page", place);
        const file = await edge.get(place.slice(pathname.length));
        if (!isOk(file) || mediaType(file.headers) !== "text/javascript") return observe("page", `${place} is missing`);
        const refused = await edge.get("v1/constraints", { [API_TOKEN_HEADER]: WRONG_TOKEN });
        if (codeOf(refused) !== "forbidden" || refused.kind === "no-answer") return refused;
        const problem = v.safeParse(INSTANCE, parseJson(refused.body.toString()));
        const instance = problem.success ? problem.output.instance : "";
        const isKept = URL.canParse(instance) && new URL(instance).pathname === `${pathname}v1/constraints`;
        return observe(isKept ? null : "instance", isKept ? pathname : instance);
      },
    }),
    defineCheck("token-refused", "without a token, or with a wrong one, it answers 403", {
      faults: {
        open: failure`Anybody can use the service: a proxy in front adds the token, or answers from its cache.
          → Let the proxy pass on X-Service-Api-Token unchanged, and cache nothing below /v1/.`,
        "no-tokens": failure`The edge rejects every request: SERVICE_API_TOKENS is not set. → Set it: ${EDGE_SECRETS}.`,
      },
      faultOfCode: { service_unavailable: "no-tokens" },
      async run(edge) {
        const requests = [
          () => edge.get("v1/constraints"),
          () => edge.render({ source: "x" }, {}),
          () => edge.get("v1/constraints", { [API_TOKEN_HEADER]: WRONG_TOKEN }),
        ];
        for (const send of requests) {
          const exchange = await send();
          if (codeOf(exchange) === "forbidden") continue;
          // A page of another service has status 200, too.
          const isServed = isOk(exchange) && /^application\/(?:json|pdf)$/.test(mediaType(exchange.headers));
          return isServed ? observe("open", `200 ${mediaType(exchange.headers)}`) : exchange;
        }
        return observe(null, "403 forbidden");
      },
    }),
    defineCheck("token", "the token is accepted", {
      needs: ["token-refused"],
      faults: {
        "none-known": failure`No token was given, so little could be checked. → Set SERVICE_API_TOKEN or --token-file.`,
        rejected: failure`The token is not among SERVICE_API_TOKENS of this edge: it is another environment's, or old.
          → Compare it with the secret of the environment that serves this URL, without its name: prefix.`,
      },
      faultOfCode: { forbidden: "rejected" },
      async run(edge, examination) {
        if (examination.target.token === "") return observe("none-known", "no token");
        const exchange = await edge.get("v1/constraints", edge.credentials);
        examination.constraints = asConstraints(readJson(exchange, v.unknown()));
        return examination.constraints === null ? exchange : observe(null, "200");
      },
    }),
  ],
};

/** By a connection of its own: `fetch`, which has accepted the certificate, does not show it. */
async function certificateDays({ hostname, port }: URL) {
  const host = hostname.replace(/^\[|\]$/g, "");
  const socket = connect({ host, port: Number(port || 443), ...(isIP(host) === 0 && { servername: host }) });
  try {
    await once(socket, "secureConnect", { signal: AbortSignal.timeout(TLS_MILLISECONDS) });
    const { valid_from, valid_to } = socket.getPeerCertificate();
    const [startsAt, endsAt] = [Date.parse(valid_from), Date.parse(valid_to)];
    return {
      daysLeft: Math.floor((endsAt - Date.now()) / DAY_MILLISECONDS),
      lifeDays: (endsAt - startsAt) / DAY_MILLISECONDS,
    };
  } finally {
    socket.destroy();
  }
}

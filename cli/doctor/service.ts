/**
 * Whether the service answers at the URL, and whether it asks for a token and takes the right one.
 */

import { API_TOKEN_HEADER } from "../../protocol/headers.ts";
import { asConstraints } from "../../rules/published-rules.ts";
import { faultIn, isAnswer, jsonIn, problemIn } from "./answer-faults.ts";
import { type CheckGroup, deploymentCheck, found, ok } from "./check.ts";
import type { Examination } from "./examination.ts";
import { isRecord } from "./json-values.ts";
import type { Exchange } from "./probe.ts";
import { EDGE_LOG, EDGE_SECRETS } from "./ways-to-deploy.ts";

/** Not the form of any real token. */
export const WRONG_TOKEN = "wrong-token-of-the-doctor";

const health = deploymentCheck({
  id: "health",
  title: "/health is that of the edge",
  looksAt: "Status 200 and a JSON object of strings, and that it is the edge's, not a backend's",
  needs: ["http"],
  faults: {
    settings: {
      severity: "failure",
      cause: "A setting of the edge cannot be used: its log names which.",
      advice: `Read the log (${EDGE_LOG}) and correct the setting.`,
    },
    backend: {
      severity: "failure",
      cause: "This URL leads to a backend: it must be reachable only from the edge.",
      advice: "Give the URL of the edge, and close the backend's port to everybody else.",
    },
  },
  async run({ health: answer }) {
    if (answer === null) throw new Error("the check before this one asks for /health");
    if (answer.status !== 200) return problemIn(answer) === null ? faultIn(answer) : found("settings", "503");
    const value = jsonIn(answer);
    if (!isRecord(value) || value.status !== "ok") return faultIn(answer);
    if ("typst" in value || "sandbox" in value) return found("backend", "it names Typst and a sandbox");
    return ok("ok");
  },
});

const tokenMissing = deploymentCheck({
  id: "token-missing",
  title: "without a token nothing is served",
  looksAt: "`GET /v1/constraints` and `POST /v1/render` without a token are answered 403 `forbidden`",
  needs: ["health"],
  faults: {
    open: {
      severity: "failure",
      cause: "Anybody can use the service: a proxy in front adds the token, or answers from its cache.",
      advice: "Let the proxy pass on X-Service-Api-Token unchanged, and cache nothing below /v1/.",
    },
    "no-tokens": {
      severity: "failure",
      cause: "The edge has no tokens: SERVICE_API_TOKENS is not set, and it rejects everybody.",
      advice: `Set it where this URL is served: ${EDGE_SECRETS}.`,
    },
  },
  async run(examination) {
    const headers = { "Content-Type": "application/json" };
    const render = { method: "POST", path: "v1/render", headers, body: JSON.stringify({ source: "x" }) } as const;
    for (const request of [{ path: "v1/constraints" }, render]) {
      const exchange = await examination.ask(request);
      const rejection = rejectionOf(exchange);
      if (rejection === null) return faultIn(exchange);
      if (rejection !== "forbidden") return found(rejection, faultIn(exchange).seen);
    }
    return ok("403 forbidden");
  },
});

const tokenWrong = deploymentCheck({
  id: "token-wrong",
  title: "a wrong token is rejected",
  looksAt: "`GET /v1/constraints` with a wrong token is answered 403 `forbidden`",
  needs: ["token-missing"],
  faults: {
    open: {
      severity: "failure",
      cause: "Any token is accepted: a proxy in front replaces it with the right one.",
      advice: "Let the proxy pass on X-Service-Api-Token unchanged.",
    },
  },
  async run(examination) {
    const exchange = await examination.ask({ path: "v1/constraints", headers: { [API_TOKEN_HEADER]: WRONG_TOKEN } });
    const rejection = rejectionOf(exchange);
    if (rejection === "forbidden") return ok("403 forbidden");
    return rejection === "open" ? found("open", faultIn(exchange).seen) : faultIn(exchange);
  },
});

const token = deploymentCheck({
  id: "token",
  title: "the token is accepted",
  looksAt: "`GET /v1/constraints` with the token of `--token-file` or `SERVICE_API_TOKEN` is answered 200",
  needs: ["token-missing"],
  faults: {
    "none-known": {
      severity: "failure",
      cause: "No token was given, so nothing that needs one could be checked.",
      advice: "Set SERVICE_API_TOKEN, or name a file that holds the token by --token-file.",
    },
    rejected: {
      severity: "failure",
      cause:
        "The token is not among SERVICE_API_TOKENS of this edge: it is another environment's, or has been replaced.",
      advice:
        "Compare it with the secret of the environment that serves this URL; the name: in front of it does not belong to it.",
    },
    "not-constraints": {
      severity: "failure",
      cause: "The answer is not a constraints document: a proxy changes it, or another service answers.",
      advice: "Fetch /v1/constraints with curl and look at what comes.",
    },
  },
  async run(examination) {
    if (examination.target.token === "") return found("none-known", "no token");
    const exchange = await examination.askWithToken({ path: "v1/constraints" });
    if (problemIn(exchange)?.code === "forbidden") return found("rejected", faultIn(exchange).seen);
    if (!isAnswer(exchange, 200)) return faultIn(exchange);
    const document = jsonIn(exchange);
    const parsed = asConstraints(document);
    if (parsed === null || !isRecord(document)) return found("not-constraints", faultIn(exchange).seen);
    examination.constraints = { document, parsed };
    return ok("200");
  },
});

export const SERVICE: CheckGroup = { name: "Service and token", checks: [health, tokenMissing, tokenWrong, token] };

/** How a request with no right token was answered; null if by nothing that the service answers. */
function rejectionOf(exchange: Exchange): "forbidden" | "no-tokens" | "open" | null {
  const code = problemIn(exchange)?.code;
  if (code === "forbidden") return "forbidden";
  if (code === "service_unavailable") return "no-tokens";
  // A page of somebody else has status 200 as well.
  return isAnswer(exchange, 200) && isOfService(exchange) ? "open" : null;
}

function isOfService({ headers }: Extract<Exchange, { kind: "answer" }>): boolean {
  return /^application\/(?:json|pdf)\b/.test(headers.get("Content-Type") ?? "");
}

/** The constraints, for checks that need the check `token`. */
export function constraintsOf({ constraints }: Examination): NonNullable<Examination["constraints"]> {
  if (constraints === null) throw new Error("a check without constraints must need the check of the token");
  return constraints;
}

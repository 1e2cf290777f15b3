/**
 * What can be wrong with the answer to any request: none came, or something other than the service answered.
 */
import { asServiceProblem, type ServiceProblem } from "../../client/service-problem.ts";
import { mediaType, parseJson } from "../../client/transport.ts";
import { PROBLEM_MEDIA_TYPE } from "../../rules/problem.ts";
import type { Fault, Verdict } from "./check.ts";
import { cloudflareErrorIn } from "./cloudflare-errors.ts";
import type { Answer, Exchange } from "./probe.ts";

/** Faults that every check can find. docs/doctor.md lists them in a table of their own. */
export const ANSWER_FAULTS = {
  "timed-out": {
    severity: "failure",
    cause: "The server hangs or is overloaded, or a firewall drops the packets of this connection.",
    advice: "Send the same request with curl on the host itself and look at its load; on a slow line, raise --timeout.",
  },
  "connection-failed": {
    severity: "failure",
    cause: "Nothing listens there now, or the connection was closed in the middle of an answer.",
    advice: "Check whether the process or container has just ended or restarted, and read its last log lines.",
  },
  "tls-failed": {
    severity: "failure",
    cause: "No TLS connection could be made: a certificate that is not trusted, or a port without TLS.",
    advice: "Look at the certificate with openssl s_client; a private authority goes into NODE_EXTRA_CA_CERTS.",
  },
  "not-http": {
    severity: "failure",
    cause: "Another protocol is spoken on this port: TLS under an http:// URL, or no web server at all.",
    advice: "Check scheme and port of the URL, and what listens on that port.",
  },
  endless: {
    severity: "failure",
    cause: "Something else answers at this address: none of the service's answers to the doctor is that long.",
    advice: "Check the URL, and what a proxy in front of the service does with this path.",
  },
  redirected: {
    severity: "failure",
    cause: "The URL is not that of the service: a proxy redirects to https, to another host, or to a sign-in page.",
    advice: "Use the URL that it redirects to; with Cloudflare Access, add a policy that lets this client pass.",
  },
  "web-page": {
    severity: "failure",
    cause: "A proxy, a sign-in page, a firewall's challenge or another web site answers instead of the service.",
    advice: "Open the URL in a browser to see whose page it is, and route these paths to the service.",
  },
  "wrong-path": {
    severity: "failure",
    cause: "A web server answers, but the service is not at this host or not below this path.",
    advice: "Give the URL without /v1/render, and check the route of the Worker or proxy.",
  },
  gateway: {
    severity: "failure",
    cause: "The gateway or proxy in front of the service answers, but cannot reach the service.",
    advice: "Check that the service runs where the gateway expects it, and read the gateway's log.",
  },
  "body-refused": {
    severity: "failure",
    cause: "A proxy in front of the service refuses bodies of this size: nginx does so from 1 MiB by default.",
    advice: "Raise its limit above max_request_body_bytes of the deployment (nginx: client_max_body_size 21m).",
  },
  "rate-limited": {
    severity: "warning",
    cause: "A gateway in front of the service limits how many requests this client may send.",
    advice: "Wait a minute and try again, or exempt this client from the limit.",
  },
  busy: {
    severity: "warning",
    cause: "All slots are taken, or this caller is over its rate: the service sheds load as designed.",
    advice: "Try again later; if this persists, add origins or slots (docs/operations.md).",
  },
  forbidden: {
    severity: "failure",
    cause: "The token that was accepted before is not accepted for this request.",
    advice: "Check whether tokens are being rotated: all versions of the edge must have the same SERVICE_API_TOKENS.",
  },
  unavailable: {
    severity: "failure",
    cause: "The service itself says that it cannot take the request.",
    advice: "Find the request id in the logs of edge and backends: the line has the reason.",
  },
  "unexpected-problem": {
    severity: "failure",
    cause: "The service rejects what it should accept: the edge or a backend has another version than this program.",
    advice: "Deploy one version everywhere, then use the doctor of that version.",
  },
  "not-the-service": {
    severity: "failure",
    cause: "The answer does not have the form of this service: another program answers, or a proxy changes answers.",
    advice: "Check the URL, and what is between this machine and the service.",
  },
  "out-of-bounds": {
    severity: "failure",
    cause: "The requests or the time of one examination were used up, usually because answers are slow.",
    advice: "Fix what is slow first, then run the doctor again.",
  },
} as const satisfies Readonly<Record<string, Fault>>;

export type AnswerFault = keyof typeof ANSWER_FAULTS;

/** Whether the exchange ended with an answer of this status. */
export function isAnswer(exchange: Exchange, status: number): exchange is Answer {
  return exchange.kind === "answer" && exchange.status === status;
}

/** The problem that an answer is; null if it is none of this service. */
export function problemIn(exchange: Exchange): ServiceProblem | null {
  if (exchange.kind !== "answer" || mediaType(exchange.headers) !== PROBLEM_MEDIA_TYPE) return null;
  return asServiceProblem(parseJson(exchange.body.toString("utf8")));
}

/** The JSON value of a body; undefined where it is none. */
export function jsonIn({ body }: Answer): unknown {
  return parseJson(body.toString("utf8"));
}

/** What is wrong with an answer that is not the one that was asked for. */
export function faultIn(exchange: Exchange): Verdict<AnswerFault> {
  if (exchange.kind === "no-answer") return { kind: "fault", fault: exchange.fault, seen: exchange.seen };
  const { status, headers } = exchange;
  const problem = problemIn(exchange);
  if (problem !== null) {
    const id = problem.requestId === null ? "" : `, request ${problem.requestId}`;
    return { kind: "fault", fault: faultOfProblem(problem), seen: `${status} ${problem.code}${id}` };
  }
  const type = mediaType(headers);
  const seen = `${status}${type === "" ? "" : ` ${type}`}`;
  const location = headers.get("Location");
  if (status >= 300 && status < 400 && location !== null) {
    return { kind: "fault", fault: "redirected", seen: `${status} to ${location}` };
  }
  const cloudflareError = cloudflareErrorIn(exchange);
  if (cloudflareError !== null) return { kind: "fault", fault: "gateway", seen: `${seen}: ${cloudflareError}` };
  if (status === 413) return { kind: "fault", fault: "body-refused", seen };
  if (status === 429) return { kind: "fault", fault: "rate-limited", seen };
  if ([502, 503, 504].includes(status)) return { kind: "fault", fault: "gateway", seen };
  if (status === 404) return { kind: "fault", fault: "wrong-path", seen };
  if (type === "text/html") return { kind: "fault", fault: "web-page", seen };
  return { kind: "fault", fault: "not-the-service", seen };
}

function faultOfProblem({ code }: ServiceProblem): AnswerFault {
  switch (code) {
    case "render_queue_full":
      return "busy";
    case "forbidden":
      return "forbidden";
    case "service_unavailable":
      return "unavailable";
    default:
      return "unexpected-problem";
  }
}

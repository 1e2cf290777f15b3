/**
 * What comes back for a request, and what is wrong with it if it is not what was expected: nothing came, or something
 * other than the service answered.
 */
import * as v from "valibot";
import type { ProblemCode } from "../../../rules/problem.ts";
import type { ServiceProblem } from "../../typescript/service-problem.ts";
import { mediaType, parseJson } from "../../typescript/transport.ts";
import { failure, HIGHER_BODY_LIMIT, warning } from "./faults.ts";

export interface Answer {
  readonly kind: "answer";
  /** The request in words, such as `GET /health`. */
  readonly request: string;
  readonly url: URL;
  readonly status: number;
  readonly headers: Headers;
  readonly body: Buffer;
  /** The problem with which the service answered; null for any other answer. */
  readonly problem: ServiceProblem | null;
  /** From the request to the last byte of the answer. */
  readonly milliseconds: number;
  /** When the answer began, by the clock of this machine. */
  readonly receivedAt: number;
}

export interface NoAnswer {
  readonly kind: "no-answer";
  readonly fault: AnswerFault;
  readonly seen: string;
}

export type Exchange = Answer | NoAnswer;

/** Faults that every check can find. docs/doctor.md lists them in a table of their own. */
export const ANSWER_FAULTS = {
  "timed-out": failure`The server hangs or is overloaded, or a firewall drops the packets of this connection.
    → Send the same request with curl on the host itself and look at its load; on a slow line, raise --timeout.`,
  "connection-failed": failure`Nothing is listening there now, or the connection was closed in the middle of a response.
    → Check whether the process or container has just ended or restarted, and read its last log lines.`,
  "tls-failed": failure`No TLS connection could be made: a certificate that is not trusted, or a port without TLS.
    → Look at the certificate with openssl s_client; a private authority goes into NODE_EXTRA_CA_CERTS.`,
  "not-http": failure`This port speaks another protocol: TLS under an http:// URL, or no web server at all.
    → Check scheme and port of the URL, and what listens on that port.`,
  endless: failure`Something else answers: the service's responses are shorter. → Check the URL, and look for a proxy.`,
  redirected: failure`The URL is not the service's: a proxy redirects to https, to another host, or to a sign-in page.
    → Use the URL that it redirects to; with Cloudflare Access, add a policy that lets this client pass.`,
  "web-page": failure`A proxy, a sign-in page, a firewall's challenge or another site answers instead of the service.
    → Open the URL in a browser to see whose page it is, and route these paths to the service.`,
  "wrong-path": failure`A web server answers, but the service is not at this host or not below this path.
    → Give the URL without /v1/render, and check the route of the Worker or proxy.`,
  gateway: failure`A gateway or proxy cannot reach the service. → Read its log, and check its upstream address.`,
  "body-refused": failure`A proxy in front refuses bodies of this size, nginx from 1 MiB. → ${HIGHER_BODY_LIMIT}`,
  "rate-limited": warning`A gateway limits how often this client may ask. → Wait a minute, or exempt this client.`,
  busy: warning`All slots are taken, or this caller is over its rate: the service sheds load as designed.
    → Try again later; if this persists, add origins or slots (docs/operations.md).`,
  forbidden: failure`The token that was accepted before is not accepted for this request.
    → Check whether tokens are being rotated: all versions of the edge must have the same SERVICE_API_TOKENS.`,
  unavailable: failure`The service cannot take the request. → Find the request id in the logs of edge and backends.`,
  "unexpected-problem": failure`The service rejects what it should accept: edge or backend has another version.
    → Deploy one version everywhere, then use the doctor of that version.`,
  "not-the-service": failure`This response did not come from the service, or a proxy has changed it.
    → Check the URL, and what is between this machine and the service.`,
  "out-of-bounds": failure`The doctor's requests or time are used up. → Fix what is slow, then run it again.`,
};

export type AnswerFault = keyof typeof ANSWER_FAULTS;

/** How an exchange ended: the code of a problem, the status of any other answer, or why there is none. */
export type Outcome = ProblemCode | AnswerFault | `${number}`;

export function outcomeOf(exchange: Exchange): Outcome {
  return exchange.kind === "no-answer" ? exchange.fault : (exchange.problem?.code ?? `${exchange.status}`);
}

export function problemIn(exchange: Exchange): ServiceProblem | null {
  return exchange.kind === "answer" ? exchange.problem : null;
}

export function isOk(exchange: Exchange): exchange is Answer {
  return exchange.kind === "answer" && exchange.status === 200;
}

/** The JSON of an answer with status 200; null if there is none, or if it does not match the schema. */
export function jsonIn<Schema extends v.GenericSchema>(exchange: Exchange, schema: Schema) {
  const parsed = v.safeParse(schema, isOk(exchange) ? parseJson(exchange.body.toString("utf8")) : undefined);
  return parsed.success ? parsed.output : null;
}

/** What is wrong with an exchange that did not end as it should. */
export function faultIn(exchange: Exchange): { readonly fault: AnswerFault; readonly seen: string } {
  if (exchange.kind === "no-answer") return exchange;
  const { status, headers, problem } = exchange;
  if (problem !== null) {
    const id = problem.requestId === null ? "" : `, request ${problem.requestId}`;
    return { fault: FAULT_OF_OUTCOME[problem.code] ?? "unexpected-problem", seen: `${status} ${problem.code}${id}` };
  }
  const seen = `${status} ${mediaType(headers)}`.trim();
  const location = headers.get("Location");
  if (status >= 300 && status < 400 && location !== null) {
    return { fault: "redirected", seen: `${status} to ${location}` };
  }
  const cloudflareError = cloudflareErrorIn(exchange);
  if (cloudflareError !== null) return { fault: "gateway", seen: `${seen}: ${cloudflareError}` };
  const isPage = mediaType(headers) === "text/html";
  return { fault: FAULT_OF_OUTCOME[`${status}`] ?? (isPage ? "web-page" : "not-the-service"), seen };
}

/** The faults that unexpected outcomes show. */
const FAULT_OF_OUTCOME: Readonly<Partial<Record<Outcome, AnswerFault>>> = {
  render_queue_full: "busy",
  forbidden: "forbidden",
  service_unavailable: "unavailable",
  404: "wrong-path",
  413: "body-refused",
  429: "rate-limited",
  502: "gateway",
  503: "gateway",
  504: "gateway",
};

/**
 * The meanings of the error numbers with which Cloudflare itself answers instead of the Worker.
 * https://developers.cloudflare.com/support/troubleshooting/http-status-codes/
 */
const CLOUDFLARE_ERRORS: Readonly<Record<string, string>> = {
  520: "Cloudflare got an invalid response",
  521: "the host behind Cloudflare refuses connections",
  522: "the host behind Cloudflare cannot be reached",
  523: "Cloudflare has no route to the host",
  524: "the host behind Cloudflare takes too long",
  525: "the TLS handshake of Cloudflare with the host failed",
  526: "the certificate of the host is not valid for Cloudflare",
  1010: "Cloudflare blocks this kind of client",
  1015: "Cloudflare limits the rate of this client",
  1016: "Cloudflare cannot resolve the host behind it",
  1020: "a firewall rule of Cloudflare blocks this client",
  1027: "the Worker has used up its daily requests",
  1033: "the Cloudflare Tunnel has no connection",
  1042: "the Worker has fetched another Worker of its own zone",
  1101: "the Worker has thrown an exception",
  1102: "the Worker has used up its processor time or memory",
};

function cloudflareErrorIn({ status, body }: Answer): string | null {
  if (status < 400) return null;
  const number = /error code: (\d{4})/i.exec(body.subarray(0, 100_000).toString("latin1"))?.[1] ?? String(status);
  const meaning = CLOUDFLARE_ERRORS[number];
  return meaning === undefined ? null : `${meaning} (${number})`;
}

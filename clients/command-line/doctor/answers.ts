/** What comes back for a request, and what is wrong if nothing came, or something other than the service answered. */
import * as v from "valibot";
import type { ProblemCode } from "../../../rules/problem.ts";
import type { ServiceProblem } from "../../typescript/service-problem.ts";
import { mediaType, parseJson } from "../../typescript/transport.ts";
import { failure, HIGHER_BODY_LIMIT, warning } from "./faults.ts";

export interface Answer {
  readonly kind: "answer";
  /** Such as `GET /health`. */
  readonly request: string;
  readonly status: number;
  readonly headers: Headers;
  readonly body: Buffer;
  /** The problem with which the service answered; null for any other answer. */
  readonly problem: ServiceProblem | null;
  /** From the request, for which a connection is made, to the last byte of the answer. */
  readonly milliseconds: number;
}

export interface NoAnswer {
  readonly kind: "no-answer";
  readonly fault: AnswerFault;
  readonly seen: string;
}

export type Exchange = Answer | NoAnswer;

/** Faults that every check can find. docs/doctor.md lists them in a table of their own. */
export const ANSWER_FAULTS = {
  "unknown-name": failure`The name is misspelled, or has no A or AAAA record yet.
    → Check the URL, then the record in the zone: for a Worker, its route or custom domain makes it.`,
  "no-resolver": failure`The resolver of this machine does not answer.
    → Try another name; if that fails too, the network of this machine is at fault, not the deployment.`,
  refused: failure`Nothing is listening on this port: the service is not running, or uses another port or address.
    → Start it, or correct the port; a process that listens on 127.0.0.1 is not reachable from outside.`,
  unreachable: failure`There is no route to the address. → Check VPN and IPv6 here, and that the address is public.`,
  expired: failure`The certificate was not renewed, or the renewed one was not loaded; or a clock is wrong.
    → Renew it, reload the server, and watch daysLeft of the check tls from cron.`,
  "unknown-issuer": failure`The certificate is self-signed, of a private authority, or lacks its intermediate one.
    → Serve the full chain of a public authority; a private one goes into NODE_EXTRA_CA_CERTS.`,
  "wrong-name": failure`The certificate is for another name. → Use that name, or get a certificate for this one.`,
  "wrong-protocol": failure`This port does not speak what the URL says: TLS, or HTTP without it; or a handshake failed.
    → Check scheme and port of the URL, and what listens there: openssl s_client -connect HOST:PORT.`,
  "timed-out": failure`The server hangs or is overloaded, the host is off, or a firewall drops the packets.
    → Send the same request with curl on the host itself and look at its load; on a slow line, raise --timeout.`,
  "connection-failed": failure`The connection was closed before or in the middle of a response.
    → Check whether the process or container has just ended or restarted, and read its last log lines.`,
  redirected: failure`The URL is not the service's: a proxy redirects to https, to another host, or to a sign-in page.
    → Use the URL that it redirects to; with Cloudflare Access, add a policy that lets this client pass.`,
  "wrong-path": failure`A web server answers, but the service is not at this host or not below this path.
    → Give the URL without /v1/render, and check the route of the Worker or proxy.`,
  gateway: failure`A gateway or proxy cannot reach the service, or blocks this client.
    → Read its log, and check its upstream address; Cloudflare documents its error numbers.`,
  "body-refused": failure`A proxy in front refuses bodies of this size, nginx from 1 MiB. → ${HIGHER_BODY_LIMIT}`,
  "rate-limited": warning`A gateway limits how often this client may ask. → Wait a minute, or exempt this client.`,
  busy: warning`All slots are taken, or this caller is over its rate: the service sheds load as designed.
    → Try again later; if this persists, add origins or slots (docs/operations.md).`,
  forbidden: failure`The token that was accepted before is not accepted for this request.
    → Check whether tokens are being rotated: all versions of the edge must have the same SERVICE_API_TOKENS.`,
  unavailable: failure`The service cannot take the request. → Find the request id in the logs of edge and backends.`,
  "unexpected-problem": failure`The service answers another problem than it should: edge or backend has another version.
    → Deploy one version everywhere, then use the doctor of that version.`,
  "not-the-service": failure`A proxy, a sign-in page, a firewall's challenge or another site answers, or changes answers.
    → Open the URL in a browser to see whose page it is, and route these paths to the service.`,
  "out-of-bounds": failure`The doctor's time is used up. → Fix what is slow, then run it again.`,
};

export type AnswerFault = keyof typeof ANSWER_FAULTS;

/** The code of a problem, the status of any other answer, or why there is none. */
export type ExchangeCode = ProblemCode | AnswerFault | `${number}`;

export function codeOf(exchange: Exchange): ExchangeCode {
  return exchange.kind === "no-answer" ? exchange.fault : (exchange.problem?.code ?? `${exchange.status}`);
}

export function isOk(exchange: Exchange): exchange is Answer {
  return exchange.kind === "answer" && exchange.status === 200;
}

/** The JSON of an answer with status 200; null if there is none, or if it does not match the schema. */
export function readJson<Schema extends v.GenericSchema>(exchange: Exchange, schema: Schema) {
  const parsed = v.safeParse(schema, isOk(exchange) ? parseJson(exchange.body.toString("utf8")) : undefined);
  return parsed.success ? parsed.output : null;
}

/** What is wrong with an exchange that did not end as it should. */
export function faultIn(exchange: Exchange): { readonly fault: AnswerFault; readonly seen: string } {
  if (exchange.kind === "no-answer") return exchange;
  const { status, headers, problem, body } = exchange;
  if (problem !== null) {
    const id = problem.requestId === null ? "" : `, request ${problem.requestId}`;
    return { fault: FAULT_OF_CODE[problem.code] ?? "unexpected-problem", seen: `${status} ${problem.code}${id}` };
  }
  const location = headers.get("Location");
  if (status >= 300 && status < 400 && location !== null) {
    return { fault: "redirected", seen: `${status} to ${location}` };
  }
  const seen = `${status} ${mediaType(headers)}`.trim();
  // With these, Cloudflare itself answers instead of the Worker.
  const number = status < 400 ? undefined : /error code: (\d{4})/i.exec(body.toString("latin1", 0, 100_000))?.[1];
  if (number !== undefined) return { fault: "gateway", seen: `${seen}: Cloudflare's error ${number}` };
  if (status >= 520 && status <= 526) return { fault: "gateway", seen };
  return { fault: FAULT_OF_CODE[`${status}`] ?? "not-the-service", seen };
}

const FAULT_OF_CODE: Readonly<Partial<Record<ExchangeCode, AnswerFault>>> = {
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

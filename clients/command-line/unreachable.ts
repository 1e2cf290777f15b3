/**
 * Explains Node's errors when the service cannot be reached: one sentence says what happened, and one what to do.
 */
import type { ServiceUnreachableError, UnexpectedResponseError } from "../typescript/client.ts";
import { innermostCause } from "../typescript/errors.ts";
import { type ProxyServer, proxyOf } from "./proxy.ts";
import { printableLine } from "./terminal.ts";

const CERTIFICATE_CODES: ReadonlySet<string> = new Set([
  "DEPTH_ZERO_SELF_SIGNED_CERT",
  "SELF_SIGNED_CERT_IN_CHAIN",
  "UNABLE_TO_GET_ISSUER_CERT",
  "UNABLE_TO_GET_ISSUER_CERT_LOCALLY",
  "UNABLE_TO_VERIFY_LEAF_SIGNATURE",
  "CERT_UNTRUSTED",
  "CERT_SIGNATURE_FAILURE",
]);

/** The code used here for an answer that is not HTTP, if the parser of `fetch` gives none. */
const NOT_HTTP = "HPE_INVALID_CONSTANT";

/** The message of `fetch`, without a code, for a port that the Fetch standard blocks. */
const FORBIDDEN_PORT = "bad port";

/** Errors that another attempt would not change. */
const PERMANENT = /^ENOTFOUND$|CERT|^UNABLE_TO_|^ERR_TLS_|^ERR_SSL_|^EPROTO$|^HPE_|^bad port$/;

export function isPermanent(error: ServiceUnreachableError): boolean {
  return PERMANENT.test(causeOf(error).code);
}

export function whyUnreachable(error: ServiceUnreachableError, address: string): string {
  const proxy = proxyOf(address);
  const sentence = error.status === null ? sentenceOf(causeOf(error), new URL(address), proxy) : error.message;
  return printableLine([`${address} cannot be reached. ${sentence}`, proxyInWords(proxy)].join(""));
}

export function whyUnexpected(error: UnexpectedResponseError, address: string): string {
  const proxy = proxyOf(address);
  return printableLine(
    `${address}: ${error.message} Something else answers there: check the URL, and that no other program uses the port.${proxyInWords(proxy)}`,
  );
}

interface Cause {
  readonly code: string;
  readonly message: string;
  /** The host or address and the port that were tried; null if Node does not name them. */
  readonly place: string | null;
}

function sentenceOf({ code, message, place }: Cause, url: URL, proxy: ProxyServer | null): string {
  const target = place ?? url.host;
  if (CERTIFICATE_CODES.has(code)) {
    return `The certificate of ${url.host} is not trusted (${code}). If your own authority has signed it, set NODE_EXTRA_CA_CERTS to the file of the authority's certificate (PEM).`;
  }
  switch (code) {
    case "ENOTFOUND":
      return `The host name ${place ?? url.hostname} was not found. Check its spelling, and that this machine is on the right network.`;
    case "EAI_AGAIN":
      return `The name server did not answer for ${place ?? url.hostname}. Check the network of this machine, then try again.`;
    case "ECONNREFUSED":
      return `The connection to ${target} was refused: nothing listens there. Is it running? If it is, check the port.`;
    case "ETIMEDOUT":
    case "UND_ERR_CONNECT_TIMEOUT":
      return `The connection to ${target} timed out: the host is off, or a firewall drops the packets. Check host, port and VPN.`;
    case "UND_ERR_HEADERS_TIMEOUT":
    case "UND_ERR_BODY_TIMEOUT":
      return "The service took the request and then did not answer in time. Try again, or ask its operator.";
    case "ENETUNREACH":
    case "EHOSTUNREACH":
      return `There is no route to ${target}. Check this machine's network and VPN.`;
    case "CERT_HAS_EXPIRED":
      return `The certificate of ${url.host} has expired (${code}). Tell the operator, or correct the clock of this machine.`;
    case "CERT_NOT_YET_VALID":
      return `The certificate of ${url.host} is not valid yet (${code}). Correct the clock of this machine.`;
    case "ERR_TLS_CERT_ALTNAME_INVALID":
      return `The certificate is for a name other than ${url.hostname} (${code}). Use the name in the certificate.`;
    case "ERR_SSL_WRONG_VERSION_NUMBER":
    case "ERR_SSL_PACKET_LENGTH_TOO_LONG":
    case "EPROTO":
      return `${url.host} does not speak TLS (${code}): something else answers, or the URL must begin with http://.`;
    case "UND_ERR_SOCKET":
    case "ECONNRESET":
    case "EPIPE":
      return `${target} closed the connection before it answered. Try again; if that does not help, check the port and that the URL begins with ${url.protocol === "https:" ? "http:// or https://" : "https:// if it needs TLS"}.`;
    case FORBIDDEN_PORT:
      return `Node itself refuses to connect to ${target}: port ${url.port} is reserved for another protocol. Is it running? If it is, use another port.`;
    case "UND_ERR_ABORTED":
      return proxy === null ? inItsWords(code, message) : `The proxy did not let the request through (${message}).`;
    default:
      return code.startsWith("HPE_")
        ? `The server at ${target} does not speak HTTP (${code}): check host and port, and whether the URL must begin with https://.`
        : inItsWords(code, message);
  }
}

function inItsWords(code: string, message: string): string {
  return `The service did not answer, or the connection broke (${[code, message].filter((part) => part !== "").join(": ")}). Is it running? Is the port right?`;
}

function proxyInWords(proxy: ProxyServer | null): string {
  if (proxy === null) return "";
  if (proxy.isUsed)
    return ` The request went to the proxy ${proxy.url} of ${proxy.variable}; list hosts that need none in NO_PROXY.`;
  return ` ${proxy.variable} names a proxy, which this Node uses only if NODE_USE_ENV_PROXY=1 is set too (Node 22.21 or newer).`;
}

function causeOf({ cause }: ServiceUnreachableError): Cause {
  const { code, error } = innermostCause(cause);
  if (error === null) return { code, message: "", place: null };
  const port = "port" in error && typeof error.port === "number" ? `:${error.port}` : "";
  const host = firstText("address" in error && error.address, "hostname" in error && error.hostname);
  return { code: code || codeOf(error), message: error.message, place: host === null ? null : `${host}${port}` };
}

/** A code for errors that have none. */
function codeOf({ name, message }: Error): string {
  if (name === "HTTPParserError") return NOT_HTTP;
  return message === FORBIDDEN_PORT ? FORBIDDEN_PORT : "";
}

function firstText(...values: readonly unknown[]): string | null {
  return values.find((value): value is string => typeof value === "string") ?? null;
}

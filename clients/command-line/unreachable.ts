/** What to do when the service does not answer, after the sentence of the client that says what has happened. */
import { ServiceUnreachableError, type UnexpectedResponseError, type UnreachableReason } from "../typescript/client.ts";
import { innermostCause } from "../typescript/errors.ts";
import { proxyOf } from "./proxy.ts";
import { printableLine } from "./terminal.ts";

const ADVICE: Readonly<Record<UnreachableReason, string>> = {
  refused: "Is it running? If it is elsewhere, name its address with --url or SERVICE_URL.",
  name_not_found: "Check its spelling, and that this machine is on the right network.",
  no_route: "Check this machine's network and VPN.",
  certificate:
    "If your own authority has signed it, set NODE_EXTRA_CA_CERTS to the file of the authority's certificate (PEM); otherwise tell the operator.",
  wrong_protocol: "Check host and port, and whether the URL must begin with http:// or https://.",
  timed_out: "The host is off or busy, or a firewall drops the packets. Check host, port and VPN, or ask the operator.",
  no_answer:
    "The service, or a server in front of it, took the request and sent nothing. Try again, or tell the operator; `document-rendering doctor` may say more.",
  connection_broken: "Try again; if that does not help, check the port, and whether the URL must begin with https://.",
  gateway: "Try again, or ask the operator.",
  unknown: "Is it running? Is its address, of --url or SERVICE_URL, right?",
};

export function whyUnreachable(error: ServiceUnreachableError, address: string): string {
  const { error: innermost } = innermostCause(error.cause);
  const words = error.reason === "unknown" && innermost !== null ? ` Node says: ${innermost.message}.` : "";
  return printableLine(`${error.message}${words} ${ADVICE[error.reason]}${proxyInWords(address)}`);
}

/** Of one document of many: what is in front of the service, or the way to it, has failed for this one. */
export function whyNotAnswered(error: ServiceUnreachableError | UnexpectedResponseError, address: string): string {
  if (error instanceof ServiceUnreachableError || error.status < 400) return printableLine(error.message);
  const tooLarge = error.status === 413 ? ": the request is too large for it" : "";
  return printableLine(`A server in front of the service at ${address} answered ${error.status}${tooLarge}.`);
}

export function whyUnexpected({ message }: UnexpectedResponseError, address: string): string {
  const advice = "Something else answers there: check the URL, and that no other program uses the port.";
  return printableLine(`${address}: ${message} ${advice}${proxyInWords(address)}`);
}

function proxyInWords(address: string): string {
  const proxy = proxyOf(address);
  if (proxy === null) return "";
  return proxy.isUsed
    ? ` The request went to the proxy ${proxy.url} of ${proxy.variable}; list hosts that need none in NO_PROXY.`
    : ` ${proxy.variable} names a proxy, which this Node uses only if NODE_USE_ENV_PROXY=1 is set too (Node 22.21 or newer).`;
}

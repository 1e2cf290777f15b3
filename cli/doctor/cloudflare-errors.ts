/**
 * What the numbers of Cloudflare's own errors mean, with which it answers instead of the Worker.
 * https://developers.cloudflare.com/support/troubleshooting/http-status-codes/
 */
import type { Answer } from "./probe.ts";

const STATUSES: Readonly<Record<number, string>> = {
  520: "Cloudflare got an answer that is not valid",
  521: "the host behind Cloudflare refuses connections",
  522: "the host behind Cloudflare cannot be reached",
  523: "Cloudflare has no way to the host",
  524: "the host behind Cloudflare takes too long",
  525: "the TLS handshake of Cloudflare with the host failed",
  526: "the certificate of the host is not valid for Cloudflare",
};

const CODES: Readonly<Record<string, string>> = {
  1010: "Cloudflare blocks this kind of client",
  1015: "Cloudflare limits the rate of this client",
  1016: "Cloudflare cannot resolve the host behind it",
  1020: "a firewall rule of Cloudflare blocks this client",
  1027: "the Worker has used up its requests of the day",
  1033: "the Cloudflare Tunnel has no connection",
  1042: "the Worker has fetched another Worker of its own zone",
  1101: "the Worker has thrown an exception",
  1102: "the Worker has used up its processor time or memory",
};

/** What Cloudflare says about itself in an answer; null if the answer is no such error. */
export function cloudflareErrorIn({ status, body }: Answer): string | null {
  if (status < 400) return null;
  const code = /error code: (\d{4})/i.exec(body.subarray(0, 100_000).toString("latin1"))?.[1];
  const meaning = code === undefined ? STATUSES[status] : CODES[code];
  return meaning === undefined ? null : `${meaning} (${code ?? status})`;
}

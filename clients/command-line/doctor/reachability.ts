/**
 * Whether the host can be reached, layer by layer, with a finding for each layer.
 */
import { lookup } from "node:dns/promises";
import { once } from "node:events";
import { connect, isIP } from "node:net";
import { connect as connectByTls } from "node:tls";
import { LOOPBACK_HOSTS } from "../service-location.ts";
import { codeOf } from "./allowance.ts";
import { check, found, group, ok, skipped } from "./check.ts";
import { failure, warning } from "./faults.ts";

/** At most this many addresses of a name are tried. */
const MAX_ADDRESSES = 4;
/**
 * A certificate that expires sooner should have been renewed. Short-lived ones are renewed in the last third of their
 * life.
 */
const RENEWAL_DAYS = 14;
const DAY_MILLISECONDS = 24 * 60 * 60 * 1000;
/** `Date` is in whole seconds, and the answer takes some time to arrive. */
const MAX_CLOCK_SKEW_SECONDS = 10;

type CertificateFault = "expired" | "not-yet-valid" | "self-signed" | "wrong-name";
/** By the codes of OpenSSL. */
const FAULT_OF_CERTIFICATE: Readonly<Partial<Record<string, CertificateFault>>> = {
  CERT_HAS_EXPIRED: "expired",
  CERT_NOT_YET_VALID: "not-yet-valid",
  DEPTH_ZERO_SELF_SIGNED_CERT: "self-signed",
  ERR_TLS_CERT_ALTNAME_INVALID: "wrong-name",
};

export const REACHABILITY = group("Reachability", null, [
  check("dns", "the name has an address", {
    faults: {
      "unknown-name": failure`The name is misspelled, or has no A or AAAA record yet.
        → Check the URL, then the record in the zone: for a Worker, its route or custom domain makes it.`,
      "no-resolver": failure`The resolver of this machine does not answer.
        → Try another name; if that fails too, the network of this machine is at fault, not the deployment.`,
    },
    async run({ url }, examination) {
      const { host } = addressOf(url);
      examination.addresses = [host];
      if (isIP(host) !== 0) return ok(`${host} is an address`);
      const attempt = await examination.allowance.attempt(() => lookup(host, { all: true }));
      if (!attempt.isDone) {
        const isSilent = attempt.code === "ETIMEDOUT" || attempt.code === "EAI_AGAIN";
        return found(isSilent ? "no-resolver" : "unknown-name", `${host}: ${attempt.code}`);
      }
      examination.addresses = attempt.value.map(({ address }) => address);
      return ok(examination.addresses.join(", "));
    },
  }),
  check("tcp", "the port accepts connections", {
    needs: ["dns"],
    faults: {
      refused: failure`Nothing is listening on this port: the service is not running, or uses another port or address.
        → Start it, or correct the port; a process that listens on 127.0.0.1 is not reachable from outside.`,
      silent: failure`A firewall drops the packets, or the host is off. → Open the port, or start the host.`,
      unreachable: failure`There is no route to the address. → Check VPN and IPv6 here, and that the address is public.`,
      "some-addresses": warning`One of several addresses does not work: an old record, or IPv6 that is not served.
        → Remove the record, or let the service listen there too; some clients try that address first.`,
    },
    async run({ url }, { addresses, allowance }) {
      const { port } = addressOf(url);
      const failures: { address: string; code: string }[] = [];
      let fastest = Number.POSITIVE_INFINITY;
      for (const address of addresses.slice(0, MAX_ADDRESSES)) {
        const startedAt = performance.now();
        const attempt = await allowance.attempt(async (signal) => {
          const socket = connect({ host: address, port });
          await once(socket, "connect", { signal }).finally(() => socket.destroy());
        });
        if (attempt.isDone) fastest = Math.min(fastest, Math.round(performance.now() - startedAt));
        else failures.push({ address, code: attempt.code });
      }
      const seen = failures.map(({ address, code }) => `${address}: ${code}`).join(", ");
      if (fastest === Number.POSITIVE_INFINITY) {
        const [first] = failures;
        if (first?.code === "ECONNREFUSED") return found("refused", seen);
        return found(first?.code === "ETIMEDOUT" ? "silent" : "unreachable", seen);
      }
      const measured = { connectMilliseconds: fastest };
      // A service on this machine may listen on one address only, and a machine without IPv6 is no fault of the
      // deployment.
      const isOwn = failures.every(({ code }) => code === "ENETUNREACH" || code === "EADDRNOTAVAIL");
      const isExpected = isOwn || LOOPBACK_HOSTS.has(url.hostname);
      return isExpected ? ok(`port ${port} in ${fastest} ms`, measured) : found("some-addresses", seen, measured);
    },
  }),
  check("tls", "TLS and its certificate", {
    needs: ["tcp"],
    faults: {
      unencrypted: warning`Others can read token and documents in transit. → Serve it over TLS and give that URL.`,
      expired: failure`The certificate was not renewed, or the renewed one was not loaded.
        → Renew it, reload the server, and watch daysLeft of this check from cron.`,
      "not-yet-valid": failure`The certificate is not valid yet: a clock is wrong.
        → Set the clock of this machine by NTP, then look at the certificate's dates.`,
      "self-signed": failure`The server presents a self-signed certificate, often the default of a proxy.
        → Install one from an authority; for a test, name it in NODE_EXTRA_CA_CERTS.`,
      "unknown-issuer": failure`The server does not send its intermediate certificate, or a private authority issued it.
        → Serve the full chain; a private authority goes into NODE_EXTRA_CA_CERTS.`,
      "wrong-name": failure`The certificate is for another name. → Use that name, or get a certificate for this one.`,
      "no-tls": failure`The port does not speak TLS. → Check the port, or give the http:// URL if TLS is not wanted.`,
      handshake: failure`The handshake failed: an old protocol, a client certificate, or an unknown name.
        → Look at it with openssl s_client -connect HOST:PORT -servername HOST.`,
      "ends-soon": warning`The certificate should have been renewed by now. → Renew it by hand and read the output.`,
    },
    async run({ url }, { allowance }) {
      if (url.protocol === "http:") {
        return LOOPBACK_HOSTS.has(url.hostname)
          ? ok("none, and not needed on this machine")
          : found("unencrypted", "http");
      }
      const { host, port } = addressOf(url);
      const attempt = await allowance.attempt(async (signal) => {
        // The certificate is only inspected, not trusted: nothing is sent on this connection.
        const options = { host, port, rejectUnauthorized: false };
        const socket = connectByTls(isIP(host) === 0 ? { ...options, servername: host } : options);
        return once(socket, "secureConnect", { signal })
          .then(() => ({
            ...socket.getPeerCertificate(),
            error: socket.authorizationError,
            protocol: socket.getProtocol(),
          }))
          .finally(() => socket.destroy());
      });
      if (!attempt.isDone) {
        const isPlain = /WRONG_VERSION|PACKET_LENGTH|UNEXPECTED_MESSAGE/.test(attempt.code);
        return found(isPlain ? "no-tls" : "handshake", attempt.code);
      }
      const { valid_from, valid_to, subjectaltname = "no name", error, protocol } = attempt.value;
      const [startsAt, endsAt] = [Date.parse(valid_from), Date.parse(valid_to)];
      const daysLeft = Math.floor((endsAt - Date.now()) / DAY_MILLISECONDS);
      const measured = { daysLeft };
      if (error != null) {
        const code = codeOf(error);
        const fault = FAULT_OF_CERTIFICATE[code] ?? "unknown-issuer";
        const seen = `${code}; for ${subjectaltname}, valid from ${valid_from} until ${valid_to}`;
        // Expiry is what operators look for first, so it is reported rather than the issuer.
        return found(fault === "self-signed" && endsAt < Date.now() ? "expired" : fault, seen, measured);
      }
      const isLate = daysLeft < Math.min(RENEWAL_DAYS, (endsAt - startsAt) / DAY_MILLISECONDS / 3);
      return found(isLate ? "ends-soon" : null, `${protocol}, certificate valid for ${daysLeft} more days`, measured);
    },
  }),
  check("http", "an HTTP server answers /health", {
    needs: ["tls"],
    async run(edge) {
      const exchange = await edge.get("health");
      if (exchange.kind === "no-answer") return exchange;
      const { status, milliseconds } = exchange;
      return ok(`status ${status} after ${milliseconds} ms`, { firstAnswerMilliseconds: milliseconds });
    },
  }),
  check("clock", "the clocks agree (Date of an answer)", {
    needs: ["http"],
    faults: {
      skew: warning`One of the clocks is wrong, so times in logs mislead. → Synchronise both by NTP (timedatectl).`,
    },
    run({ answers: [first] }) {
      const date = Date.parse(first?.headers.get("Date") ?? "");
      if (first === undefined || Number.isNaN(date)) return skipped("the answers have no Date");
      const skewSeconds = Math.round((first.receivedAt - date) / 1000);
      const isSkewed = Math.abs(skewSeconds) > MAX_CLOCK_SKEW_SECONDS;
      return found(isSkewed ? "skew" : null, `${Math.abs(skewSeconds)} s apart`, { skewSeconds });
    },
  }),
]);

/** Host and port as DNS and sockets take them: an IPv6 address has brackets in a URL. */
function addressOf({ hostname, port, protocol }: URL): { readonly host: string; readonly port: number } {
  return { host: hostname.replace(/^\[(.*)\]$/, "$1"), port: Number(port) || (protocol === "https:" ? 443 : 80) };
}

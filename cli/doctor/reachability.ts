/**
 * Whether the host can be reached, layer by layer, so that each has a finding of its own.
 */
import { lookup } from "node:dns/promises";
import { once } from "node:events";
import { connect, isIP } from "node:net";
import { connect as connectByTls, type TLSSocket } from "node:tls";
import { codeOf } from "./allowance.ts";
import { check, found, group, ok, skipped } from "./check.ts";
import { failure, warning } from "./faults.ts";

/** Addresses of one name that are tried. */
const MAX_ADDRESSES = 4;
/** A certificate that ends sooner should have been renewed. Those of a short life are renewed in their last third. */
const RENEWAL_DAYS = 14;
const DAY_MILLISECONDS = 24 * 60 * 60 * 1000;
/** `Date` has whole seconds, and the answer takes its time. */
const MAX_CLOCK_SKEW_SECONDS = 10;

/** What a machine without IPv6 says of itself. */
const OWN_NETWORK_CODES: ReadonlySet<string> = new Set(["ENETUNREACH", "EADDRNOTAVAIL"]);

const FAULT_OF_CONNECTION = { ECONNREFUSED: "refused", ETIMEDOUT: "silent" } as const;
const FAULT_OF_CERTIFICATE = {
  CERT_HAS_EXPIRED: "expired",
  CERT_NOT_YET_VALID: "not-yet-valid",
  DEPTH_ZERO_SELF_SIGNED_CERT: "self-signed",
  ERR_TLS_CERT_ALTNAME_INVALID: "wrong-name",
} as const;

export const REACHABILITY = group("Reachability", [
  check("dns", {
    title: "the name has an address",
    looksAt: "The addresses of the host's name, as this machine resolves it",
    faults: {
      "unknown-name": failure`The name is misspelled, or has no A or AAAA record yet.
        → Check the URL, then the record in the zone: for a Worker, its route or custom domain makes it.`,
      "no-resolver": failure`The resolver of this machine does not answer.
        → Try another name; if that fails too, the network of this machine is at fault, not the deployment.`,
    },
    async run({ url }, examination) {
      const host = hostOf(url);
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
  check("tcp", {
    title: "the port accepts connections",
    looksAt: `A connection to each address, up to ${MAX_ADDRESSES}`,
    needs: ["dns"],
    faults: {
      refused: failure`Nothing is listening on this port: the service is not running, or uses another port or address.
        → Start it, or correct the port; a process that listens on 127.0.0.1 is not reachable from outside.`,
      silent: failure`A firewall or security group drops the packets, or the host is off.
        → Open the port for this machine, and see whether the host answers anything at all.`,
      unreachable: failure`There is no route to the address from here.
        → Check the network of this machine (VPN, IPv6) and whether the record names a private address.`,
      "some-addresses": warning`
        One of several addresses does not work: an old record, or IPv6 that is announced and not served.
        → Remove the record, or let the service listen there too; some clients try that address first.`,
    },
    async run({ url }, { addresses, allowance }) {
      const port = portOf(url);
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
        return found(entryOf(FAULT_OF_CONNECTION, failures[0]?.code) ?? "unreachable", seen);
      }
      const measured = { connectMilliseconds: fastest };
      // A service on this machine may well listen on one of its addresses only.
      const isExpected = isLoopback(url) || failures.every(({ code }) => OWN_NETWORK_CODES.has(code));
      return isExpected ? ok(`port ${port} in ${fastest} ms`, measured) : found("some-addresses", seen, measured);
    },
  }),
  check("tls", {
    title: "TLS and its certificate",
    looksAt: "The handshake, who issued the certificate, for which name, and for how many days it is still valid",
    needs: ["tcp"],
    faults: {
      unencrypted: warning`The URL begins with http://: everybody on the way can read token and documents.
        → Serve it by TLS and give the https:// URL.`,
      expired: failure`The certificate was not renewed, or the renewed one was not loaded.
        → Renew it, reload the server, and watch daysLeft of this check from cron.`,
      "not-yet-valid": failure`
        The certificate begins in the future: the clock of this machine or of the authority is wrong.
        → Set the clock of this machine by NTP, then look at the certificate's dates.`,
      "self-signed": failure`The server shows a certificate that it made itself, often the default of a proxy.
        → Install one of an authority; for a test, name it in NODE_EXTRA_CA_CERTS.`,
      "unknown-issuer": failure`The server does not send its intermediate certificate, or a private authority issued it.
        → Serve the full chain; a private authority goes into NODE_EXTRA_CA_CERTS.`,
      "wrong-name": failure`
        The certificate is for another name: the host serves several sites, or the URL has an address.
        → Use the name in the certificate, or get one for this name.`,
      "no-tls": failure`The port does not speak TLS: it serves plain HTTP or another protocol.
        → Check the port, or give the http:// URL where no TLS is meant to be.`,
      handshake: failure`
        The handshake failed: old protocol versions, a client certificate that is asked for, or an unknown name.
        → Look at it with openssl s_client -connect HOST:PORT -servername HOST.`,
      "ends-soon": warning`The certificate should have been renewed by now, and has not been.
        → Run the renewal by hand and read its output, before the certificate expires.`,
    },
    async run({ url }, { allowance }) {
      if (url.protocol === "http:") {
        return isLoopback(url) ? ok("none, and not needed on this machine") : found("unencrypted", "http");
      }
      const host = hostOf(url);
      const attempt = await allowance.attempt(async (signal) => {
        // The certificate is not trusted, only looked at: nothing is sent on this connection.
        const options = { host, port: portOf(url), rejectUnauthorized: false };
        const socket = connectByTls(isIP(host) === 0 ? { ...options, servername: host } : options);
        return once(socket, "secureConnect", { signal })
          .then(() => ({ ...socket.getPeerCertificate(), error: errorOf(socket), protocol: socket.getProtocol() }))
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
      if (error !== null) {
        const fault = entryOf(FAULT_OF_CERTIFICATE, error) ?? "unknown-issuer";
        const seen = `${error}; for ${subjectaltname}, valid from ${valid_from} until ${valid_to}`;
        // The end is what an operator looks for first, so it comes before who signed.
        return found(fault === "self-signed" && endsAt < Date.now() ? "expired" : fault, seen, measured);
      }
      const isLate = daysLeft < Math.min(RENEWAL_DAYS, (endsAt - startsAt) / DAY_MILLISECONDS / 3);
      return found(isLate ? "ends-soon" : null, `${protocol}, certificate valid for ${daysLeft} more days`, measured);
    },
  }),
  check("http", {
    title: "HTTP is spoken",
    looksAt: "Whether `GET /health` has any answer, and how long it takes with all handshakes",
    needs: ["tls"],
    async run(edge) {
      const exchange = await edge.get("health");
      if (exchange.kind === "no-answer") return exchange;
      const milliseconds = Math.round(exchange.milliseconds);
      return ok(`status ${exchange.status} after ${milliseconds} ms`, { firstAnswerMilliseconds: milliseconds });
    },
  }),
  check("clock", {
    title: "the clocks agree",
    looksAt: "`Date` of an answer against the clock of this machine",
    needs: ["http"],
    faults: {
      skew: warning`The clock of this machine or of the deployment is wrong: certificates and logs will mislead.
        → Synchronise both by NTP (timedatectl status says whether it runs).`,
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

/** A host as DNS and sockets take it: an IPv6 address has brackets in a URL. */
function hostOf({ hostname }: URL): string {
  return hostname.replace(/^\[(.*)\]$/, "$1");
}

function portOf({ port, protocol }: URL): number {
  return port === "" ? (protocol === "https:" ? 443 : 80) : Number(port);
}

function isLoopback(url: URL): boolean {
  const host = hostOf(url);
  return host === "localhost" || host === "::1" || (isIP(host) === 4 && host.startsWith("127."));
}

/** Why the certificate would not be trusted; null if it would be. */
function errorOf({ authorized, authorizationError }: TLSSocket): string | null {
  return authorized ? null : codeOf(authorizationError);
}

function entryOf<Value>(record: Readonly<Record<string, Value>>, name = ""): Value | undefined {
  return Object.hasOwn(record, name) ? record[name] : undefined;
}

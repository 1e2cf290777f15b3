/**
 * Whether the host can be reached, layer by layer, so that each has a finding of its own.
 */
import { lookup } from "node:dns/promises";
import { connect, isIP } from "node:net";
import { connect as connectByTls, type PeerCertificate, type TLSSocket } from "node:tls";
import { faultIn } from "./answer-faults.ts";
import { type CheckGroup, deploymentCheck, found, ok, skipped } from "./check.ts";
import type { Examination } from "./examination.ts";
import { type Allowance, inSeconds } from "./probe.ts";

/** Addresses of one name that are tried. */
const MAX_ADDRESSES = 4;
/** A certificate that ends sooner should have been renewed. Those of a short life are renewed in their last third. */
const RENEWAL_DAYS = 14;
const DAY_MILLISECONDS = 24 * 60 * 60 * 1000;
/** `Date` has whole seconds, and the answer takes its time. */
const MAX_CLOCK_SKEW_SECONDS = 10;

const dns = deploymentCheck({
  id: "dns",
  title: "the name has an address",
  looksAt: "The addresses of the host's name, as this machine resolves it",
  needs: [],
  faults: {
    "unknown-name": {
      severity: "failure",
      cause: "The name is misspelled, or has no A or AAAA record yet.",
      advice: "Check the URL, then the record in the zone: for a Worker, its route or custom domain makes it.",
    },
    "no-resolver": {
      severity: "failure",
      cause: "The resolver of this machine does not answer.",
      advice: "Try another name; if that fails too, the network of this machine is at fault, not the deployment.",
    },
  },
  async run(examination) {
    const { target, allowance } = examination;
    const host = hostOf(target.url);
    examination.addresses = [host];
    if (isIP(host) !== 0) return ok(`${host} is an address`);
    const late = Symbol("late");
    try {
      const answer = await withinTime(lookup(host, { all: true }), allowance, late);
      if (answer === late) return found("no-resolver", `no answer within ${inSeconds(allowance.milliseconds())}`);
      examination.addresses = answer.map(({ address }) => address);
      return ok(examination.addresses.join(", "));
    } catch (error) {
      const code = codeOf(error);
      return found(code === "EAI_AGAIN" ? "no-resolver" : "unknown-name", `${host}: ${code}`);
    }
  },
});

const tcp = deploymentCheck({
  id: "tcp",
  title: "the port accepts connections",
  looksAt: `A connection to each address, up to ${MAX_ADDRESSES}`,
  needs: ["dns"],
  faults: {
    refused: {
      severity: "failure",
      cause: "Nothing listens on this port: the service does not run, or on another port or address.",
      advice: "Start it, or correct the port; a process that listens on 127.0.0.1 is not reachable from outside.",
    },
    silent: {
      severity: "failure",
      cause: "A firewall or security group drops the packets, or the host is off.",
      advice: "Open the port for this machine, and see whether the host answers anything at all.",
    },
    unreachable: {
      severity: "failure",
      cause: "There is no route to the address from here.",
      advice: "Check the network of this machine (VPN, IPv6) and whether the record names a private address.",
    },
    "some-addresses": {
      severity: "warning",
      cause: "One of several addresses does not work: an old record, or IPv6 that is announced and not served.",
      advice: "Remove the record, or let the service listen there too; some clients try that address first.",
    },
  },
  async run({ target, allowance, addresses }) {
    const outcomes: { address: string; outcome: string; milliseconds: number }[] = [];
    for (const address of addresses.slice(0, MAX_ADDRESSES)) {
      const startedAt = performance.now();
      const outcome = await connectionOutcome(address, portOf(target.url), allowance);
      outcomes.push({ address, outcome, milliseconds: Math.round(performance.now() - startedAt) });
    }
    const reached = outcomes.filter(({ outcome }) => outcome === "connected");
    const failed = outcomes.filter(({ outcome }) => outcome !== "connected");
    const seen = failed.map(({ address, outcome }) => `${address}: ${outcome}`).join(", ");
    const [fastest] = reached.toSorted((left, right) => left.milliseconds - right.milliseconds);
    if (fastest === undefined) {
      const [first] = failed;
      if (first?.outcome === "ECONNREFUSED") return found("refused", seen);
      return found(first?.outcome === "silent" ? "silent" : "unreachable", seen);
    }
    const measured = { connectMilliseconds: fastest.milliseconds };
    // A machine without IPv6 says so itself, and a service on this machine may well listen on one of its addresses only.
    const isOwnFault =
      isLoopback(target.url) || failed.every(({ outcome }) => outcome === "ENETUNREACH" || outcome === "EADDRNOTAVAIL");
    if (isOwnFault) return ok(`port ${portOf(target.url)} in ${fastest.milliseconds} ms`, measured);
    return found("some-addresses", seen, measured);
  },
});

const tls = deploymentCheck({
  id: "tls",
  title: "TLS and its certificate",
  looksAt: "The handshake, who issued the certificate, for which name, and for how many days it is still valid",
  needs: ["tcp"],
  faults: {
    unencrypted: {
      severity: "warning",
      cause: "The URL begins with http://: everybody on the way can read token and documents.",
      advice: "Serve it by TLS and give the https:// URL.",
    },
    expired: {
      severity: "failure",
      cause: "The certificate was not renewed, or the renewed one was not loaded.",
      advice: "Renew it, reload the server, and watch `daysLeft` of this check from cron.",
    },
    "not-yet-valid": {
      severity: "failure",
      cause: "The certificate begins in the future: the clock of this machine or of the authority is wrong.",
      advice: "Set the clock of this machine by NTP, then look at the certificate's dates.",
    },
    "self-signed": {
      severity: "failure",
      cause: "The server shows a certificate that it made itself, often the default of a proxy.",
      advice: "Install one of an authority; for a test, name it in NODE_EXTRA_CA_CERTS.",
    },
    "unknown-issuer": {
      severity: "failure",
      cause: "The server does not send its intermediate certificate, or a private authority issued it.",
      advice: "Serve the full chain; a private authority goes into NODE_EXTRA_CA_CERTS.",
    },
    "wrong-name": {
      severity: "failure",
      cause: "The certificate is for another name: the host serves several sites, or the URL has an address.",
      advice: "Use the name in the certificate, or get one for this name.",
    },
    "no-tls": {
      severity: "failure",
      cause: "The port does not speak TLS: it serves plain HTTP or another protocol.",
      advice: "Check the port, or give the http:// URL where no TLS is meant to be.",
    },
    handshake: {
      severity: "failure",
      cause: "The handshake failed: old protocol versions, a client certificate that is asked for, or an unknown name.",
      advice: "Look at it with openssl s_client -connect HOST:PORT -servername HOST.",
    },
    "ends-soon": {
      severity: "warning",
      cause: "The certificate should have been renewed by now, and has not been.",
      advice: "Run the renewal by hand and read its output, before the certificate expires.",
    },
  },
  async run({ target, allowance }) {
    const { url } = target;
    if (url.protocol === "http:") {
      return isLoopback(url) ? ok("none, and not needed on this machine") : found("unencrypted", "http");
    }
    const handshake = await shakeHands(url, allowance);
    if (handshake.kind === "failed") {
      const isPlain = /WRONG_VERSION|PACKET_LENGTH|UNEXPECTED_MESSAGE/.test(handshake.code);
      return found(isPlain ? "no-tls" : "handshake", handshake.code);
    }
    const { certificate, authorizationError, protocol } = handshake;
    const endsAt = Date.parse(certificate.valid_to);
    const daysLeft = Math.floor((endsAt - Date.now()) / DAY_MILLISECONDS);
    const measured = { daysLeft };
    const seen = `${authorizationError}; valid until ${certificate.valid_to}`;
    switch (authorizationError) {
      case "":
        break;
      case "CERT_HAS_EXPIRED":
        return found("expired", seen, measured);
      case "CERT_NOT_YET_VALID":
        return found("not-yet-valid", `valid from ${certificate.valid_from}`, measured);
      case "DEPTH_ZERO_SELF_SIGNED_CERT":
        // A self-signed one is reported as that even if it has ended; the end is what an operator looks for first.
        return found(endsAt < Date.now() ? "expired" : "self-signed", seen, measured);
      case "ERR_TLS_CERT_ALTNAME_INVALID":
        return found("wrong-name", `the certificate is for ${certificate.subjectaltname ?? "no name"}`, measured);
      default:
        return found("unknown-issuer", seen, measured);
    }
    const lifeDays = (endsAt - Date.parse(certificate.valid_from)) / DAY_MILLISECONDS;
    const text = `${protocol}, certificate valid for ${daysLeft} more days`;
    if (daysLeft < Math.min(RENEWAL_DAYS, lifeDays / 3)) return found("ends-soon", text, measured);
    return ok(text, measured);
  },
});

const http = deploymentCheck({
  id: "http",
  title: "HTTP is spoken",
  looksAt: "Whether `GET /health` has any answer, and how long it takes with all handshakes",
  needs: ["tls"],
  faults: {},
  async run(examination) {
    const exchange = await examination.ask({ path: "health" });
    if (exchange.kind === "no-answer") return faultIn(exchange);
    examination.health = exchange;
    const milliseconds = Math.round(exchange.milliseconds);
    return ok(`status ${exchange.status} after ${milliseconds} ms`, { firstAnswerMilliseconds: milliseconds });
  },
});

const clock = deploymentCheck({
  id: "clock",
  title: "the clocks agree",
  looksAt: "`Date` of an answer against the clock of this machine",
  needs: ["http"],
  faults: {
    skew: {
      severity: "warning",
      cause: "The clock of this machine or of the deployment is wrong: certificates and logs will mislead.",
      advice: "Synchronise both by NTP (timedatectl status says whether it runs).",
    },
  },
  async run({ health }: Examination) {
    const date = Date.parse(health?.headers.get("Date") ?? "");
    if (health === null || Number.isNaN(date)) return skipped("the answers have no Date");
    const skewSeconds = Math.round((health.receivedAt - date) / 1000);
    const seen = `${Math.abs(skewSeconds)} s apart`;
    const measured = { skewSeconds };
    return Math.abs(skewSeconds) > MAX_CLOCK_SKEW_SECONDS ? found("skew", seen, measured) : ok(seen, measured);
  },
});

export const REACHABILITY: CheckGroup = { name: "Reachability", checks: [dns, tcp, tls, http, clock] };

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

function codeOf(error: unknown): string {
  return error instanceof Error && "code" in error ? String(error.code) : "failed";
}

async function withinTime<Value, Late>(value: Promise<Value>, allowance: Allowance, late: Late): Promise<Value | Late> {
  const { promise, resolve, reject } = Promise.withResolvers<Late>();
  const timer = setTimeout(() => resolve(late), allowance.milliseconds());
  const abort = () => reject(allowance.signal.reason);
  allowance.signal.addEventListener("abort", abort, { once: true });
  try {
    return await Promise.race([value, promise]);
  } finally {
    clearTimeout(timer);
    allowance.signal.removeEventListener("abort", abort);
  }
}

/** @returns `connected`, `silent`, or the code of the error */
async function connectionOutcome(host: string, port: number, allowance: Allowance): Promise<string> {
  allowance.signal.throwIfAborted();
  const socket = connect({ host, port });
  try {
    const settled = new Promise<string>((resolve) => {
      socket.once("connect", () => resolve("connected"));
      socket.once("error", (error) => resolve(codeOf(error)));
    });
    return await withinTime(settled, allowance, "silent");
  } finally {
    socket.destroy();
  }
}

type Handshake =
  | { readonly kind: "failed"; readonly code: string }
  | {
      readonly kind: "done";
      readonly certificate: PeerCertificate;
      /** Empty where nothing is wrong. */
      readonly authorizationError: string;
      readonly protocol: string;
    };

/** Makes a handshake without believing the certificate: nothing is sent on this connection. */
async function shakeHands(url: URL, allowance: Allowance): Promise<Handshake> {
  allowance.signal.throwIfAborted();
  const host = hostOf(url);
  const servername = isIP(host) === 0 ? { servername: host } : {};
  const socket = connectByTls({ host, port: portOf(url), rejectUnauthorized: false, ...servername });
  try {
    const settled = new Promise<Handshake>((resolve) => {
      socket.once("secureConnect", () => resolve(handshakeOf(socket)));
      socket.once("error", (error) => resolve({ kind: "failed", code: codeOf(error) }));
      socket.once("close", () => resolve({ kind: "failed", code: "the connection was closed" }));
    });
    return await withinTime(settled, allowance, { kind: "failed", code: "no answer in time" });
  } finally {
    socket.destroy();
  }
}

function handshakeOf(socket: TLSSocket): Handshake {
  const error: unknown = socket.authorizationError;
  return {
    kind: "done",
    certificate: socket.getPeerCertificate(),
    // A string or an error, by the version of Node.
    authorizationError: socket.authorized ? "" : error instanceof Error ? codeOf(error) : String(error),
    protocol: socket.getProtocol() ?? "TLS",
  };
}

/**
 * The doctor, against a real deployment with two backends and against deployments that are broken in different ways.
 * Each fault must be found by the check that is meant to find it.
 */
import { once } from "node:events";
import { readFile, writeFile } from "node:fs/promises";
import { createServer as createHttpServer, type RequestListener } from "node:http";
import { createServer, type Socket } from "node:net";
import { join } from "node:path";
import { getCACertificates, setDefaultCACertificates } from "node:tls";
import { execa } from "execa";
import { beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { Allowance } from "../../../clients/command-line/doctor/allowance.ts";
import { ANSWER_FAULTS, outcomeOf } from "../../../clients/command-line/doctor/answers.ts";
import { CHECK_GROUPS } from "../../../clients/command-line/doctor/checks.ts";
import type { ExaminationTarget } from "../../../clients/command-line/doctor/examination.ts";
import { serverTiming } from "../../../clients/command-line/doctor/latency.ts";
import { isHealthy, reportForPrograms } from "../../../clients/command-line/doctor/report.ts";
import {
  type CheckResult,
  type ExaminationReport,
  examine,
  maxRequests,
} from "../../../clients/command-line/doctor/runner.ts";
import { Server } from "../../../clients/command-line/doctor/server.ts";
import {
  type LocalBackend,
  type LocalEdge,
  startBackend,
  startEdge,
  takeFreePort,
} from "../../../scripts/start/local-service.ts";
import { findOnPath } from "../../../typst/programs.mjs";
import { makeCertificate } from "../../support/clients/certificate.ts";
import { runCommand, runInTerminal, runProcess } from "../../support/clients/command-line.ts";
import { type PassingAnswer, startTamperingProxy } from "../../support/clients/tampering-proxy.ts";
import { closeServer, listenOnLoopback } from "../../support/loopback-server.ts";
import { backendEnvironment, startTestService, type TestService } from "../../support/service/test-service.ts";
import { makeTemporaryFolder } from "../../support/temporary-folder.ts";
import { API_TOKEN, BACKEND_TOKEN, UNREACHABLE_URL } from "../../support/tokens.ts";

/** A short limit, for servers that hang on purpose. */
const SHORT_MILLISECONDS = 800;
/** A limit longer than anything takes on a busy machine. */
const LONG_MILLISECONDS = 60_000;

let service: TestService;
let second: LocalBackend;

beforeAll(async () => {
  second = await startBackend(backendEnvironment(), await takeFreePort());
  service = await startTestService({ otherBackendUrls: [second.url.origin] });
  return async () => {
    await service.stop();
    await second.stop();
  };
});

function targetOf(url: URL | string, more: Partial<ExaminationTarget> = {}): ExaminationTarget {
  return {
    url: new URL(url),
    token: API_TOKEN,
    backendToken: BACKEND_TOKEN,
    metricsToken: "",
    origins: [],
    typst: undefined,
    ...more,
  };
}

/** Every fault that a test of this file has seen, as `check: fault`. */
const seenFaults = new Set<string>();

async function examineTarget(
  target: ExaminationTarget,
  requestMilliseconds = LONG_MILLISECONDS,
  more: { readonly metricsAgeMilliseconds?: number } = {},
): Promise<ExaminationReport> {
  const report = await examine(target, { requestMilliseconds, signal: new AbortController().signal, ...more });
  for (const { id, fault } of report.checks) if (fault !== null) seenFaults.add(`${id}: ${fault}`);
  return report;
}

/**
 * The faults as `check: fault`, with the origin that was asked directly. Slowness is left out, because the machine of a
 * test may be slow.
 */
function faultsOf({ checks }: ExaminationReport): string[] {
  return checks
    .filter(({ fault }) => fault !== null && !fault.startsWith("slow"))
    .map(({ id, fault, origin }) => `${id}${origin === null ? "" : ` at ${origin}`}: ${fault}`);
}

function resultOf(report: ExaminationReport, id: string): CheckResult {
  const result = report.checks.find((check) => check.id === id);
  if (result === undefined) throw new Error(`no check ${id}`);
  return result;
}

/** A server of raw connections that ends with its test. */
async function startRawServer(onConnection: (socket: Socket) => void): Promise<URL> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on("error", () => {});
    socket.once("close", () => sockets.delete(socket));
    onConnection(socket);
  });
  const url = await listenOnLoopback(server);
  onTestFinished(async () => {
    for (const socket of sockets) socket.destroy();
    server.close();
    await once(server, "close");
  });
  return url;
}

async function startHttpServer(listener: RequestListener): Promise<URL> {
  const server = createHttpServer((request, response) => {
    request.on("error", () => {});
    request.resume();
    listener(request, response);
  });
  const url = await listenOnLoopback(server);
  onTestFinished(() => closeServer(server));
  return url;
}

describe("a healthy deployment", () => {
  it("passes every check at the edge and at each origin, with bounded requests one at a time", async () => {
    const proxy = await startTamperingProxy(service.edge.url, () => {});
    const origins = [
      { name: "a", url: service.backend.url },
      { name: "b", url: second.url },
    ];
    const target = targetOf(proxy.url, { origins });
    const report = await examineTarget(target);
    expect(faultsOf(report)).toEqual([]);
    const skipped = report.checks.filter(({ status }) => status === "skipped").map(({ id }) => id);
    expect(skipped).toEqual([]);
    expect(proxy.mostAtOnce()).toBe(1);
    expect(report.requests).toBeLessThanOrEqual(maxRequests(target));
    expect(proxy.requests.length).toBeLessThan(60);
    expect(resultOf(report, "latency").measured).toMatchObject({
      healthMilliseconds: expect.any(Number),
      renderMilliseconds: expect.any(Number),
    });
    expect(report.checks.filter(({ id }) => id === "origin-latency").map(({ origin }) => origin)).toEqual(["a", "b"]);
  });

  it("is one line of JSON for programs, in a stable shape and without the token", async () => {
    const folder = await makeTemporaryFolder("doctor-");
    const run = await runCommand(folder, ["doctor", service.edge.url.href, "--json"]);
    expect(run.exitCode).toBe(0);
    expect(run.stderr).toBe("");
    const report = JSON.parse(run.stdout);
    expect(Object.keys(report)).toEqual(["outcome", "url", "healthy", "counts", "requests", "seconds", "checks"]);
    expect(report).toMatchObject({ outcome: "examined", url: service.edge.url.href, healthy: true });
    expect(report.counts.failure).toBe(0);
    for (const check of report.checks) {
      expect(Object.keys(check)).toEqual([
        "id",
        "group",
        "title",
        "status",
        "seen",
        "fault",
        "cause",
        "advice",
        "origin",
        "measured",
      ]);
    }
    expect(run.stdout).not.toContain(API_TOKEN);
  });

  it("is a table for people, coloured only on a terminal, and prints nothing with --quiet", async () => {
    const folder = await makeTemporaryFolder("doctor-");
    const { stdout } = await runCommand(folder, ["doctor", "--url", service.edge.url.href]);
    expect(stdout).toMatch(/^http:.* at most 60 requests, one at a time, each at most 60 s\n/);
    expect(stdout).toMatch(/\n✓ a PDF of two pages {2,}5\.\d KiB after \d+ ms\n/);
    expect(stdout).toMatch(/\n\d+ passed, \d+ warnings?, 0 failures, \d+ skipped; \d+ requests in \d+\.\d s\n$/);
    expect(stdout).not.toContain("\u001b");
    expect(stdout).not.toContain(API_TOKEN);
    const { screen } = await runInTerminal(folder, ["doctor", UNREACHABLE_URL]);
    expect(screen).toContain("\u001b[31m✗");
    const quiet = await runCommand(folder, ["doctor", service.edge.url.href, "--quiet"]);
    // On a busy machine, renders may be slow. No other warning may be shown.
    const withoutLatency = quiet.stdout.replace(/^\nLatency\n(?:! .*\n {4}.*\n {4}.*\n)+/, "");
    expect([quiet.exitCode, withoutLatency, quiet.stderr]).toEqual([0, "", ""]);
  });
});

describe("reaching the host", () => {
  it("names a host that does not exist", async () => {
    // A label of over 63 characters: no resolver needs to be asked.
    const report = await examineTarget(targetOf(`http://${"a".repeat(64)}.invalid/`));
    expect(faultsOf(report)).toEqual(["dns: unknown-name"]);
    expect(report.requests).toBe(0);
  });

  it("names a port where nothing listens", async () => {
    const report = await examineTarget(targetOf(UNREACHABLE_URL));
    expect(faultsOf(report)).toEqual(["tcp: refused"]);
    expect(resultOf(report, "tcp").advice).toContain("127.0.0.1 is not reachable from outside");
  });

  it("distinguishes a server that accepts and stays silent from one that closes at once", async () => {
    const hanging = await examineTarget(targetOf(await startRawServer(() => {})), SHORT_MILLISECONDS);
    expect(faultsOf(hanging)).toEqual(["http: timed-out"]);
    const closing = await examineTarget(targetOf(await startRawServer((socket) => socket.destroy())));
    expect(faultsOf(closing)).toEqual(["http: connection-failed"]);
  });

  it("names a protocol other than HTTP", async () => {
    const url = await startRawServer((socket) => socket.end("SSH-2.0-OpenSSH_10.0\r\n"));
    const report = await examineTarget(targetOf(url));
    expect(faultsOf(report)).toEqual(["http: not-http"]);
  });

  it("stops reading an answer that does not end", async () => {
    const url = await startHttpServer((_request, response) => {
      response.writeHead(200, { "Content-Type": "application/json" });
      const more = () => {
        while (!response.destroyed && response.write("x".repeat(65_536)));
      };
      response.on("drain", more);
      more();
    });
    const report = await examineTarget(targetOf(url));
    expect(faultsOf(report)).toEqual(["http: endless"]);
  });

  it("stops reading an answer that trickles", async () => {
    const url = await startHttpServer((_request, response) => {
      response.writeHead(200, { "Content-Type": "application/json" });
      const timer = setInterval(() => response.write(" "), 20);
      response.once("close", () => clearInterval(timer));
    });
    const report = await examineTarget(targetOf(url), SHORT_MILLISECONDS);
    expect(faultsOf(report)).toEqual(["http: timed-out"]);
  });

  it("never sends more requests than it promises, whatever the answers", async () => {
    const url = await startHttpServer((_request, response) => response.writeHead(500).end());
    const bounds = { maxRequests: 2, requestMilliseconds: LONG_MILLISECONDS, totalMilliseconds: LONG_MILLISECONDS };
    const allowance = new Allowance({ ...bounds, signal: new AbortController().signal });
    const server = new Server(null, url, {}, allowance);
    const exchanges = [await server.get("a"), await server.get("b"), await server.get("c")];
    server.close();
    expect(exchanges.map(outcomeOf)).toEqual(["500", "500", "out-of-bounds"]);
    seenFaults.add("any: out-of-bounds");
  });

  it("ends as soon as it is interrupted", async () => {
    const interruption = new AbortController();
    // While it waits for the answer to its first request.
    const url = await startRawServer((socket) => socket.once("data", () => interruption.abort()));
    const examining = examine(targetOf(url), { requestMilliseconds: LONG_MILLISECONDS, signal: interruption.signal });
    await expect(examining).rejects.toThrow(/abort/i);
  });
});

describe("TLS", () => {
  const [VALID, NAMES] = [{ fromDays: -30, toDays: 60 }, ["localhost"]];

  /** A proxy with this certificate, trusted or not: an operator would trust it by NODE_EXTRA_CA_CERTS. */
  async function startTls(certificate: ReturnType<typeof makeCertificate>, isTrusted: boolean): Promise<URL> {
    const own = getCACertificates("default");
    if (isTrusted) setDefaultCACertificates([...own, certificate.cert]);
    onTestFinished(() => setDefaultCACertificates(own));
    return (await startTamperingProxy(service.edge.url, () => {}, { certificate })).url;
  }

  it.each([
    ["expired", { fromDays: -90, toDays: -3 }, NAMES, true],
    ["expired", { fromDays: -90, toDays: -3 }, NAMES, false],
    ["not-yet-valid", { fromDays: 2, toDays: 90 }, NAMES, true],
    ["self-signed", VALID, NAMES, false],
    ["wrong-name", VALID, ["other.example"], true],
    ["unknown-issuer", VALID, NAMES, false, "An authority"],
  ])("names a certificate that is %s", async (fault, dates, names, isTrusted, issuer?: string) => {
    const url = await startTls(makeCertificate(dates, names, issuer), isTrusted);
    const report = await examineTarget(targetOf(url));
    expect(faultsOf(report)).toEqual([`tls: ${fault}`]);
    // The token is not sent.
    expect(report.requests).toBe(0);
  });

  it("warns before a certificate expires, and goes on", async () => {
    const url = await startTls(makeCertificate({ fromDays: -85, toDays: 5 }, NAMES), true);
    const report = await examineTarget(targetOf(url, { token: "wrong-one" }));
    expect(faultsOf(report)).toEqual(["tls: ends-soon", "token: rejected"]);
    expect(resultOf(report, "tls").measured).toEqual({ daysLeft: 4 });
  });

  it("is expected unless the service is on this machine, and also checked for origins", async () => {
    // A name of this machine that the doctor does not recognise as such.
    const url = new URL(service.edge.url.href.replace("127.0.0.1", "0.0.0.0"));
    const origins = [{ name: "a", url: await startTls(makeCertificate(VALID, NAMES), false) }];
    const report = await examineTarget(targetOf(url, { origins, token: "wrong-one" }));
    expect(faultsOf(report)).toEqual(["tls: unencrypted", "token: rejected", "origin-health at a: tls-failed"]);
  });

  it("distinguishes a port without TLS from one that hangs", async () => {
    const plain = new URL(service.edge.url.href.replace("http:", "https:"));
    expect(faultsOf(await examineTarget(targetOf(plain)))).toEqual(["tls: no-tls"]);
    const silent = await startRawServer(() => {});
    const url = silent.href.replace("http:", "https:");
    expect(faultsOf(await examineTarget(targetOf(url), SHORT_MILLISECONDS))).toEqual(["tls: handshake"]);
  });
});

describe("something else at the URL", () => {
  it.each([
    ["wrong-path", 404, { "Content-Type": "text/plain" }, "404 page not found"],
    ["web-page", 200, { "Content-Type": "text/html" }, "<title>Sign in</title>"],
    ["gateway", 502, { "Content-Type": "text/html" }, "<h1>502 Bad Gateway</h1>"],
    ["gateway", 500, { "Content-Type": "text/plain" }, "error code: 1101"],
    ["rate-limited", 429, {}, ""],
    ["not-the-service", 200, { "Content-Type": "application/json" }, '{"status":"UP"}'],
    ["not-the-service", 200, { "Content-Type": "application/json" }, "{"],
  ])("is %s for status %i", async (fault, status, headers, body) => {
    const url = await startHttpServer((_request, response) => response.writeHead(status, headers).end(body));
    const report = await examineTarget(targetOf(url));
    expect(faultsOf(report)[0]).toBe(`health: ${fault}`);
    expect(isHealthy(report.checks)).toBe(false);
    expect(resultOf(report, "health").cause).toMatch(/\.$/);
  });

  it("explains Cloudflare's error numbers", async () => {
    const url = await startHttpServer((_request, response) => response.writeHead(530).end("error code: 1033"));
    const { seen } = resultOf(await examineTarget(targetOf(url)), "health");
    expect(seen).toBe("530: the Cloudflare Tunnel has no connection (1033)");
  });

  it("shows where a redirect leads, and does not follow it with the token", async () => {
    const elsewhere: string[] = [];
    const other = await startHttpServer((request, response) => {
      elsewhere.push(request.url ?? "");
      response.end();
    });
    const url = await startHttpServer((_request, response) => {
      response.writeHead(301, { Location: `${other.href}login` }).end();
    });
    const report = await examineTarget(targetOf(url));
    expect(faultsOf(report)).toEqual(["health: redirected"]);
    expect(resultOf(report, "health").seen).toBe(`301 to ${other.href}login`);
    expect(elsewhere).toEqual([]);
  });

  it("is an edge with a setting that it cannot use", async () => {
    const edge = await startEdge({ SERVICE_API_TOKENS: API_TOKEN, SERVICE_MAX_OUTPUT_FILES: "many" }, 0);
    onTestFinished(() => edge.stop());
    expect(faultsOf(await examineTarget(targetOf(edge.url)))).toEqual(["health: settings"]);
  });

  it("is the service, but not at this path", async () => {
    const report = await examineTarget(targetOf(new URL("service/", service.edge.url)));
    expect(faultsOf(report)).toEqual(["health: wrong-path"]);
  });

  it("is a backend where the edge should be", async () => {
    const report = await examineTarget(targetOf(service.backend.url));
    expect(faultsOf(report)).toEqual(["health: backend"]);
  });
});

describe("tokens", () => {
  it("that are rejected are reported, and the checks that need none still run", async () => {
    const report = await examineTarget(targetOf(service.edge.url, { token: "wrong-one" }));
    expect(faultsOf(report)).toEqual(["token: rejected"]);
    expect(resultOf(report, "error-codes").status).toBe("ok");
    expect(resultOf(report, "render-pdf")).toMatchObject({ status: "skipped", seen: "needs token" });
  });

  it("that are missing are reported, and make it exit with 1", async () => {
    const folder = await makeTemporaryFolder("doctor-");
    const run = await runProcess(folder, ["doctor", service.edge.url.href.replace("127.0.0.1", "localhost")], {
      env: { SERVICE_API_TOKEN: "" },
    });
    // On this machine, the token of the checkout is used if there is one, and it is a different one.
    expect(run.stdout).toMatch(/✗ the token is accepted +(?:no token|403 forbidden)/);
    expect(run.exitCode).toBe(1);
  });

  it("that the edge lacks are reported", async () => {
    const edge: LocalEdge = await startEdge({ SERVICE_API_TOKENS: "", SERVICE_BACKEND_URLS: "" }, 0);
    onTestFinished(() => edge.stop());
    const report = await examineTarget(targetOf(edge.url));
    expect(faultsOf(report)).toContain("token-missing: no-tokens");
    expect(resultOf(report, "token-missing").cause).toContain("SERVICE_API_TOKENS is not set");
    expect(faultsOf(report)).toContain("origins-up: none");
    expect(faultsOf(report)).toContain("capabilities: no-origin");
  });

  it("that callers need not send are reported", async () => {
    const proxy = await startTamperingProxy(service.edge.url, (answer) => {
      if (answer.path === "/v1/constraints") Object.assign(answer, { status: 200, body: Buffer.from("{}") });
      answer.headers["content-type"] = "application/json";
    });
    expect(faultsOf(await examineTarget(targetOf(proxy.url)))).toContain("token-missing: open");
  });

  it("that are wrong but accepted are found", async () => {
    const proxy = await startTamperingProxy(service.edge.url, (answer) => {
      const { "x-service-api-token": token } = answer.requestHeaders;
      if (token === undefined || token === API_TOKEN || answer.path !== "/v1/constraints") return;
      Object.assign(answer, { status: 200, headers: { ...answer.headers, "content-type": "application/json" } });
    });
    expect(faultsOf(await examineTarget(targetOf(proxy.url, { token: "" })))).toEqual([
      "token-wrong: open",
      "token: none-known",
    ]);
  });

  it("are never shown, even if a server sends them back", async () => {
    const proxy = await startTamperingProxy(service.edge.url, (answer) => {
      if (answer.status !== 200 || answer.path !== "/v1/constraints") return;
      Object.assign(answer, { status: 302, headers: { location: `/login?token=${API_TOKEN}` } });
    });
    const folder = await makeTemporaryFolder("doctor-");
    const run = await runCommand(folder, ["doctor", proxy.url.href]);
    expect(run.stdout).toContain("302 to /login?token=[token]");
    expect(run.stdout + run.stderr).not.toContain(API_TOKEN);
    expect(run.exitCode).toBe(1);
  });
});

/** Changes a JSON body. */
function changeJson(answer: PassingAnswer, change: (document: Record<string, unknown>) => object): void {
  answer.body = Buffer.from(JSON.stringify(change(JSON.parse(answer.body.toString("utf8")))));
}

describe("what is published", () => {
  it("by a service that is unavailable for a single request is found", async () => {
    const proxy = await startTamperingProxy(service.edge.url, (answer) => {
      if (answer.path !== "/capabilities.json" && answer.path !== "/v1/render") return;
      if (answer.path === "/v1/render" && answer.status !== 422) return;
      const problem = {
        code: "service_unavailable",
        origin: "service",
        status: 503,
        title: "",
        detail: "",
        context: {},
      };
      Object.assign(answer, { status: 503, body: Buffer.from(JSON.stringify({ ...problem, instance: "x#1" })) });
      answer.headers["content-type"] = "application/problem+json";
    });
    const faults = faultsOf(await examineTarget(targetOf(proxy.url)));
    expect(faults).toContain("capabilities: no-origin");
    expect(faults).toContain("compile-error: unavailable");
  });

  it("by an older version is found: limits, versions, vectors and documents", async () => {
    const proxy = await startTamperingProxy(service.edge.url, (answer) => {
      if (answer.path === "/v1/constraints" && answer.status === 200) {
        changeJson(answer, ({ limits, conformance_vectors, output_rules, ...rest }) => ({
          ...rest,
          rules_version: 4,
          limits: { ...Object(limits), max_output_files: 20_000, max_inline_files: undefined },
          conformance_vectors: [{ keys: ["a.typ"], accepted: false, code: "invalid_template_path" }],
          output_rules: { ...Object(output_rules), output_rules_version: 99 },
        }));
      }
      if (answer.path === "/error-codes.json") changeJson(answer, (document) => ({ ...document, codes: [] }));
      if (answer.path === "/openapi.json") answer.body = Buffer.from("<html>");
      if (answer.path === "/metrics") answer.status = 403;
      if (answer.path === "/capabilities.json") {
        changeJson(answer, (document) => ({ ...document, typst_versions: ["0.15.0", "0.15.1"] }));
      }
    });
    const report = await examineTarget(targetOf(proxy.url));
    expect(faultsOf(report)).toEqual([
      "limits: out-of-range",
      "rules-version: older",
      "output-rules-version: newer",
      "vectors: disagree",
      "files-key-rules: differs",
      "output-rules: differs",
      "error-codes: incomplete",
      "openapi: not-the-service",
      "capabilities: several-typst",
    ]);
    expect(resultOf(report, "metrics")).toMatchObject({ status: "skipped", seen: "closed to this caller (403)" });
    expect(resultOf(report, "limits").seen).toBe("max_output_files = 20000");
  });

  it("is compared with what the service really does", async () => {
    const proxy = await startTamperingProxy(service.edge.url, (answer) => {
      if (answer.path === "/v1/constraints" && answer.status === 200) {
        changeJson(answer, ({ limits, ...rest }) => ({
          ...rest,
          limits: { ...Object(limits), max_template_source_bytes: 100_000, max_inline_file_bytes: undefined },
        }));
      }
      // A stand-in that renders every request.
      if (answer.path === "/v1/render" && answer.status === 400) {
        Object.assign(answer, { status: 200, headers: { "content-type": "application/pdf" } });
      }
      if (answer.path === "/metrics") answer.body = Buffer.from("<html></html>");
    });
    const faults = faultsOf(await examineTarget(targetOf(proxy.url)));
    expect(faults).toContain("limits: missing");
    expect(faults).toContain("vectors-enforced: otherwise");
    expect(faults).toContain("over-limit: not-enforced");
    expect(faults).toContain("metrics: no-metrics");
  });
});

/** Proxies that refuse bodies over 1 MiB: one of this test, and nginx with its own defaults where it is installed. */
const BODY_LIMITS: readonly (readonly [name: string, start: (service: URL) => Promise<URL>])[] = [
  ["a stand-in", async (behind) => (await startTamperingProxy(behind, () => {}, { maxBodyBytes: 1024 * 1024 })).url],
  ...(findOnPath("nginx").length > 0 ? [["nginx", startNginx] as const] : []),
];

/** nginx as its documentation shows it, in front of a service. */
async function startNginx(behind: URL): Promise<URL> {
  const folder = await makeTemporaryFolder("nginx-");
  const port = await takeFreePort();
  const temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map((kind) => `${kind}_temp_path ${kind};`);
  const location = `location / { proxy_pass ${behind.origin}; proxy_set_header Host $http_host; }`;
  await writeFile(
    join(folder, "nginx.conf"),
    `daemon off; user root; pid nginx.pid; error_log stderr; events {}
http { access_log off; ${temporary.join(" ")} server { listen 127.0.0.1:${port}; ${location} } }`,
  );
  const nginx = execa("nginx", ["-p", folder, "-c", "nginx.conf"], { reject: false, stdin: "ignore" });
  onTestFinished(async () => {
    nginx.kill();
    await nginx;
  });
  const url = new URL(`http://127.0.0.1:${port}`);
  await expect.poll(async () => (await fetch(url).catch(() => null)) !== null).toBe(true);
  return url;
}

describe("a proxy that changes answers", () => {
  it("is found by header fields and by the bytes of rendered files", async () => {
    let renders = 0;
    const proxy = await startTamperingProxy(service.edge.url, (answer) => {
      const { headers } = answer;
      for (const name of ["x-content-type-options", "content-security-policy"]) delete headers[name];
      Object.assign(headers, { "cache-control": "max-age=60", server: "nginx/1.2.3", "x-request-id": "proxy-1" });
      headers.date = new Date(Date.now() - 3_600_000).toUTCString();
      if (answer.path !== "/v1/render") return;
      if (answer.status === 422) changeJson(answer, (problem) => ({ ...problem, detail: 'panicked with: "x"' }));
      if (answer.status !== 200) return;
      renders++;
      if (renders === 1) answer.body = answer.body.subarray(0, -20);
      if (renders === 2)
        answer.body = Buffer.from(answer.body.toString("latin1").replace("pdfaid:part>2", "pdfaid:part>3"));
      if (renders === 3) headers["content-type"] = "image/webp";
      if (renders === 4) answer.body = answer.body.subarray(0, -6);
      if (renders === 5) answer.body = answer.body.subarray(0, -30);
      if (renders === 7) answer.body.writeUInt32BE(66, 16);
    });
    const report = await examineTarget(targetOf(proxy.url));
    expect(faultsOf(report)).toEqual([
      "clock: skew",
      "render-pdf: wrong-bytes",
      "render-pdf-a: wrong-bytes",
      "render-png: wrong-type",
      "render-svg: wrong-bytes",
      "render-zip-png: wrong-bytes",
      "render-data-files: wrong-bytes",
      "compile-error: diagnostics-leak",
      "nosniff: missing",
      "no-store: missing",
      "server-details: version",
      "request-id: missing",
    ]);
    expect(Math.abs(resultOf(report, "clock").measured.skewSeconds ?? 0)).toBeGreaterThan(3500);
  });

  it("is found by its own request ids, by the missing policy of an SVG, and by its own Host", async () => {
    const proxy = await startTamperingProxy(service.edge.url, (answer) => {
      answer.headers["x-request-id"] = crypto.randomUUID();
      delete answer.headers["content-security-policy"];
      if (answer.headers["content-type"] === "application/problem+json") {
        const text = answer.body.toString("utf8");
        answer.body = Buffer.from(text.replace(/"instance":"http:\/\/[^/]+/, '"instance":"http://internal'));
      }
      if (answer.status === 200 && answer.path === "/v1/render") {
        answer.headers["server-timing"] = "cfCacheStatus;desc=MISS, queue;dur=1500.25, compile;dur=40";
      }
    });
    const report = await examineTarget(targetOf(proxy.url));
    expect(faultsOf(report)).toEqual(["svg-policy: missing", "request-id: not-in-problem", "instance: other-url"]);
    expect(resultOf(report, "latency").fault).toMatch(/^slow-/);
    expect(resultOf(report, "latency").measured).toMatchObject({ queueMilliseconds: 1500.3, compileMilliseconds: 40 });
  });

  it("or a failing service is identified by its answer to each render", async () => {
    const problems = [
      ["render_failed", "service", 500, {}],
      ["render_timeout", "request", 408, { timeout_secs: 30 }],
      ["template_compile_failed", "template", 422, {}],
      ["render_queue_full", "capacity", 429, { retry_after: 1 }],
      ["forbidden", "request", 403, {}],
      ["invalid_request", "request", 400, {}],
    ] as const;
    let renders = 0;
    const proxy = await startTamperingProxy(service.edge.url, (answer) => {
      if (answer.path !== "/v1/render" && answer.path !== "/health") answer.headers["x-service-limits"] = "x=1";
      answer.headers["x-request-id"] = "00000000-0000-4000-8000-000000000000";
      if (answer.path === "/capabilities.json") {
        changeJson(answer, (document) => ({ ...document, typst_versions: ["0.15.0"] }));
      }
      if (answer.path === "/v1/nothing-of-the-doctor") answer.headers["content-type"] = "text/plain";
      if (answer.path === "/metrics") {
        answer.body = Buffer.from(
          answer.body.toString("utf8").replaceAll('typst_version="0.15.1"', 'typst_version="0.15.0"'),
        );
      }
      if (answer.path !== "/v1/render") return;
      if (answer.status === 422) Object.assign(answer, { status: 200 });
      else if (answer.status === 200 && renders < problems.length) {
        const [code, origin, status, context] = problems[renders++] ?? problems[0];
        const problem = { code, origin, status, title: "", detail: "", instance: "http://x/#id", context };
        answer.headers["content-type"] = "application/problem+json";
        Object.assign(answer, { status, body: Buffer.from(JSON.stringify(problem)) });
      }
    });
    const report = await examineTarget(targetOf(proxy.url));
    expect(faultsOf(report)).toEqual([
      "capabilities: other-typst",
      "render-pdf: render-failed",
      "render-pdf-a: render-timeout",
      "render-png: does-not-compile",
      "render-svg: busy",
      "render-zip-png: forbidden",
      "render-zip-svg: unexpected-problem",
      "compile-error: compiled",
      "unknown-path: not-routed",
      "server-details: internal",
      "request-id: repeated",
      "instance: other-url",
      "typst-versions: other",
    ]);
    expect(resultOf(report, "render-svg").status).toBe("warning");
    expect(resultOf(report, "latency").seen).toBe("needs render-pdf");
  });

  it("that turns the constraints into another document is found at once", async () => {
    const proxy = await startTamperingProxy(service.edge.url, (answer) => {
      if (answer.path === "/v1/constraints" && answer.status === 200) answer.body = Buffer.from("{}");
    });
    expect(faultsOf(await examineTarget(targetOf(proxy.url)))).toEqual(["token: not-constraints"]);
  });

  it.each(BODY_LIMITS)("that refuses bodies over 1 MiB in front of the edge is named (%s)", async (_name, start) => {
    const url = await start(service.edge.url);
    const report = await examineTarget(targetOf(url));
    expect(faultsOf(report).filter((fault) => fault !== "server-details: version")).toEqual([
      "render-large: body-refused",
    ]);
    expect(resultOf(report, "render-large").advice).toContain("client_max_body_size");
  });

  it.each(BODY_LIMITS)("that refuses large bodies behind the edge is named (%s)", async (_name, start) => {
    const proxy = await start(second.url);
    const edge = await startEdge(
      { SERVICE_API_TOKENS: API_TOKEN, SERVICE_BACKEND_TOKEN: BACKEND_TOKEN, SERVICE_BACKEND_URLS: proxy.origin },
      0,
    );
    onTestFinished(() => edge.stop());
    expect(faultsOf(await examineTarget(targetOf(edge.url)))).toEqual(["render-large: behind-limit"]);
  });

  it("that holds requests back until their body is complete is a warning", async () => {
    const proxy = await startTamperingProxy(service.edge.url, () => {}, { isBuffering: true });
    const report = await examineTarget(targetOf(proxy.url), 2000);
    expect(faultsOf(report)).toContain("over-declared: waits-for-body");
  });
});

describe("origins", () => {
  let mixed: TestService;

  beforeAll(async () => {
    mixed = await startTestService({
      backendSettings: { SERVICE_MAX_OUTPUT_FILES: "32" },
      otherBackendUrls: [UNREACHABLE_URL],
    });
    return () => mixed.stop();
  });

  it("that are absent or have other limits are named, by the edge's metrics and when asked directly", async () => {
    const origins = [
      { name: "other-limits", url: mixed.backend.url },
      { name: "dead", url: new URL(UNREACHABLE_URL) },
    ];
    const target = targetOf(mixed.edge.url, { origins });
    const report = await examineTarget(target, LONG_MILLISECONDS, { metricsAgeMilliseconds: 0 });
    const faults = faultsOf(report);
    expect(faults).toContain("origins-up: absent");
    expect(resultOf(report, "origins-up")).toMatchObject({ measured: { origins: 2, originsUp: 1 } });
    expect(resultOf(report, "origins-up").seen).toMatch(/^\S+ of 2$/);
    expect(faults).toContain("origin-limits at other-limits: differ");
    expect(faults).toContain("origin-health at dead: connection-failed");
    expect(report.checks.filter(({ origin, status }) => origin === "dead" && status === "skipped")).toHaveLength(7);
  });

  it("with other limits are named even by the edge's metrics alone", async () => {
    const edge = await startEdge(
      {
        SERVICE_API_TOKENS: API_TOKEN,
        SERVICE_BACKEND_TOKEN: BACKEND_TOKEN,
        SERVICE_BACKEND_URLS: mixed.backend.url.origin,
      },
      0,
    );
    onTestFinished(() => edge.stop());
    expect(faultsOf(await examineTarget(targetOf(edge.url)))).toEqual(["limits-agree: differ"]);
  });

  it("that reject the edge's token are distinguished from those that are down", async () => {
    const edge = await startEdge(
      {
        SERVICE_API_TOKENS: API_TOKEN,
        SERVICE_BACKEND_TOKEN: "wrong-one",
        SERVICE_BACKEND_URLS: second.url.origin,
      },
      0,
    );
    onTestFinished(() => edge.stop());
    const report = await examineTarget(targetOf(edge.url, { origins: [{ name: "a", url: second.url }] }));
    expect(faultsOf(report)).toEqual([
      "render-pdf: no-backend",
      "origins-up: rejects-token",
      "origin-renders at a: disagrees",
    ]);
    expect(resultOf(report, "render-png")).toMatchObject({ status: "skipped", seen: "no origin renders" });
    expect(resultOf(report, "origins-up").advice).toMatch(/wrangler.*compose.*systemd.*Kubernetes/);
  });

  it.each([
    ["all of which are down", "all-down", () => new URL(UNREACHABLE_URL)],
    ["one of which is an edge", "is-edge", () => service.edge.url],
  ])("%s are reported as such, and as the only fault", async (_name, fault, originUrl) => {
    const edge = await startEdge(
      { SERVICE_API_TOKENS: API_TOKEN, SERVICE_BACKEND_TOKEN: BACKEND_TOKEN, SERVICE_BACKEND_URLS: originUrl().origin },
      0,
    );
    onTestFinished(() => edge.stop());
    const faults = faultsOf(await examineTarget(targetOf(edge.url)));
    expect(faults.filter((text) => text !== "capabilities: no-origin")).toEqual([
      "render-pdf: no-backend",
      `origins-up: ${fault}`,
    ]);
  });

  it("are checked if the metrics need a separate token and the right one is given", async () => {
    const proxy = await startTamperingProxy(mixed.edge.url, (answer) => {
      const isRight = answer.requestHeaders.authorization === "Bearer of-metrics";
      if (answer.path === "/metrics" && !isRight) answer.status = 403;
      // Nothing else is needed here.
      if (answer.path === "/v1/constraints" || answer.path === "/v1/render") answer.status = 404;
    });
    const statusWith = async (metricsToken: string) =>
      resultOf(await examineTarget(targetOf(proxy.url, { metricsToken })), "metrics");
    expect(await statusWith("of-metrics")).toMatchObject({ status: "ok" });
    expect(await statusWith("wrong-one")).toMatchObject({ fault: "rejected" });
    expect(await statusWith("")).toMatchObject({ status: "skipped" });
  });

  it("that are not backends are distinguished from an edge and from a backend with another token", async () => {
    const page = await startHttpServer((_request, response) => {
      response.writeHead(200, { "Content-Type": "text/html" }).end("<h1>Welcome to nginx!</h1>");
    });
    const edge = await startEdge(
      { SERVICE_API_TOKENS: API_TOKEN, SERVICE_BACKEND_TOKEN: BACKEND_TOKEN, SERVICE_BACKEND_URLS: page.origin },
      0,
    );
    onTestFinished(() => edge.stop());
    const origins = [
      { name: "page", url: page },
      { name: "edge", url: new URL(edge.url) },
      { name: "good", url: service.backend.url },
    ];
    const report = await examineTarget(targetOf(edge.url, { origins, backendToken: "wrong-one" }));
    const faults = faultsOf(report);
    expect(faults.join()).toMatch(/render-pdf: (?:no-backend|wrong-type),/);
    expect(faults).toContain("origins-up: not-a-backend");
    expect(faults).toContain("origin-health at page: web-page");
    expect(faults).toContain("origin-health at edge: edge");
    expect(faults).toContain("origin-token at good: rejected");
  });

  it("that render although the edge does not are named, and so are those that have no tokens", async () => {
    const open = await startTamperingProxy(service.backend.url, (answer) => {
      if (answer.status === 403) Object.assign(answer, { status: 200 });
    });
    const other = await startTamperingProxy(service.backend.url, (answer) => {
      if (answer.status === 422) Object.assign(answer, { status: 200 });
      if (answer.status === 400) changeJson(answer, (problem) => ({ ...problem, code: "not_found" }));
      if (answer.path === "/health") changeJson(answer, (health) => ({ ...health, typst: "0.14.0" }));
      if (answer.path === "/capabilities.json") changeJson(answer, (document) => ({ ...document, fonts: [] }));
    });
    const unready = await startTamperingProxy(service.backend.url, (answer) => {
      const problem = {
        code: "service_unavailable",
        origin: "service",
        title: "",
        status: 503,
        detail: "",
        context: {},
      };
      if (answer.path === "/health" || answer.path === "/capabilities.json") return;
      answer.status = 503;
      answer.headers["content-type"] = "application/problem+json";
      answer.body = Buffer.from(JSON.stringify({ ...problem, instance: "x#1" }));
    });
    const lacking = (cause: string) =>
      startTamperingProxy(service.backend.url, (answer) => {
        if (answer.path !== "/ready") return;
        answer.status = 503;
        answer.headers["x-service-problem-cause"] = cause;
      });
    const [full, crowded] = await Promise.all(["disk_full", "process_limit"].map(lacking));
    const origins = [
      { name: "open", url: open.url },
      { name: "other", url: other.url },
      { name: "unready", url: unready.url },
      { name: "full", url: full?.url ?? open.url },
      { name: "crowded", url: crowded?.url ?? open.url },
    ];
    expect(faultsOf(await examineTarget(targetOf(service.edge.url, { origins })))).toEqual([
      "origin-token at open: open",
      "origin-health at other: other-typst",
      "origin-renders at other: disagrees",
      "origin-vectors at other: otherwise",
      "origin-capabilities at other: differs",
      "origin-ready at unready: not-ready",
      "origin-token at unready: no-tokens",
      "origin-ready at full: disk-full",
      "origin-ready at crowded: process-limit",
    ]);
  });

  /** What the checks of metrics find in these. No render is made, because they need none. */
  async function examineMetrics(lines: readonly string[]): Promise<ExaminationReport> {
    const proxy = await startTamperingProxy(service.edge.url, (answer) => {
      if (answer.path === "/metrics") answer.body = Buffer.from(lines.join("\n"));
      if (answer.path === "/v1/constraints" || answer.path === "/v1/render") answer.status = 404;
    });
    return examineTarget(targetOf(proxy.url), LONG_MILLISECONDS, { metricsAgeMilliseconds: 0 });
  }

  it.each([
    ["disk-full", "a: no space left", { work_directory_free_bytes: 0 }],
    ["disk-short", "a", { work_directory_free_bytes: 2e6 }],
    ["process-limit", "a: 401 of 500", { processes: 401 }],
    [null, "2 MiB free", { work_directory_free_bytes: 3e6, temp_reserved_bytes: 1e6 }],
    [null, "the disks have no size", { work_directory_free_bytes: "+Inf" }],
  ])("are judged by what room their metrics show: %s", async (fault, seen, differing) => {
    const room = {
      work_directory_free_bytes: 4e6,
      temp_max_bytes: 4e6,
      temp_reserved_bytes: 0,
      processes: 400,
      processes_max: 500,
    };
    const lines = Object.entries({ origin_up: 1, ...room, ...differing }).map(
      ([name, value]) => `service_${name}{origin="a"} ${value}`,
    );
    expect(resultOf(await examineMetrics(lines), "room")).toMatchObject({ fault, seen });
  });

  it("that were there and are down are told from those that are absent", async () => {
    const lines = [
      'service_origin_up{origin="a"} 1',
      'service_origin_up{origin="b"} 0',
      'service_origin_absent{origin="c"} 1',
      'service_backend_info{origin="a",typst_version="0.15.1",sandbox="landlock"} 1',
    ];
    expect(resultOf(await examineMetrics(lines), "origins-up")).toMatchObject({
      fault: "down",
      seen: "b, c of 3 down",
    });
  });

  it("are judged by their metrics: versions, sandboxes and queues", async () => {
    let scrapes = 0;
    const proxy = await startTamperingProxy(service.edge.url, (answer) => {
      if (answer.path !== "/metrics") return;
      scrapes++;
      answer.body = Buffer.from(
        [
          'service_origin_up{origin="a"} 1',
          'service_origin_up{origin="b"} 1',
          'service_backend_info{origin="a",typst_version="0.15.1",sandbox="none"} 1',
          'service_backend_info{origin="b",typst_version="0.14.0",sandbox="landlock"} 1',
          'service_limits_mismatches_total{origin="a"} 3',
          'service_render_slots{origin="a"} 2',
          'service_renders_running{origin="a"} 2',
          'service_renders_waiting{origin="a"} 9',
        ].join("\n"),
      );
    });
    const report = await examineTarget(targetOf(proxy.url), LONG_MILLISECONDS, { metricsAgeMilliseconds: 0 });
    expect(faultsOf(report)).toEqual([
      "limits-agree: differed",
      "typst-versions: differ",
      "sandboxes: off",
      "slots: queue",
    ]);
    expect(resultOf(report, "typst-versions").seen).toBe("a: 0.15.1, b: 0.14.0");
    expect(scrapes).toBe(2);
  });
});

describe("the command", () => {
  it.each([
    [["doctor", "ftp://host"]],
    [["doctor", "http://a.invalid", "--url", "http://b.invalid"]],
    [["doctor", "http://user:secret@host"]],
    [["doctor", "--origin", "a=http://10.0.0.2", "--origin", "a=http://10.0.0.3"]],
    [["doctor", "--timeout", "0"]],
  ])("exits with 2 for %j", async (args) => {
    const run = await runCommand(await makeTemporaryFolder("doctor-"), args);
    expect([run.exitCode, run.stdout]).toEqual([2, ""]);
    expect(run.stderr).not.toContain("secret");
  });

  it("exits with 1 for a failure, and prints its cause and advice on a line each", async () => {
    const folder = await makeTemporaryFolder("doctor-");
    const { exitCode, stdout } = await runCommand(folder, ["doctor", UNREACHABLE_URL, "--quiet"]);
    expect(exitCode).toBe(1);
    expect(stdout.split("\n")).toEqual([
      "",
      "Reachability",
      expect.stringMatching(/^✗ the port accepts connections +127\.0\.0\.1: ECONNREFUSED$/),
      expect.stringMatching(/^ {4}likely cause: Nothing is listening/),
      expect.stringMatching(/^ {4}what to do: {3}Start it/),
      "",
    ]);
  });
});

describe("the list of checks", () => {
  it("has an id for each, depends only on earlier ones, and describes each fault in one line", () => {
    const ids = CHECK_GROUPS.flatMap(({ checks }) => checks.map(({ id }) => id));
    expect(new Set(ids).size).toBe(ids.length);
    for (const { id, needs, faults, title } of CHECK_GROUPS.flatMap(({ checks }) => checks)) {
      for (const need of needs) expect(ids.slice(0, ids.indexOf(id)), id).toContain(need);
      expect(title).toMatch(/^[^\n]{4,54}[^\n.]$/);
      for (const { cause, advice } of Object.values(faults)) {
        expect(cause).toMatch(/^[^\n]{20,120}\.$/);
        expect(advice).toMatch(/^[^\n]{20,180}\.$/);
      }
    }
  });

  it("has only faults that a test of this file finds, except those that cannot be provoked here", () => {
    const notHadHere = [
      // A network and a resolver that are broken.
      ...["dns: no-resolver", "tcp: silent", "tcp: unreachable", "tcp: some-addresses"],
      // Seconds of waiting.
      ...["latency: slow-way", "latency: slow-queue", "latency: slow-render", "origin-latency: slow"],
    ];
    const all = CHECK_GROUPS.flatMap(({ checks }) =>
      checks.flatMap(({ id, faults }) => Object.keys(faults).map((fault) => `${id}: ${fault}`)),
    );
    // Renders have their faults in common, and so have the two limits and the two versions.
    const seenAtRenders = [...seenFaults].map((seen) => seen.replace(/^render-[\w-]+:/, "render-*:"));
    const shared = ["over-declared: not-enforced", "rules-version: newer", "output-rules-version: older"];
    const unseen = all
      .filter(
        (fault) => !seenFaults.has(fault) && !seenAtRenders.includes(fault.replace(/^render-[\w-]+:/, "render-*:")),
      )
      .filter((fault) => !notHadHere.includes(fault) && !shared.includes(fault));
    expect(unseen).toEqual([]);
    const ends = new Set([...seenFaults].map((seen) => seen.replace(/^.*: /, "")));
    expect(Object.keys(ANSWER_FAULTS).filter((fault) => !ends.has(fault))).toEqual([]);
  });

  it("is documented with its options, and with an example in JSON that has the shape of a report", async () => {
    const page = await readFile(new URL("../../../docs/doctor.md", import.meta.url), "utf8");
    const { stdout } = await runCommand(await makeTemporaryFolder("doctor-"), ["doctor", "--help"]);
    const options = [...stdout.matchAll(/^ {2}(--[a-z-]+)/gm)].map(([, option = ""]) => option);
    expect(options.length).toBeGreaterThan(7);
    for (const option of options) expect(page).toMatch(new RegExp(`\`${option}[ \`]`));
    const example = JSON.parse(/```json\n(.*?)```/s.exec(page)?.[1] ?? "");
    const report = await examineTarget(targetOf(UNREACHABLE_URL));
    const real = JSON.parse(JSON.stringify(reportForPrograms("http://127.0.0.1", report)));
    expect(Object.keys(example)).toEqual(Object.keys(real));
    const [shown] = example.checks;
    expect(Object.keys(shown)).toEqual(Object.keys(real.checks[0]));
    const check = CHECK_GROUPS.flatMap(({ checks }) => checks).find(({ id }) => id === shown.id);
    expect(check?.faults[shown.fault]).toEqual({ severity: shown.status, cause: shown.cause, advice: shown.advice });
    expect(check?.title).toBe(shown.title);
  });

  it("reads Server-Timing in every valid form, and only the phases of the service", () => {
    expect(serverTiming('queue;dur=0.04, compile;desc="a";dur="12.34", db;dur=5, start, files;dur=x')).toEqual({
      queue: 0,
      compile: 12.3,
    });
    expect(serverTiming("")).toEqual({});
  });
});

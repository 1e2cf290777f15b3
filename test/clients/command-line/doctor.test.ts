/**
 * The doctor, against a real deployment with two backends and against deployments that are broken in different ways.
 * Each fault must be found by the check that is meant to find it.
 */
import { readFile } from "node:fs/promises";
import { getCACertificates, setDefaultCACertificates } from "node:tls";
import { beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { ANSWER_FAULTS, codeOf } from "../../../clients/command-line/doctor/answers.ts";
import type { ExaminationTarget } from "../../../clients/command-line/doctor/check.ts";
import { isHealthy, reportForPrograms } from "../../../clients/command-line/doctor/report.ts";
import {
  CHECK_GROUPS,
  type CheckReport,
  type ExaminationReport,
  examine,
} from "../../../clients/command-line/doctor/runner.ts";
import { Server } from "../../../clients/command-line/doctor/server.ts";
import { type LocalBackend, startBackend, takeFreePort } from "../../../scripts/start/local-service.ts";
import { makeCertificate } from "../../support/clients/certificate.ts";
import { runCommand, runInTerminal } from "../../support/clients/command-line.ts";
import { answerRaw } from "../../support/clients/hostile-answers.ts";
import {
  answer,
  type Behaviour,
  breakConnection,
  endlessAnswer,
  startScript,
} from "../../support/clients/scripted-service.ts";
import { type PassingAnswer, startTamperingProxy } from "../../support/clients/tampering-proxy.ts";
import { startEdge } from "../../support/service/local-worker.ts";
import { backendEnvironment, startTestService, type TestService } from "../../support/service/test-service.ts";
import { makeTemporaryFolder } from "../../support/temporary-folder.ts";
import { API_TOKEN, BACKEND_TOKEN, UNREACHABLE_URL } from "../../support/tokens.ts";

/** A short limit, for servers that hang on purpose. */
const SHORT_MILLISECONDS = 800;
/** A limit longer than anything takes on a busy machine. */
const LONG_MILLISECONDS = 60_000;
const ALL_CHECKS = CHECK_GROUPS.flatMap(({ checks }) => checks);

let service: TestService;
/** Its limits are not those of the edge. */
let second: LocalBackend;

beforeAll(async () => {
  second = await startBackend({ ...backendEnvironment(), SERVICE_MAX_OUTPUT_FILES: "32" }, await takeFreePort());
  service = await startTestService();
  return async () => {
    await service.stop();
    await second.stop();
  };
});

function targetOf(url: URL | string, more: Partial<ExaminationTarget> = {}): ExaminationTarget {
  const tokens = { token: API_TOKEN, backendToken: BACKEND_TOKEN, metricsToken: "" };
  return { url: new URL(url), ...tokens, origins: [], ...more };
}

/** Every fault that a test of this file has seen, as `check: fault`. */
const seenFaults = new Set<string>();

async function examineTarget(target: ExaminationTarget, requestMilliseconds = LONG_MILLISECONDS) {
  const report = await examine(target, { requestMilliseconds, signal: new AbortController().signal });
  for (const { id, fault } of report.checks) if (fault !== null) seenFaults.add(`${id}: ${fault}`);
  return report;
}

/** As `check: fault`, with the origin that was asked directly. */
function faultsOf({ checks }: ExaminationReport): string[] {
  return checks
    .filter(({ fault }) => fault !== null)
    .map(({ id, fault, origin }) => `${id}${origin === null ? "" : ` at ${origin}`}: ${fault}`);
}

function resultOf(report: ExaminationReport, id: string): CheckReport {
  const result = report.checks.find((check) => check.id === id);
  if (result === undefined) throw new Error(`no check ${id}`);
  return result;
}

/** An edge with other settings than those of the service; its renders go to `backend`. */
async function startOtherEdge(backend: URL, settings: Readonly<Record<string, string>> = {}): Promise<URL> {
  const own = { SERVICE_BACKEND_TOKEN: BACKEND_TOKEN, SERVICE_BACKEND_URLS: backend.origin, ...settings };
  const edge = await startEdge({ SERVICE_API_TOKENS: API_TOKEN, SERVICE_LOG_REQUESTS: "none", ...own });
  onTestFinished(() => edge.stop());
  return edge.url;
}

describe("a healthy deployment", () => {
  it("passes every check at the edge and at an origin, with bounded requests one at a time", async () => {
    const proxy = await startTamperingProxy(service.edge.url, () => {});
    const target = targetOf(proxy.url, { origins: [{ name: "a", url: service.backend.url }] });
    const report = await examineTarget(target);
    expect(faultsOf(report)).toEqual([]);
    expect(report.checks.filter(({ status }) => status === "skipped").map(({ id }) => id)).toEqual([]);
    expect(isHealthy(report.checks)).toBe(true);
    expect(proxy.mostAtOnce()).toBe(1);
    expect(report.requests).toBeLessThan(30);
    expect(proxy.requests.length).toBeLessThan(30);
    const measured = { milliseconds: expect.any(Number), bytes: expect.any(Number) };
    expect(resultOf(report, "render-pdf").measured).toEqual(measured);
  });

  it("is one line of JSON for programs, in a stable shape and without the token", async () => {
    const run = await runCommand(await makeTemporaryFolder("doctor-"), ["doctor", service.edge.url.href, "--json"]);
    expect([run.exitCode, run.stderr]).toEqual([0, ""]);
    const report = JSON.parse(run.stdout);
    expect(Object.keys(report)).toEqual(["outcome", "url", "healthy", "counts", "requests", "seconds", "checks"]);
    expect(report).toMatchObject({ outcome: "examined", url: service.edge.url.href, healthy: true });
    const members = ["id", "group", "title", "status", "seen", "fault", "cause", "advice", "origin", "measured"];
    for (const check of report.checks) expect(Object.keys(check)).toEqual(members);
    expect(run.stdout).not.toContain(API_TOKEN);
  });

  it("is a table for people", async () => {
    const { stdout } = await runCommand(await makeTemporaryFolder("doctor-"), ["doctor", service.edge.url.href]);
    expect(stdout).toMatch(/^http:.* one request at a time, each at most 60 s\n/);
    expect(stdout).toMatch(/\n✓ a PDF\/A-2b of two pages {2,}\d+\.\d KiB after \d+ ms\n/);
    expect(stdout).toMatch(/\n\d+ passed, \d+ warned, 0 failed, \d+ skipped; \d+ requests in \d+\.\d s\n$/);
    expect(stdout).not.toContain("\u001b");
  });
});

describe("what cannot be reached", () => {
  it.each<[fault: string, behaviour: Behaviour, milliseconds?: number]>([
    ["timed-out", () => {}, SHORT_MILLISECONDS],
    ["connection-failed", breakConnection],
    ["wrong-protocol", answerRaw("SSH-2.0-OpenSSH_10.0", "")],
    ["not-the-service", endlessAnswer(200, {})],
    [
      "timed-out",
      ({ socket }) => {
        const trickle = setInterval(() => socket?.write("x"), 20);
        socket?.once("close", () => clearInterval(trickle)).write("HTTP/1.1 200 OK\r\nX: ");
      },
      SHORT_MILLISECONDS,
    ],
  ])("is %s, by bounded reading", async (fault, behaviour, milliseconds = LONG_MILLISECONDS) => {
    const report = await examineTarget(targetOf((await startScript(behaviour)).url), milliseconds);
    expect(faultsOf(report)).toEqual([`health: ${fault}`]);
    expect(report.requests).toBe(1);
  });

  it("is a host that does not exist, or a port where nothing listens or that has no TLS", async () => {
    // A label of over 63 characters: no resolver needs to be asked.
    const unknown = await examineTarget(targetOf(`http://${"a".repeat(64)}.invalid/`));
    expect(faultsOf(unknown)).toEqual(["health: unknown-name"]);
    const refused = await examineTarget(targetOf(UNREACHABLE_URL));
    expect(faultsOf(refused)).toEqual(["health: refused"]);
    expect(resultOf(refused, "health").advice).toContain("127.0.0.1 is not reachable from outside");
    // That of another protocol, which no client asks by HTTP.
    expect(resultOf(await examineTarget(targetOf("http://127.0.0.1:1")), "health").seen).toBe("bad port");
    const plain = new URL(service.edge.url.href.replace("http:", "https:"));
    expect(faultsOf(await examineTarget(targetOf(plain)))).toEqual(["health: wrong-protocol"]);
  });

  it("gets no request once the time is used up, and none after an interruption", async () => {
    const interruption = new AbortController();
    const bounds = { requestMilliseconds: LONG_MILLISECONDS, interruption: interruption.signal, requests: 0 };
    const server = new Server(null, new URL(UNREACHABLE_URL), {}, { ...bounds, end: AbortSignal.abort() });
    expect(codeOf(await server.get("a"))).toBe("out-of-bounds");
    seenFaults.add("any: out-of-bounds");
    // While it waits for the answer to its first request.
    const { url: silent } = await startScript(() => interruption.abort());
    const { requestMilliseconds } = bounds;
    const examining = examine(targetOf(silent), { requestMilliseconds, signal: interruption.signal });
    await expect(examining).rejects.toThrow(/abort/i);
  });
});

describe("TLS", () => {
  const [VALID, NAMES] = [{ fromDays: -30, toDays: 60 }, ["localhost"]];

  /** A proxy with this certificate, trusted or not: an operator would trust it by NODE_EXTRA_CA_CERTS. */
  async function startTls(certificate: ReturnType<typeof makeCertificate>, isTrusted: boolean) {
    const own = getCACertificates("default");
    if (isTrusted) setDefaultCACertificates([...own, certificate.cert]);
    onTestFinished(() => setDefaultCACertificates(own));
    return startTamperingProxy(service.edge.url, () => {}, { certificate });
  }

  it.each([
    ["expired", { fromDays: -90, toDays: -3 }, NAMES, true],
    ["expired", { fromDays: 2, toDays: 90 }, NAMES, true],
    ["wrong-name", VALID, ["other.example"], true],
    ["unknown-issuer", VALID, NAMES, false],
    ["unknown-issuer", VALID, NAMES, false, "An authority"],
  ])("names a certificate that is %s, and sends nothing", async (fault, dates, names, isTrusted, issuer?: string) => {
    const { url, requests } = await startTls(makeCertificate(dates, names, issuer), isTrusted);
    expect(faultsOf(await examineTarget(targetOf(url)))).toEqual([`health: ${fault}`]);
    expect(requests).toEqual([]);
  });

  it("warns before a certificate expires, and goes on", async () => {
    const { url } = await startTls(makeCertificate({ fromDays: -85, toDays: 5 }, NAMES), true);
    const report = await examineTarget(targetOf(url, { token: "wrong-one" }));
    expect(faultsOf(report)).toEqual(["tls: ends-soon", "token: rejected"]);
    expect(resultOf(report, "tls").measured).toEqual({ daysLeft: 4 });
  });

  it("is expected unless the service is on this machine", async () => {
    // A name of this machine that the doctor does not recognise as such.
    const url = new URL(service.edge.url.href.replace("127.0.0.1", "0.0.0.0"));
    const report = await examineTarget(targetOf(url, { token: "wrong-one" }));
    expect(faultsOf(report)).toEqual(["tls: unencrypted", "token: rejected"]);
    expect(resultOf(report, "render-pdf")).toMatchObject({ status: "skipped", seen: "needs token" });
  });
});

describe("a proxy that serves the deployment below a path", () => {
  it.each([
    ["and says which", { "X-Forwarded-Prefix": "/print" }, true, []],
    ["and does not say which", {}, true, ["path: instance"]],
    [
      "without the files of its page",
      { "X-Forwarded-Prefix": "/print" },
      false,
      ["path: page", "header-fields: unsafe"],
    ],
  ])("%s is found to be one", async (_how, fields, isWhole, faults) => {
    const refusePage = (answer: PassingAnswer) => {
      if (isWhole || !answer.path.startsWith("/playground/")) return;
      Object.assign(answer, { status: 404, headers: { "content-type": "text/html" }, body: "<h1>nothing here</h1>" });
    };
    const { url } = await startTamperingProxy(service.edge.url, refusePage, { below: "/print", fields });
    expect(faultsOf(await examineTarget(targetOf(new URL("/print/", url))))).toEqual(faults);
  });
});

describe("something else at the URL", () => {
  it.each([
    ["wrong-path", 404, { "Content-Type": "text/plain" }, "404 page not found"],
    ["not-the-service", 200, { "Content-Type": "text/html" }, "<title>Sign in</title>"],
    ["not-the-service", 200, { "Content-Type": "application/json" }, '{"status":"UP"}'],
    ["gateway", 502, { "Content-Type": "text/html" }, "<h1>502 Bad Gateway</h1>"],
    ["rate-limited", 429, {}, ""],
    ["gateway", 530, { "Content-Type": "text/plain" }, "error code: 1033", "530 text/plain: Cloudflare's error 1033"],
    ["redirected", 301, { Location: "http://127.0.0.1:1/login" }, "", "301 to http://127.0.0.1:1/login"],
  ])("is %s for status %i", async (fault, status, headers, body, seen?: string) => {
    const { url } = await startScript(answer(status, headers, body));
    const report = await examineTarget(targetOf(url));
    expect(faultsOf(report)).toEqual([`health: ${fault}`]);
    expect(isHealthy(report.checks)).toBe(false);
    if (seen !== undefined) expect(resultOf(report, "health").seen).toBe(seen);
  });

  it("is a backend, another path, or an edge with a setting that it cannot use", async () => {
    expect(faultsOf(await examineTarget(targetOf(service.backend.url)))).toEqual(["health: backend"]);
    const elsewhere = await examineTarget(targetOf(new URL("service/", service.edge.url)));
    expect(faultsOf(elsewhere)).toEqual(["health: wrong-path"]);
    const edge = await startOtherEdge(service.backend.url, { SERVICE_MAX_OUTPUT_FILES: "many" });
    expect(faultsOf(await examineTarget(targetOf(edge)))).toEqual(["health: settings"]);
  });
});

describe("tokens", () => {
  it("that the edge lacks are reported, and so are origins that it lacks", async () => {
    const edge = await startOtherEdge(service.backend.url, { SERVICE_API_TOKENS: "", SERVICE_BACKEND_URLS: "" });
    const faults = faultsOf(await examineTarget(targetOf(edge)));
    expect(faults).toEqual(["token-refused: no-tokens", "capabilities: no-origin", "origins-up: none"]);
  });

  it.each([
    ["are missing", (token: unknown) => token === undefined],
    ["are wrong", (token: unknown) => token !== undefined && token !== API_TOKEN],
  ])("that %s but accepted are found", async (_name, isAccepted) => {
    const proxy = await startTamperingProxy(service.edge.url, (answer) => {
      if (answer.path !== "/v1/constraints" || !isAccepted(answer.requestHeaders["x-service-api-token"])) return;
      Object.assign(answer, { status: 200, headers: { ...answer.headers, "content-type": "application/json" } });
    });
    expect(faultsOf(await examineTarget(targetOf(proxy.url)))).toEqual(["token-refused: open"]);
  });

  it("that are not given are reported", async () => {
    expect(faultsOf(await examineTarget(targetOf(service.edge.url, { token: "" })))).toEqual(["token: none-known"]);
  });

  it("are never shown, even if a server sends them back", async () => {
    const proxy = await startTamperingProxy(service.edge.url, (answer) => {
      if (answer.status !== 200 || answer.path !== "/v1/constraints") return;
      Object.assign(answer, { status: 302, headers: { location: `/login?token=${API_TOKEN}` } });
    });
    const run = await runCommand(await makeTemporaryFolder("doctor-"), ["doctor", proxy.url.href]);
    expect(run.stdout).toContain("302 to /login?token=[token]");
    expect(run.stdout + run.stderr).not.toContain(API_TOKEN);
    expect(run.exitCode).toBe(1);
    const redirectMetrics = (answer: PassingAnswer) => {
      if (answer.path !== "/metrics") return;
      Object.assign(answer, { status: 302, headers: { location: "/login?token=of%2Fmetrics%3D" } });
    };
    const report = await examineBehind(redirectMetrics, { token: "", metricsToken: "of/metrics=" });
    expect(resultOf(report, "origins-up").seen).toBe("302 to /login?token=[token]");
  });
});

function changeJson(answer: PassingAnswer, change: (document: Record<string, unknown>) => object): void {
  answer.body = Buffer.from(JSON.stringify(change(JSON.parse(answer.body.toString("utf8")))));
}

function replaceByProblem(answer: PassingAnswer, code: string, status: number): void {
  const context = { timeout_secs: 30, retry_after: 1 };
  const problem = { code, origin: "service", status, title: "", detail: "", context, instance: "http://x/#id" };
  answer.headers["content-type"] = "application/problem+json";
  Object.assign(answer, { status, body: Buffer.from(JSON.stringify(problem)) });
}

/** Examines the service behind a proxy that changes its answers. */
async function examineBehind(
  tamper: (answer: PassingAnswer) => void,
  more: Partial<ExaminationTarget> = {},
): Promise<ExaminationReport> {
  return examineTarget(targetOf((await startTamperingProxy(service.edge.url, tamper)).url, more));
}

describe("answers of another version, of a failing service, or changed by a proxy", () => {
  it.each([
    ["older", { rules_version: 4 }, "typst_versions", ["0.15.0", "0.15.1"], "several-typst"],
    ["newer", { rules_version: 99 }, "typst_versions", ["0.14.0"], "other-typst"],
    ["disagree", { conformance_vectors: [{ keys: ["a.typ"], accepted: false, code: "x" }] }, "fonts", [], null],
  ])("have rules that are %s", async (fault, changed, member, value, capabilitiesFault) => {
    const report = await examineBehind((answer) => {
      if (answer.path === "/v1/constraints" && answer.status === 200) {
        changeJson(answer, (document) => ({ ...document, ...changed }));
      }
      if (answer.path === "/capabilities.json") changeJson(answer, (document) => ({ ...document, [member]: value }));
      if (answer.path === "/v1/render" && answer.status === 200) answer.status = 500;
    });
    expect(resultOf(report, "rules").fault).toBe(fault);
    expect(resultOf(report, "capabilities").fault).toBe(capabilitiesFault);
  });

  it.each([
    ["render_failed", 500, "render-failed"],
    ["render_timeout", 408, "render-timeout"],
    ["template_compile_failed", 422, "does-not-compile"],
    ["service_unavailable", 503, "no-backend"],
    ["render_queue_full", 429, "busy"],
    ["forbidden", 403, "forbidden"],
    ["invalid_request", 400, "unexpected-problem"],
  ])("to a render is %s", async (code, status, fault) => {
    const report = await examineBehind((answer) => {
      if (answer.path === "/v1/render" && answer.status === 200) replaceByProblem(answer, code, status);
    });
    expect(resultOf(report, "render-pdf").fault).toBe(fault);
    for (const id of ["render-svg", "compile-error"]) {
      expect(resultOf(report, id)).toMatchObject({ status: "skipped", seen: "needs render-pdf" });
    }
  });

  it.each<[name: string, change: (body: Buffer) => Buffer | string, seen: string]>([
    ["cut off", (body) => body.subarray(0, -20), "it is cut off"],
    ["of another type", () => "RIFF", "it begins like a file of another type"],
  ])("that are a file %s are found", async (_name, change, seen) => {
    const report = await examineBehind((answer) => {
      if (answer.path === "/v1/render" && answer.status === 200) answer.body = Buffer.from(change(answer.body));
    });
    expect(resultOf(report, "render-pdf")).toMatchObject({ fault: "wrong-bytes", seen });
  });

  it("are found by media type, size, and by what is said of a template", async () => {
    const report = await examineBehind((answer) => {
      const type = answer.headers["content-type"];
      if (type === "image/png") answer.body.writeUInt32BE(66, 16);
      if (type === "image/svg+xml") answer.headers["content-type"] = "image/webp";
      if (answer.path === "/metrics") replaceByProblem(answer, "service_unavailable", 503);
      if (answer.path !== "/v1/render") return;
      if (answer.status === 422) changeJson(answer, (problem) => ({ ...problem, detail: 'panicked with: "x"' }));
      if (answer.status === 400) answer.status = 200;
    });
    expect(faultsOf(report)).toEqual([
      "render-svg: wrong-bytes",
      "render-large: wrong-bytes",
      "invalid-request: accepted",
      "compile-error: diagnostics-leak",
      "origins-up: unavailable",
    ]);
    expect(resultOf(report, "render-large").seen).toBe("its pages are not those that were asked for");
  });

  it.each<[fault: string, change: (answer: PassingAnswer) => void]>([
    ["internal", ({ headers }) => Object.assign(headers, { "x-service-limits": "x=1" })],
    ["unsafe", ({ headers }) => Reflect.deleteProperty(headers, "x-content-type-options")],
    ["stored", ({ headers }) => Object.assign(headers, { "cache-control": "max-age=60" })],
    ["request-id", ({ headers }) => Object.assign(headers, { "x-request-id": crypto.randomUUID() })],
    ["request-id", ({ headers }) => Object.assign(headers, { "x-request-id": "proxy-1" })],
  ])("lack what the service sends: %s", async (fault, change) => {
    const report = await examineBehind(change, { token: "wrong-one" });
    expect(faultsOf(report)).toEqual(["token: rejected", `header-fields: ${fault}`]);
  });

  it("lack the policy of an SVG, or are those of a proxy that refuses bodies over 1 MiB", async () => {
    const url = await startTamperingProxy(
      service.edge.url,
      ({ headers }) => Reflect.deleteProperty(headers, "content-security-policy"),
      { maxBodyBytes: 1024 * 1024 },
    );
    const report = await examineTarget(targetOf(url.url));
    expect(faultsOf(report)).toEqual(["render-large: body-refused", "header-fields: unsafe"]);
    expect(resultOf(report, "render-large").advice).toContain("client_max_body_size");
  });

  it("come from a proxy behind the edge that refuses bodies over 1 MiB, or from limits that differ", async () => {
    const proxy = await startTamperingProxy(second.url, () => {}, { maxBodyBytes: 1024 * 1024 });
    const report = await examineTarget(targetOf(await startOtherEdge(proxy.url)));
    expect(faultsOf(report)).toEqual(["render-large: behind-limit", "origins-up: other-limits"]);
  });
});

describe("origins", () => {
  it("that reject the edge's token are distinguished from those that are down", async () => {
    const edge = await startOtherEdge(second.url, { SERVICE_BACKEND_TOKEN: "wrong-one" });
    const report = await examineTarget(targetOf(edge, { origins: [{ name: "a", url: second.url }] }));
    expect(faultsOf(report)).toEqual([
      "render-pdf: no-backend",
      "origins-up: rejects-token",
      "origin-renders at a: disagrees",
    ]);
    expect(resultOf(report, "origins-up").advice).toMatch(/wrangler.*compose.*systemd.*Kubernetes/);
  });

  it("asked directly are named with what is wrong there", async () => {
    const startOrigin = async (name: string, tamper: (answer: PassingAnswer) => void) => {
      return { name, url: (await startTamperingProxy(service.backend.url, tamper)).url };
    };
    const origins = [
      { name: "dead", url: new URL(UNREACHABLE_URL) },
      { name: "edge", url: service.edge.url },
      await startOrigin("page", (answer) =>
        Object.assign(answer, { headers: { "content-type": "text/html" }, body: "<h1>" }),
      ),
      await startOrigin("open", (answer) => answer.status === 403 && Object.assign(answer, { status: 200 })),
      await startOrigin("other", (answer) => {
        if (answer.path === "/health") changeJson(answer, (health) => ({ ...health, typst: "0.14.0" }));
        if (answer.status === 422) Object.assign(answer, { status: 200 });
      }),
      await startOrigin("unready", (answer) => {
        if (answer.path === "/ready") replaceByProblem(answer, "service_unavailable", 503);
      }),
      await startOrigin("lacking", (answer) => {
        if (answer.path === "/v1/render") replaceByProblem(answer, "service_unavailable", 503);
      }),
    ];
    const report = await examineTarget(targetOf(service.edge.url, { origins }));
    expect(faultsOf(report)).toEqual([
      "origin-health at dead: refused",
      "origin-health at edge: edge",
      "origin-health at page: not-the-service",
      "origin-token at open: open",
      "origin-health at other: other-typst",
      "origin-renders at other: disagrees",
      "origin-health at unready: not-ready",
      "origin-token at lacking: no-tokens",
    ]);
    const good = [{ name: "good", url: service.backend.url }];
    const wrong = targetOf(service.edge.url, { token: "wrong-one", origins: good, backendToken: "wrong-one" });
    expect(faultsOf(await examineTarget(wrong))).toEqual(["token: rejected", "origin-token at good: rejected"]);
  });

  const UP = ['origin_up{origin="a"} 1', 'backend_info{origin="a",typst_version="0.15.1",sandbox="landlock"} 1'];
  it.each([
    [null, "a", [...UP]],
    ["none", "no origin", ["# service_origin_up"]],
    ["down", "b", [...UP, 'origin_up{origin="b"} 0', 'origin_absent{origin="c"} 1']],
    ["absent", "c", [...UP, 'origin_absent{origin="c"} 1']],
    ["not-a-backend", "b", [...UP, 'origin_up{origin="b"} 1', 'backend_info{origin="b",exported_origin="a"} 1']],
    ["no-sandbox", "a", [UP[0] ?? "", 'backend_info{origin="a",sandbox="none"} 1']],
    ["other-limits", "a", [...UP, 'limits_mismatches_total{origin="a"} 3']],
    [
      "other-fonts",
      "a, b",
      [
        ...UP,
        ...["a", "b"].flatMap((name) => [
          `origin_up{origin="${name}"} 1`,
          `backend_info{origin="${name}",sandbox="landlock"} 1`,
          `capabilities_info{origin="${name}",digest="of-${name}"} 1`,
        ]),
      ],
    ],
    ["no-metrics", "no service_origin_up", ["<html>"]],
  ])("are judged by the edge's metrics: %s", async (fault, seen, lines) => {
    const report = await examineBehind(
      (answer) => {
        if (answer.path === "/metrics") answer.body = Buffer.from(lines.map((line) => `service_${line}`).join("\n"));
      },
      { token: "" },
    );
    expect(resultOf(report, "origins-up")).toMatchObject({ fault, seen });
  });

  it("are judged only with the token of the metrics, where these need one", async () => {
    const isRight = (answer: PassingAnswer) => answer.requestHeaders.authorization === "Bearer of-metrics";
    const resultWith = async (metricsToken: string) => {
      const report = await examineBehind(
        (answer) => answer.path === "/metrics" && !isRight(answer) && Object.assign(answer, { status: 403 }),
        { token: "", metricsToken },
      );
      return resultOf(report, "origins-up");
    };
    expect(await resultWith("of-metrics")).toMatchObject({ status: "ok", measured: { origins: 1, originsUp: 1 } });
    expect(await resultWith("wrong-one")).toMatchObject({ fault: "rejected" });
    expect(await resultWith("")).toMatchObject({ status: "skipped", seen: "/metrics is closed to this caller (403)" });
  });
});

describe("the command", () => {
  it("exits with 2 for options that cannot be used, without showing a password", async () => {
    const folder = await makeTemporaryFolder("doctor-");
    for (const args of [
      ["ftp://host"],
      ["http://a.invalid", "--url", "http://b.invalid"],
      ["http://user:secret@host"],
      ["--origin", "a=http://10.0.0.2", "--origin", "a=http://10.0.0.3"],
      ["--timeout", "0"],
    ]) {
      const run = await runCommand(folder, ["doctor", ...args]);
      expect([args, run.exitCode, run.stdout]).toEqual([args, 2, ""]);
      expect(run.stderr).not.toContain("secret");
    }
  });

  it("exits with 1 for a failure, and prints its cause and advice on a line each, coloured only on a terminal", async () => {
    const folder = await makeTemporaryFolder("doctor-");
    const { exitCode, stdout } = await runCommand(folder, ["doctor", UNREACHABLE_URL, "--quiet"]);
    expect(exitCode).toBe(1);
    expect(stdout.split("\n")).toEqual([
      "",
      "Service and token",
      expect.stringMatching(/^✗ the edge can be reached and answers \/health +ECONNREFUSED$/),
      expect.stringMatching(/^ {4}likely cause: Nothing is listening/),
      expect.stringMatching(/^ {4}what to do: {3}Start it/),
      "",
    ]);
    const { screen } = await runInTerminal(folder, ["doctor", UNREACHABLE_URL]);
    expect(screen).toContain("\u001b[31m✗");
  });
});

describe("the list of checks", () => {
  it("has only faults that a test of this file finds, except those that cannot be provoked here", () => {
    expect(new Set(ALL_CHECKS.map(({ id }) => id)).size).toBe(ALL_CHECKS.length);
    // A network or a resolver that is broken.
    const notHadHere = ["unreachable", "no-resolver"];
    // Checks of one kind have their faults in common.
    const kindOf = (text: string) => text.replace(/^(?:render-[\w-]+|[\w]+-request|compile-error):/, "*:");
    const seen = new Set([...seenFaults].map(kindOf));
    const all = ALL_CHECKS.flatMap(({ id, faults = {} }) =>
      Object.keys(faults).map((fault) => kindOf(`${id}: ${fault}`)),
    );
    expect(all.filter((fault) => !seen.has(fault) && !notHadHere.includes(fault))).toEqual([]);
    const ends = new Set([...seenFaults].map((text) => text.replace(/^.*: /, "")));
    expect(Object.keys(ANSWER_FAULTS).filter((fault) => !ends.has(fault) && !notHadHere.includes(fault))).toEqual([]);
  });

  it("is documented with an example in JSON that has the shape of a report", async () => {
    const page = await readFile(new URL("../../../docs/doctor.md", import.meta.url), "utf8");
    const example = JSON.parse(/```json\n(.*?)```/s.exec(page)?.[1] ?? "");
    const report = await examineTarget(targetOf(UNREACHABLE_URL));
    const real = JSON.parse(JSON.stringify(reportForPrograms("http://127.0.0.1", report)));
    expect(Object.keys(example)).toEqual(Object.keys(real));
    const [shown] = example.checks;
    expect(Object.keys(shown)).toEqual(Object.keys(real.checks[0]));
    const check = ALL_CHECKS.find(({ id }) => id === shown.id);
    expect({ ...ANSWER_FAULTS, ...check?.faults }).toMatchObject({
      [shown.fault]: { severity: shown.status, cause: shown.cause, advice: shown.advice },
    });
    expect(check?.title).toBe(shown.title);
  });
});

/**
 * A backend for a test: built from settings as the program builds it, listening on a free port, with a temporary work
 * directory that is removed with it.
 */
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Writable } from "node:stream";
import { afterAll, expect, inject, onTestFinished, TestRunner } from "vitest";
import { openSandbox } from "../../../backend/compiler/choose-sandbox.ts";
import { buildRenderService } from "../../../backend/http/app.ts";
import { Launcher } from "../../../backend/launcher/launcher.ts";
import { readBackendSettings } from "../../../backend/settings.ts";
import { prepareWorkDirectory } from "../../../backend/work-directory/claim.ts";
import { LogOutput } from "../../../protocol/node/log-output.ts";
import { parseMetrics, sampleValue } from "../readers/metrics-text.ts";
import { BACKEND_TOKEN } from "../tokens.ts";
import { processesOf } from "./processes.ts";
import { emptyNetworkFor } from "./test-sandbox.ts";
import { typstPath } from "./typst-path.ts";

/** The names of the render directories and outputs in a work directory. */
export async function projectsIn(workDirectory: string): Promise<string[]> {
  return (await readdir(workDirectory)).filter((name) => /^(?:render|output)-/.test(name));
}

/** What a render request is made of: an object to be sent as JSON, or the body's own text or bytes. */
export type RenderBody = object | string | Uint8Array<ArrayBuffer>;

export type TestBackend = Awaited<ReturnType<typeof startTestBackend>>;

/**
 * Starts a backend. The environment contains what differs from the defaults of the tests.
 *
 * @param launcherAnswerTimeoutMilliseconds for tests of a launcher that hangs
 */
export async function startTestBackend(
  environment: Readonly<Record<string, string>> = {},
  launcherAnswerTimeoutMilliseconds?: number,
) {
  const workDirectory = environment.SERVICE_WORK_DIRECTORY ?? (await mkdtemp(join(tmpdir(), "backend-test-")));
  const settings = readBackendSettings({
    SERVICE_PORT: "0",
    SERVICE_BACKEND_TOKENS: BACKEND_TOKEN,
    SERVICE_TYPST_BIN: typstPath(),
    SERVICE_BUBBLEWRAP_BIN: inject("bubblewrapPath"),
    SERVICE_WORK_DIRECTORY: workDirectory,
    // The attack suite runs once in each sandbox.
    SERVICE_SANDBOX: process.env.SERVICE_SANDBOX,
    SERVICE_SETPRIV_BIN: inject("setprivPath") ?? undefined,
    // A fake Typst is a shell script, and there is no shell in a sandbox.
    ...(environment.SERVICE_TYPST_BIN && { SERVICE_SANDBOX: "none" }),
    // Only processes that a test asks for; warm starts have their own tests.
    SERVICE_WARM_RENDERS: "0",
    ...environment,
  });
  const claim = await prepareWorkDirectory(settings.workDirectory);
  const launcher = new Launcher(settings, {
    answerTimeoutMilliseconds: launcherAnswerTimeoutMilliseconds,
    emptyNetwork: await emptyNetworkFor(settings),
  });
  if (settings.sandboxChoice === "auto") throw new Error("a test names its sandbox");
  const sandbox = await openSandbox(settings, settings.sandboxChoice, launcher);
  const logged: object[] = [];
  const take = (line: Buffer, _encoding: string, done: () => void) => {
    const record = JSON.parse(String(line));
    if ("reqId" in record) logged.push(record);
    done();
  };
  const logOutput = new LogOutput(new Writable({ write: take }));
  const service = buildRenderService({
    ...{ settings, sandbox, launcher, tracing: null, logOutput },
    followsCrash: claim.followsCrash,
  });
  const { app, refuseRenders } = service;
  const url = new URL(await app.listen({ host: settings.host, port: settings.port }));
  const send = (path: string, init?: RequestInit) => fetch(new URL(path, url), init);
  const render = (body: RenderBody, init?: RequestInit) => send("/v1/render", renderInit(body, init));
  const metrics = async () => parseMetrics(await (await send("/metrics")).text());
  return {
    ...service,
    url,
    workDirectory,
    server: app.server,
    /** Sends a render request as the edge does. */
    render,
    /** The file of a render request that must succeed. */
    renderFile: async (body: RenderBody) => {
      const answer = await render(body);
      const bytes = Buffer.from(await answer.bytes());
      expect(answer.status, bytes.toString("utf8")).toBe(200);
      return bytes;
    },
    fetch: send,
    /** The lines of its log about requests. */
    logged,
    metrics,
    /** The value of one sample, 0 if it does not exist yet. */
    metric: async (name: string, labels: Readonly<Record<string, string>> = {}) =>
      sampleValue(await metrics(), name, labels),
    /** The names of the render directories and outputs that exist now. */
    projects: () => projectsIn(workDirectory),
    close: async () => {
      // After a test that failed, renders may be under way. Their connections end only if the backend refuses new ones.
      refuseRenders();
      await app.close();
      await launcher.close();
      if (claim.isHeld()) await claim.release();
      await rm(workDirectory, { recursive: true, force: true });
    },
  };
}

export async function startTemporaryBackend(...options: Parameters<typeof startTestBackend>) {
  const backend = await startTestBackend(...options);
  onTestFinished(() => backend.close());
  return backend;
}

/**
 * Backends that the tests of a file share, one for each settings that they ask for, closed after the last test. For
 * tests that leave nothing behind.
 */
export function sharedBackends(
  common: Readonly<Record<string, string>>,
): (settings?: Readonly<Record<string, string>>) => Promise<TestBackend> {
  const backends = new Map<string, Promise<TestBackend>>();
  afterAll(async () => {
    for (const backend of backends.values()) await (await backend).close();
  });
  return (settings = {}) => {
    const key = JSON.stringify(settings);
    const backend = backends.get(key) ?? startTestBackend({ ...common, ...settings });
    backends.set(key, backend);
    return backend;
  };
}

/** A backend for all tests of a file or group, closed after the last. */
export async function startSharedBackend(...options: Parameters<typeof startTestBackend>) {
  // Vitest ignores `afterAll` inside a test, and the backend would stay.
  if (TestRunner.getCurrentTest() !== undefined) throw new Error("inside a test, startTemporaryBackend");
  const backend = await startTestBackend(...options);
  afterAll(() => backend.close());
  return backend;
}

export function renderInit(body: RenderBody, init: RequestInit = {}): RequestInit {
  const headers = new Headers({ "Content-Type": "application/json", "X-Service-Backend-Token": BACKEND_TOKEN });
  for (const [name, value] of new Headers(init.headers)) headers.set(name, value);
  return {
    ...init,
    method: "POST",
    headers,
    body: typeof body === "string" || body instanceof Uint8Array ? body : JSON.stringify(body),
  };
}

export async function expectNothingLeft(backend: TestBackend): Promise<void> {
  await expect.poll(() => backend.projects()).toEqual([]);
  await expect.poll(() => processesOf(backend.workDirectory)).toEqual([]);
  const gauges = ["service_renders_running", "service_renders_waiting", "service_temp_reserved_bytes"];
  await expect.poll(() => Promise.all(gauges.map((name) => backend.metric(name)))).toEqual([0, 0, 0]);
}

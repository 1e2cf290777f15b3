/**
 * Backends on Cloudflare Containers: the edge and the Durable Objects in workerd, with their real storage and real
 * backends. What the platform does, to start a program in a container and to tell of its end, is done by a program of
 * the test.
 */
import { once } from "node:events";
import { createServer } from "node:http";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { describe, expect, it, onTestFinished } from "vitest";
import { TIME_BUDGET_HEADER } from "../../../protocol/headers.ts";
import { LOOPBACK, startBackend, takeFreePort } from "../../../scripts/start/local-service.ts";
import { ENDLESS, NO_TIME_LIMIT } from "../../support/backend/bombs.ts";
import { closeServer, listenOnLoopback } from "../../support/loopback-server.ts";
import { expectProblem } from "../../support/problems.ts";
import { metricsAt, sampleValue } from "../../support/readers/metrics-text.ts";
import type { LocalWorker } from "../../support/service/local-worker.ts";
import { startWorkerFile } from "../../support/service/local-worker.ts";
import { RawConnection, renderRequest } from "../../support/service/raw-connection.ts";
import { backendEnvironment, clientOf } from "../../support/service/test-service.ts";
import { makeTemporaryFolder } from "../../support/temporary-folder.ts";
import { API_TOKEN } from "../../support/tokens.ts";

const WORKER = fileURLToPath(new URL("../../edge/container-worker.ts", import.meta.url));
const ENTRY_POINT = fileURLToPath(
  new URL("../../../edge/platform/cloudflare/worker-with-containers.ts", import.meta.url),
);

type Bindings = Parameters<typeof startWorkerFile>[1];

/** The options of `container.start()`. */
interface StartOptions {
  readonly env: Readonly<Record<string, string>>;
  readonly enableInternet: boolean;
}

async function launch(instance: string, options: StartOptions, settings: Readonly<Record<string, string>>) {
  const port = await takeFreePort();
  const { SERVICE_BACKEND_TOKENS: _, ...environment } = backendEnvironment();
  /** Rejects if the backend does not start. */
  const backend = startBackend({ ...environment, ...settings, ...options.env }, port);
  /** Resolves to the exit code. */
  const ended = backend.then(
    async ({ process }) => {
      if (process.exitCode === null && process.signalCode === null) await once(process, "exit");
      return process.exitCode ?? 1;
    },
    () => 1,
  );
  const started = { instance, options, address: `http://${LOOPBACK}:${port}`, backend, ended, isRunning: true };
  void ended.then(() => {
    started.isRunning = false;
  });
  return started;
}

/** @param settings of every backend, in addition to those of its container */
async function startContainerLauncher(settings: Readonly<Record<string, string>>) {
  /** In the order of their starts. */
  const launches: Awaited<ReturnType<typeof launch>>[] = [];
  /** What instances have set, by their names. */
  const inactivityTimeoutsMilliseconds = new Map<string, number>();
  let standIn: string | null = null;
  const newest = (instance: string) => launches.findLast((launch) => launch.instance === instance);

  /** The platform's part of each call of the container, by its name. */
  const actions: Readonly<Record<string, (instance: string, body: string) => Promise<string | null>>> = {
    running: async (instance) => (newest(instance)?.isRunning === true ? "" : null),
    start: async (instance, body) => {
      launches.push(await launch(instance, JSON.parse(body), settings));
      return "";
    },
    exit: async (instance) => {
      await expectLaunch(() => newest(instance)?.isRunning === true);
      return String(await newest(instance)?.ended);
    },
    signal: async (instance, body) => {
      (await newest(instance)?.backend)?.process.kill(Number(body));
      return "";
    },
    "inactivity-timeout": async (instance, body) => {
      inactivityTimeoutsMilliseconds.set(instance, Number(body));
      return "";
    },
    address: async (instance, body) => {
      if (body !== "8788") throw new Error(`the image does not listen on ${body}`);
      const launched = newest(instance);
      return launched === undefined ? null : (standIn ?? launched.address);
    },
  };

  const server = createServer((request, response) => {
    const [, instance = "", action = ""] = (request.url ?? "").split("/");
    void (async () => {
      const answer = await actions[action]?.(instance, await text(request));
      response.writeHead(typeof answer === "string" ? 200 : 404).end(answer);
    })();
  });
  const { origin } = await listenOnLoopback(server);
  return {
    url: origin,
    launches,
    inactivityTimeoutsMilliseconds,
    /** From now on, this answers in place of all backends. */
    setStandIn: (address: string) => {
      standIn = address;
    },
    stop: async () => {
      await Promise.allSettled(launches.map(async ({ backend }) => (await backend).stop()));
      await closeServer(server);
    },
  };
}

/** `start` and `monitor` are called one after the other, but arrive on connections of their own. */
async function expectLaunch(isLaunched: () => boolean): Promise<void> {
  for (let tries = 0; tries < 500 && !isLaunched(); tries++) await new Promise((resolve) => setTimeout(resolve, 10));
}

async function makeStage(settings: Readonly<Record<string, string>> = {}) {
  const launcher = await startContainerLauncher({ SERVICE_WARM_RENDERS: "0", ...settings });
  onTestFinished(() => launcher.stop());
  const folder = await makeTemporaryFolder("container-test-");
  let worker: LocalWorker | null = null;
  onTestFinished(async () => worker?.stop());
  const url = () => {
    if (worker === null) throw new Error("nothing is deployed");
    return worker.url;
  };
  return {
    launcher,
    /** Deploys the Worker anew: its containers and the storage of its objects stay. */
    deploy: async (bindings: Bindings = {}) => {
      await worker?.stop();
      // No SERVICE_BACKEND_TOKEN: containers need none.
      const ownBindings = { LAUNCHER_URL: launcher.url, SERVICE_API_TOKENS: `billing:${API_TOKEN}` };
      const origins = { SERVICE_BACKEND_URLS: "container:BACKENDS/1" };
      const objects = { classes: { BACKENDS: "TestContainer" }, folder };
      worker = await startWorkerFile(WORKER, { ...ownBindings, ...origins, ...bindings }, objects);
    },
    url,
    fetch: (path: string) => clientOf(url()).send(path),
    render: (source: string) => clientOf(url()).render({ source }),
    /** A metric of the newest backend, from itself: the edge keeps an answer for some seconds. */
    metric: async (name: string) => sampleValue(await metricsAt(launcher.launches.at(-1)?.address ?? ""), name),
  };
}

describe("a container", () => {
  it("is started by the first render, and not by what watches it", async () => {
    const stage = await makeStage();
    await stage.deploy();
    expect((await stage.fetch("/health")).status).toBe(200);
    expect(sampleValue(await metricsAt(stage.url()), "service_origin_up", { origin: "backend-1" })).toBe(1);
    // It needs no token, so it must cost nothing.
    await expectProblem(await stage.fetch("/capabilities.json"), "service_unavailable");
    expect(stage.launcher.launches).toEqual([]);

    const [first, second] = await Promise.all([stage.render("= Hello"), stage.render("= Again")]);
    expect([first.status, second.status]).toEqual([200, 200]);
    expect(await first.text()).toMatch(/^%PDF-/);
    expect(stage.launcher.launches.map(({ instance }) => instance)).toEqual(["1"]);
    expect(stage.launcher.inactivityTimeoutsMilliseconds.get("1")).toBe(600_000);
  });

  it("gets the edge's settings, its own and a token, and no secret, and goes on until a deployment changes them", async () => {
    const stage = await makeStage();
    const settings = {
      SERVICE_MAX_OUTPUT_FILES: "7",
      SERVICE_RENDER_TIMEOUT_SECONDS: "25",
      BACKEND_SETTINGS: { SERVICE_MAX_CONCURRENT_RENDERS: "1" },
    };
    const deployAndRender = async (bindings: Bindings) => {
      await stage.deploy(bindings);
      expect((await stage.render("= Hello")).status).toBe(200);
    };
    await deployAndRender(settings);
    const env = {
      SERVICE_MAX_OUTPUT_FILES: "7",
      SERVICE_RENDER_TIMEOUT_SECONDS: "25",
      SERVICE_MAX_CONCURRENT_RENDERS: "1",
      SERVICE_BACKEND_TOKENS: expect.stringMatching(/^[0-9a-f]{64}$/),
    };
    expect(stage.launcher.launches.map(({ options }) => options)).toEqual([{ env, enableInternet: false }]);
    expect(await stage.metric("service_render_slots")).toBe(1);
    // Its token is still known.
    await deployAndRender(settings);
    expect(stage.launcher.launches).toHaveLength(1);
    await deployAndRender({ ...settings, SERVICE_MAX_OUTPUT_FILES: "8" });
    expect(stage.launcher.launches).toHaveLength(2);
    const [first, second] = stage.launcher.launches;
    expect(await first?.ended).toBe(0);
    expect(second?.options.env.SERVICE_MAX_OUTPUT_FILES).toBe("8");
    expect(second?.options.env.SERVICE_BACKEND_TOKENS).not.toBe(first?.options.env.SERVICE_BACKEND_TOKENS);
  });

  it("is started again after it has ended by itself", async () => {
    const stage = await makeStage();
    await stage.deploy();
    expect((await stage.render("= Hello")).status).toBe(200);
    (await stage.launcher.launches[0]?.backend)?.process.kill("SIGKILL");
    await stage.launcher.launches[0]?.ended;
    // A render may find the container gone before its end is known. It is then tried at other backends; here are none.
    await expect.poll(async () => (await stage.render("= Hello")).status).toBe(200);
    expect(stage.launcher.launches).toHaveLength(2);
  });

  it("gets the request once it is ready, with the remaining time budget, and its redirects are not followed", async () => {
    const asked: string[] = [];
    const timeBudgets: number[] = [];
    const server = createServer(({ url = "", headers }, response) => {
      asked.push(url);
      if (url === "/v1/render") {
        timeBudgets.push(Number(headers[TIME_BUDGET_HEADER.toLowerCase()]));
        response.writeHead(303, { Location: "/elsewhere" }).end();
        // The first of all requests is never answered.
      } else if (asked.length > 1) response.end();
    });
    const stage = await makeStage();
    stage.launcher.setStandIn((await listenOnLoopback(server)).origin);
    onTestFinished(() => closeServer(server));
    await stage.deploy();
    await expectProblem(await stage.render("= Hello"), "service_unavailable");
    expect(asked).toEqual(["/ready", "/ready", "/v1/render", "/v1/render"]);
    // 55 seconds, of which the start has taken two.
    expect(timeBudgets[0]).toBeLessThanOrEqual(53_000);
  });

  it("ends the render of a client that has gone", async () => {
    const stage = await makeStage(NO_TIME_LIMIT);
    await stage.deploy();
    expect((await stage.render("= Hello")).status).toBe(200);
    const client = await RawConnection.open(stage.url(), renderRequest(JSON.stringify({ source: ENDLESS })));
    await expect.poll(() => stage.metric("service_renders_running")).toBe(1);
    client.reset();
    await expect.poll(() => stage.metric("service_renders_running")).toBe(0);
  });
});

it("the entry point with containers loads without them, and says what is missing", async () => {
  const folder = await makeTemporaryFolder("container-test-");
  const bindings = { SERVICE_API_TOKENS: API_TOKEN, SERVICE_BACKEND_URLS: "container:BACKENDS/1" };
  const worker = await startWorkerFile(ENTRY_POINT, bindings, { classes: { BACKENDS: "BackendContainer" }, folder });
  onTestFinished(() => worker.stop());
  expect((await fetch(new URL("/health", worker.url))).status).toBe(200);
  await expectProblem(await clientOf(worker.url).render({ source: "x" }), "service_unavailable");
});

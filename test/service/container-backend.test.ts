/**
 * Backends on Cloudflare Containers: the Durable Object in workerd, with its real storage and real backends. What the
 * platform does, to start a program in a container and to tell of its end, is done by a program of the test.
 */
import { fileURLToPath } from "node:url";
import { describe, expect, it, onTestFinished } from "vitest";
import { type LocalWorker, startWorkerFile } from "../../scripts/local-worker.ts";
import { ENDLESS, NO_TIME_LIMIT } from "../support/bombs.ts";
import { type ContainerLauncher, startContainerLauncher } from "../support/container-launcher.ts";
import { parseMetrics, sampleValue } from "../support/metrics-text.ts";
import { backendRenderHead, declared, RawConnection } from "../support/raw-connection.ts";
import { makeTemporaryFolder } from "../support/temporary-folder.ts";

const WORKER = fileURLToPath(new URL("../edge/container-worker.ts", import.meta.url));

interface Stage {
  readonly launcher: ContainerLauncher;
  /** Deploys the Worker anew: its containers and the storage of its objects stay. */
  deploy(bindings?: Parameters<typeof startWorkerFile>[1]): Promise<void>;
  url(): URL;
  fetch(path: string, init?: RequestInit, instance?: number): Promise<Response>;
  render(source: string, instance?: number): Promise<Response>;
}

async function makeStage(settings: Readonly<Record<string, string>> = {}): Promise<Stage> {
  const launcher = await startContainerLauncher({ SERVICE_WARM_RENDERS: "0", ...settings });
  onTestFinished(() => launcher.stop());
  const folder = await makeTemporaryFolder("container-test-");
  let worker: LocalWorker | null = null;
  onTestFinished(async () => worker?.stop());
  const url = () => {
    if (worker === null) throw new Error("nothing is deployed");
    return worker.url;
  };
  const send = (path: string, init: RequestInit = {}, instance = 1) => {
    const headers = new Headers(init.headers);
    headers.set("X-Instance", String(instance));
    return fetch(new URL(path, url()), { ...init, headers });
  };
  return {
    launcher,
    deploy: async (bindings = {}) => {
      await worker?.stop();
      const objects = { classes: { BACKENDS: "TestContainer" }, folder };
      worker = await startWorkerFile(WORKER, { ...bindings, LAUNCHER_URL: launcher.url }, objects);
    },
    url,
    fetch: send,
    render: (source, instance = 1) => {
      const headers = { "Content-Type": "application/json" };
      return send("/v1/render", { method: "POST", headers, body: JSON.stringify({ source }) }, instance);
    },
  };
}

async function metric({ fetch }: Stage, name: string): Promise<number> {
  return sampleValue(parseMetrics(await (await fetch("/metrics")).text()), name, {});
}

describe("a container", () => {
  it("is started by the first request to its instance, with a token made for it", async () => {
    const stage = await makeStage();
    await stage.deploy();
    expect(stage.launcher.launches).toEqual([]);
    const [first, second] = await Promise.all([stage.render("= Hello"), stage.render("= Again")]);
    expect([first.status, second.status]).toEqual([200, 200]);
    expect(
      Buffer.from(await first.arrayBuffer())
        .subarray(0, 5)
        .toString(),
    ).toBe("%PDF-");
    const [launch, ...others] = stage.launcher.launches;
    expect(others).toEqual([]);
    expect(launch?.instance).toBe("BACKENDS-1");
    expect(launch?.options).toEqual({
      env: { SERVICE_BACKEND_TOKENS: expect.stringMatching(/^[0-9a-f]{64}$/) },
      enableInternet: false,
    });
    expect(stage.launcher.inactivityTimeoutsMilliseconds.get("BACKENDS-1")).toBe(600_000);

    expect((await stage.render("= Elsewhere", 2)).status).toBe(200);
    expect(stage.launcher.launches.map(({ instance }) => instance)).toEqual(["BACKENDS-1", "BACKENDS-2"]);
    expect((await stage.render("= Here", 1)).status).toBe(200);
    expect(stage.launcher.launches).toHaveLength(2);
  });

  it("gets the limits of the edge and BACKEND_SETTINGS, and no secret", async () => {
    const stage = await makeStage();
    await stage.deploy({
      SERVICE_API_TOKENS: "billing:secret",
      SERVICE_BACKEND_TOKEN: "secret",
      SERVICE_MAX_OUTPUT_FILES: "7",
      BACKEND_SETTINGS: { SERVICE_MAX_CONCURRENT_RENDERS: "1" },
    });
    expect((await stage.render("= Hello")).status).toBe(200);
    const { SERVICE_BACKEND_TOKENS: _, ...settings } = stage.launcher.launches[0]?.options.env ?? {};
    expect(settings).toEqual({ SERVICE_MAX_OUTPUT_FILES: "7", SERVICE_MAX_CONCURRENT_RENDERS: "1" });
    expect(await metric(stage, "service_render_slots")).toBe(1);
  });

  it("is started again after it has ended by itself", async () => {
    const stage = await makeStage();
    await stage.deploy();
    expect((await stage.render("= Hello")).status).toBe(200);
    (await stage.launcher.launches[0]?.backend)?.process.kill("SIGKILL");
    await stage.launcher.launches[0]?.ended;
    // A request may find the container gone before its end is known; the edge then tries another instance.
    await expect.poll(async () => (await stage.render("= Hello")).status).toBe(200);
    expect(stage.launcher.launches).toHaveLength(2);
  });

  it("that cannot start its backend fails when that has ended, not after a timeout", async () => {
    const stage = await makeStage();
    await stage.deploy({ BACKEND_SETTINGS: { SERVICE_LOG_LEVEL: "loud" } });
    const answer = await stage.render("= Hello");
    expect([answer.status, await answer.text()]).toEqual([503, "Error: the container ended before it was ready"]);
  });

  it("ends the render of a client that has gone", async () => {
    const stage = await makeStage(NO_TIME_LIMIT);
    await stage.deploy();
    expect((await stage.render("= Hello")).status).toBe(200);
    const body = JSON.stringify({ source: ENDLESS });
    const client = await RawConnection.open(stage.url());
    await client.write(backendRenderHead(declared(body.length)) + body);
    await expect.poll(() => metric(stage, "service_renders_running")).toBe(1);
    client.reset();
    await expect.poll(() => metric(stage, "service_renders_running")).toBe(0);
  });
});

describe("at a new deployment", () => {
  it("a container with the same settings goes on, and its token is still known", async () => {
    const stage = await makeStage();
    await stage.deploy();
    expect((await stage.render("= Hello")).status).toBe(200);
    await stage.deploy();
    expect((await stage.render("= Hello")).status).toBe(200);
    expect(stage.launcher.launches).toHaveLength(1);
  });

  it("a container whose settings have changed ends in order and starts with the new ones", async () => {
    const stage = await makeStage();
    await stage.deploy();
    expect((await stage.render("= Hello")).status).toBe(200);
    await stage.deploy({ SERVICE_MAX_OUTPUT_FILES: "7" });
    expect((await stage.render("= Hello")).status).toBe(200);
    const [first, second] = stage.launcher.launches;
    expect(await first?.ended).toBe(0);
    expect(second?.options.env.SERVICE_MAX_OUTPUT_FILES).toBe("7");
    expect(second?.options.env.SERVICE_BACKEND_TOKENS).not.toBe(first?.options.env.SERVICE_BACKEND_TOKENS);
  });
});

/**
 * The backend in a container: a process namespace that ends with its process 1, and a limit on processes that a hundred
 * renders would fill if each left one. Process 1 is the init of the images, or the backend itself, which waits for no
 * process of others.
 *
 * Limits on the processes of a user do not bind the superuser, so these tests need an ordinary one.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { describe, expect, it, onTestFinished } from "vitest";
import { LOOPBACK, takeFreePort } from "../../../scripts/start/local-service.ts";
import { findOnPath } from "../../../typst/programs.mjs";
import { listPids, processStatus } from "../../support/backend/processes.ts";
import { renderInit } from "../../support/backend/test-backend.ts";
import { imageInstruction } from "../../support/deploy/dockerfile.ts";
import { expectProblem } from "../../support/problems.ts";
import { parseMetrics, sampleValue } from "../../support/readers/metrics-text.ts";
import { backendEnvironment } from "../../support/service/test-service.ts";
import { makeTemporaryFolder } from "../../support/temporary-folder.ts";

const CHECKOUT = fileURLToPath(new URL("../../..", import.meta.url));
const NAMESPACE = ["--user", "--map-current-user", "--pid", "--fork", "--kill-child", "--mount-proc", "--"];
/** Node has 11, each render and each waiting process 4. */
const MAX_PROCESSES = 96;
/** As many zombies would not fit, whatever else there is. */
const RENDERS = 120;
const INIT: readonly string[] = JSON.parse(await imageInstruction("backend", "ENTRYPOINT"));

const [initName = ""] = INIT;
/** Why these tests cannot run here; empty if they can. */
const obstacle =
  process.getuid?.() === 0 ? "for the superuser" : findOnPath(initName).length === 0 ? `without ${initName}` : "";

/** Starts the backend below these programs, the first of which is process 1. */
async function startContainer(programs: readonly string[]) {
  const port = await takeFreePort();
  const limit = ["prlimit", `--nproc=${MAX_PROCESSES}`, "--"];
  const command = [...NAMESPACE, ...limit, ...programs, process.execPath, "backend/main.ts"];
  const child = spawn("unshare", command, {
    cwd: CHECKOUT,
    env: {
      PATH: process.env.PATH,
      ...backendEnvironment(),
      SERVICE_SANDBOX: "bubblewrap",
      SERVICE_MAX_CONCURRENT_RENDERS: "2",
      SERVICE_WARM_RENDERS: "2",
      SERVICE_LOG_LEVEL: "info",
      SERVICE_WORK_DIRECTORY: await makeTemporaryFolder("process-1-"),
      SERVICE_PORT: String(port),
    },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let log = "";
  child.stdout.setEncoding("utf8").on("data", (chunk: string) => {
    log += chunk;
  });
  const ended = Promise.all([once(child, "exit"), text(child.stderr)]);
  onTestFinished(async () => {
    child.kill("SIGKILL");
    await ended;
  });
  const get = (path: string) => fetch(new URL(path, `http://${LOOPBACK}:${port}`));
  const listens = () =>
    get("/health").then(
      ({ ok }) => ok,
      () => child.exitCode !== null,
    );
  await expect.poll(listens, { timeout: 20_000 }).toBe(true);
  return {
    ended,
    process1: () => listPids().find((pid) => processStatus(pid).PPid === String(child.pid)) ?? Number.NaN,
    get,
    log: () => log,
    render: () => fetch(new URL("/v1/render", `http://${LOOPBACK}:${port}`), renderInit({ source: "= Hello" })),
    processes: async () => sampleValue(parseMetrics(await (await get("/metrics")).text()), "service_processes", {}),
  };
}

type Container = Awaited<ReturnType<typeof startContainer>>;

/**
 * Renders until this many have succeeded, or one has not. @returns how many have, and the cause of the one that has not
 */
async function renderMany({ render }: Container, renders: number) {
  for (let rendered = 0; rendered < renders; rendered++) {
    const answer = await render();
    await answer.bytes();
    if (answer.status !== 200) return { rendered, cause: answer.headers.get("X-Service-Problem-Cause") };
  }
  return { rendered: renders, cause: "" };
}

describe.skipIf(obstacle !== "")(`in a container (skipped ${obstacle})`, () => {
  it("renders as often as it likes below the init of the images, and ends with 0 on SIGTERM", async () => {
    const container = await startContainer(INIT);
    expect((await renderMany(container, 10)).rendered).toBe(10);
    const before = await container.processes();
    expect((await renderMany(container, RENDERS)).rendered).toBe(RENDERS);
    expect(Math.abs((await container.processes()) - before)).toBeLessThan(20);
    expect((await container.get("/ready")).status).toBe(200);
    expect(container.log()).not.toContain("Process 1");
    process.kill(container.process1(), "SIGTERM");
    expect(await container.ended).toMatchObject([[0, null], ""]);
  });

  it("says that process 1 does not wait for what renders leave, and is not ready before the first render fails", async () => {
    const container = await startContainer([]);
    await expect.poll(container.log, { timeout: 20_000 }).toContain("Process 1 (");
    let rendered = 0;
    for (; rendered < RENDERS && (await container.get("/ready")).status === 200; rendered++) {
      expect(await renderMany(container, 1)).toEqual({ rendered: 1, cause: "" });
    }
    expect(rendered).toBeLessThan(RENDERS);
    const { detail } = await expectProblem(await container.get("/ready"), "service_unavailable");
    expect(detail).toContain("can start no more processes");
    await expect.poll(container.log).toMatch(/not ready: \d+ of 96 processes .* \d+ of them have ended. Process 1 \(/);
    // There is still room for some. The first that fails says why.
    const further = await renderMany(container, RENDERS);
    expect(further).toEqual({ rendered: expect.any(Number), cause: "process_limit" });
    expect(further.rendered).toBeGreaterThan(0);
  });
});

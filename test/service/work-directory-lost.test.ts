/**
 * A work directory from which something is removed while the backend runs: the backend says so, answers what it still
 * can, and ends; the next one works.
 */
import { once } from "node:events";
import { readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, inject, it } from "vitest";
import type { SandboxMode } from "../../backend/sandbox/sandbox.ts";
import type { LocalBackend } from "../../scripts/start/local-service.ts";
import { makeFakeTypst, VERSION_ANSWER, waitFor } from "../support/backend/fake-typst.ts";
import { processesOf, typstProcessesOf } from "../support/backend/processes.ts";
import { renderInit } from "../support/backend/test-backend.ts";
import { eachSandbox } from "../support/backend/test-sandbox.ts";
import { expectProblem } from "../support/problems.ts";
import { startBackendAlone } from "../support/service/test-service.ts";
import { makeTemporaryFolder } from "../support/temporary-folder.ts";

const temporaryFolder = () => makeTemporaryFolder("work-directory-lost-");

const start = (workDirectory: string, settings: Readonly<Record<string, string>>) =>
  startBackendAlone({
    SERVICE_SETPRIV_BIN: inject("setprivPath") ?? "",
    SERVICE_WARM_RENDERS: "0",
    SERVICE_WORK_DIRECTORY: workDirectory,
    ...settings,
  });

const render = ({ url }: LocalBackend, source = "x") =>
  fetch(new URL("/v1/render", url), renderInit({ source }, { headers: { Connection: "close" } }));

/** Waits for the end of a backend: its exit code, and what it has said beside the warning of SERVICE_SANDBOX=none. */
async function endOf({ process, errorText }: LocalBackend): Promise<{ exitCode: number | null; errors: string[] }> {
  if (process.exitCode === null) await once(process, "close");
  const errors = errorText().split("\n");
  return {
    exitCode: process.exitCode,
    errors: errors.filter((line) => !/^$|^WARNING: SERVICE_SANDBOX=none/.test(line)),
  };
}

const lossOf = (name: string, workDirectory: string) => ({
  exitCode: 1,
  errors: [`"${name}" is missing from the work directory ${workDirectory}: the backend stops. Start it again.`],
});

const REMOVALS: [SandboxMode, string][] = [
  ["bubblewrap", "sandbox-root/project"],
  ["landlock", "seccomp.bpf"],
  ["none", "no-packages"],
];

describe("a work directory that loses something", () => {
  eachSandbox(it, REMOVALS)("ends its idle backend with one line and exit code 1 (%s, '%s')", async (mode, name) => {
    const workDirectory = await temporaryFolder();
    const backend = await start(workDirectory, { SERVICE_SANDBOX: mode });
    await rm(join(workDirectory, name), { recursive: true });
    const { exitCode, errors } = await endOf(backend);
    expect([exitCode, errors]).toEqual([
      1,
      [expect.stringMatching(/^"[^"]+" is missing from the work directory .*: /)],
    ]);
  });

  eachSandbox(it, [["bubblewrap"]])("leaves no process behind, and the next backend serves (%s)", async (mode) => {
    const workDirectory = await temporaryFolder();
    const settings = { SERVICE_SANDBOX: mode, SERVICE_WARM_RENDERS: "1" };
    const first = await start(workDirectory, settings);
    expect((await render(first)).status).toBe(200);
    await expect.poll(() => typstProcessesOf(workDirectory)).toHaveLength(1);
    // The backend may write into it meanwhile.
    await rm(workDirectory, { recursive: true, maxRetries: 10 });
    expect((await endOf(first)).exitCode).toBe(1);
    await expect.poll(() => processesOf(workDirectory)).toEqual([]);
    const next = await start(workDirectory, settings);
    expect((await render(next)).status).toBe(200);
  });

  it("lets running renders finish, and answers 503 to those that wait or come later", async () => {
    const typst = await makeFakeTypst(
      `${VERSION_ANSWER}\necho > "$here/started"; cat > /dev/null; ${waitFor("go")}; printf done`,
    );
    const workDirectory = await temporaryFolder();
    const backend = await start(workDirectory, {
      SERVICE_TYPST_BIN: typst.path,
      SERVICE_SANDBOX: "none",
      SERVICE_MAX_CONCURRENT_RENDERS: "1",
    });
    const running = render(backend);
    await expect.poll(() => typst.read("started")).not.toBeNull();
    const waiting = render(backend);
    const metrics = async () => (await fetch(new URL("/metrics", backend.url))).text();
    await expect.poll(metrics).toMatch(/^service_renders_waiting 1$/m);
    await rm(join(workDirectory, "launcher"), { recursive: true });
    await expect.poll(async () => (await fetch(new URL("/ready", backend.url))).status).toBe(503);
    await expectProblem(await render(backend), "service_unavailable");
    await typst.signal("go");
    const finished = await running;
    expect([finished.status, await finished.text()]).toEqual([200, "done"]);
    await expectProblem(await waiting, "service_unavailable");
    expect(await endOf(backend)).toEqual(lossOf("launcher", workDirectory));
    expect(await readdir(workDirectory)).toEqual([]);
  });

  it("goes on serving if only directories kept for the next renders are lost", async () => {
    const workDirectory = await temporaryFolder();
    const backend = await start(workDirectory, { SERVICE_SANDBOX: "none" });
    const kept = async () => (await readdir(workDirectory)).filter((name) => name.startsWith("kept-"));
    expect((await render(backend)).status).toBe(200);
    await expect.poll(kept).not.toEqual([]);
    for (const name of await kept()) await rm(join(workDirectory, name), { recursive: true });
    expect((await render(backend)).status).toBe(200);
  });

  it("is left to the other backend that it belongs to by then", async () => {
    const workDirectory = await temporaryFolder();
    const settings = { SERVICE_SANDBOX: "none" };
    const first = await start(workDirectory, settings);
    await rm(workDirectory, { recursive: true });
    const second = await start(workDirectory, settings);
    const { exitCode, errors } = await endOf(first);
    // It may look while the folder is being removed.
    const missing = /^"(?:claim|launcher|no-packages)" is missing from the work directory /;
    expect([exitCode, errors]).toEqual([1, [expect.stringMatching(missing)]]);
    expect(await readdir(workDirectory)).toEqual(expect.arrayContaining(["claim", "no-packages", "launcher"]));
    expect((await render(second)).status).toBe(200);
  });
});

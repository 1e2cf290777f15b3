/** `npm start`, without its set-up: the programs that it starts, what it says, and what it leaves behind. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readlinkSync } from "node:fs";
import { readdir, rm, writeFile } from "node:fs/promises";
import { type IncomingMessage, request } from "node:http";
import { createServer } from "node:net";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { execa } from "execa";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { PROVIDED } from "../../scripts/assets/static-assets.ts";
import { startBackend, takeFreePort } from "../../scripts/start/local-service.ts";
import { ENDLESS, NO_TIME_LIMIT } from "../support/backend/bombs.ts";
import { childrenOf, isRunning, listPids, readProc } from "../support/backend/processes.ts";
import { textFile } from "../support/backend/request-files.ts";
import { typstPath } from "../support/backend/typst-path.ts";
import { listenOnLoopback } from "../support/loopback-server.ts";
import { backendEnvironment, clientOf } from "../support/service/test-service.ts";
import { makeTemporaryFolder } from "../support/temporary-folder.ts";

const PROJECT = fileURLToPath(new URL("../../", import.meta.url));
const SECRET = "secret-token-5f0c2b";

type Start = Awaited<ReturnType<typeof start>>;

/** Starts the service with a home and a temporary folder of its own. Its output and errors are those so far. */
async function start(
  settings: Readonly<Record<string, string>>,
  [program = "", ...programArguments]: readonly string[] = [process.execPath, join(PROJECT, "scripts/start.ts")],
) {
  const folder = await makeTemporaryFolder("start-test-");
  const child = spawn(program, programArguments, {
    cwd: PROJECT,
    env: {
      PATH: process.env.PATH,
      NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE,
      [PROVIDED]: process.env[PROVIDED],
      HOME: folder,
      TMPDIR: folder,
      SERVICE_TYPST_BIN: typstPath(),
      SERVICE_API_TOKENS: `me:${SECRET}`,
      SERVICE_EDGE_PORT: "0",
      SERVICE_PORT: "0",
      SERVICE_SANDBOX: "none",
      SERVICE_WARM_RENDERS: "0",
      ...settings,
    },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let output = "";
  let errors = "";
  child.stdout.setEncoding("utf8").on("data", (chunk: string) => {
    output += chunk;
  });
  child.stderr.setEncoding("utf8").on("data", (chunk: string) => {
    errors += chunk;
  });
  const ended: Promise<number | null> = once(child, "close").then(([exitCode]) => exitCode);
  onTestFinished(async () => {
    child.kill("SIGTERM");
    await ended;
  });
  return {
    folder,
    output: () => output,
    errors: () => errors,
    ended,
    pid: child.pid ?? 0,
    stop: () => child.kill("SIGTERM"),
    /** As a terminal that is closed. It must lead a group of its own. */
    hangUp: () => {
      for (const stream of [child.stdout, child.stderr]) stream.destroy();
      process.kill(-(child.pid ?? 0), "SIGHUP");
    },
  };
}

async function ready(service: Start): Promise<URL> {
  await expect.poll(service.output).toContain("The service is ready");
  return new URL(/ready at (\S+)/.exec(service.output())?.[1] ?? "");
}

/** The files below a folder that hold a text. */
async function filesWith(folder: string, wanted: string): Promise<string[]> {
  const { stdout } = await execa("grep", ["-rlaF", "--", wanted, folder], { reject: false });
  return stdout.split("\n").filter((path) => path !== "");
}

function commandLines(): string {
  return listPids()
    .map((pid) => readProc(`${pid}/cmdline`))
    .join("\n");
}

/** Whether a program works on a render in a folder below this one. */
function rendersBelow(folder: string): boolean {
  return listPids().some((pid) => {
    try {
      const path = readlinkSync(`/proc/${pid}/cwd`);
      return /render-[^/]+$/.test(path) && path.startsWith(folder);
    } catch {
      // It has ended.
      return false;
    }
  });
}

function descendantsOf(pid: number): number[] {
  return childrenOf(pid).flatMap((child) => [child, ...descendantsOf(child)]);
}

const temporary = async ({ folder }: Start) => (await readdir(folder)).filter((name) => name !== ".cache");

describe("npm start", () => {
  it("serves, shows the backend's warnings, keeps tokens off disk and command lines, and leaves nothing", async () => {
    const before = await readdir(PROJECT);
    const service = await start({ NODE_COMPILE_CACHE: "" });
    const url = await ready(service);
    expect(service.output()).toContain(`-H 'X-Service-Api-Token: ${SECRET}'`);
    const page = /^(http\S+)#token=(\S+)$/m.exec(service.output()) ?? [];
    expect([page[1], page[2]]).toEqual([url.toString(), SECRET]);
    expect((await fetch(page[1] ?? "")).headers.get("Content-Type")).toBe("text/html; charset=utf-8");
    expect(service.errors()).toMatch(/^WARNING: SERVICE_SANDBOX=none: /m);
    // As many files as the images take, of which one is as large.
    const small = Array.from({ length: 255 }, (_, index) => [`package/${index}.typ`, textFile("")]);
    const files = Object.fromEntries([...small, ["package/large.typ", textFile("x".repeat(2 * 1024 ** 2))]]);
    const answer = await clientOf(url).render({ source: "x", files }, { headers: { "X-Service-Api-Token": SECRET } });
    expect([answer.status, await answer.text()]).toEqual([200, expect.stringMatching(/^%PDF-/)]);

    for (const [host, status] of [
      ["localhost", 200],
      ["page.example", 403],
    ] as const) {
      const [rebound]: IncomingMessage[] = await once(request(url, { headers: { Host: host } }).end(), "response");
      expect(rebound?.resume().statusCode, host).toBe(status);
    }

    expect(commandLines()).toContain("start.mjs");
    expect(commandLines()).not.toContain(SECRET);
    expect((await temporary(service)).length).toBeGreaterThan(0);
    expect(await filesWith(service.folder, SECRET)).toEqual([]);
    expect(await readdir(PROJECT)).toEqual(before);

    service.stop();
    expect(await service.ended).toBe(0);
    expect(await temporary(service)).toEqual([]);
    expect(await readdir(join(service.folder, ".cache"), { recursive: true })).not.toContainEqual(
      expect.stringContaining("work-"),
    );
    expect(service.output().match(/^.+$/gm)).toHaveLength(4);
  });

  it("ends all of its programs when it is killed itself", async () => {
    const service = await start({});
    await ready(service);
    const programs = descendantsOf(service.pid);
    // The backend with a shell, and the edge.
    expect(programs.length).toBeGreaterThanOrEqual(3);
    process.kill(service.pid, "SIGKILL");
    await expect.poll(() => programs.filter(isRunning)).toEqual([]);
  });

  it.each([
    ["Ctrl-C interrupts each of its programs", ({ pid }: Start) => process.kill(-pid, "SIGINT")],
    ["its terminal is closed", ({ hangUp }: Start) => hangUp()],
  ])("finishes the renders under way when %s", async (_what, stop) => {
    const service = await start({}, ["setsid", process.execPath, join(PROJECT, "scripts/start.ts")]);
    const url = await ready(service);
    // A second or more, so that it says what it waits for.
    const source = "#for n in range(4000000) { }";
    const answer = clientOf(url).render({ source }, { headers: { "X-Service-Api-Token": SECRET } });
    await expect.poll(() => rendersBelow(service.folder)).toBe(true);
    stop(service);
    expect((await answer).status).toBe(200);
    expect(await service.ended).toBe(0);
    expect(await temporary(service)).toEqual([]);
  });

  it("says what it waits for after a Ctrl-C, and ends all of its programs at the next one", async () => {
    const program = ["setsid", process.execPath, join(PROJECT, "scripts/start.ts")];
    const service = await start({ ...NO_TIME_LIMIT, SERVICE_GRACE_SECONDS: "300" }, program);
    const url = await ready(service);
    const request = { source: ENDLESS, files: { "own.txt": textFile("of the request") } };
    const answer = clientOf(url).render(request, { headers: { "X-Service-Api-Token": SECRET } });
    const outcome = answer.then(({ status }) => status).catch(() => "lost");
    await expect.poll(() => rendersBelow(service.folder)).toBe(true);
    const programs = descendantsOf(service.pid);
    process.kill(-service.pid, "SIGINT");
    const notice = "Waiting up to 300 s for the renders under way. Ctrl-C again ends them at once.\n";
    await expect.poll(service.errors).toContain(notice);
    process.kill(-service.pid, "SIGINT");
    expect(await service.ended).toBe(0);
    expect(await outcome).not.toBe(200);
    await expect.poll(() => programs.filter(isRunning)).toEqual([]);
    expect(await temporary(service)).toEqual([]);
    expect(await filesWith(service.folder, "of the request")).toEqual([]);
  });

  it("names callers and reveals no token: not in the most detailed log, nor in metrics, problems or headers; it ends when only npm gets SIGTERM", async () => {
    const scrapeToken = `${SECRET}-of-prometheus`;
    const settings = {
      SERVICE_API_TOKENS: `shop:${SECRET}`,
      SERVICE_METRICS_ACCESS: "token",
      SERVICE_METRICS_TOKENS: scrapeToken,
      SERVICE_CORS_ORIGINS: "*",
      SERVICE_LOG_LEVEL: "trace",
    };
    const service = await start(settings, ["npm", "start", "--ignore-scripts"]);
    const url = await ready(service);
    const welcome = service.output();
    let answers = "";
    const send = async (path: string, init: RequestInit) => {
      const answer = await fetch(new URL(path, url), init);
      const text = await answer.text();
      answers += [...answer.headers, text].join("\n");
      return { status: answer.status, text };
    };
    const render = (token: string, body: string, path = "/v1/render") =>
      send(path, {
        method: "POST",
        headers: { "X-Service-Api-Token": token, "Content-Type": "application/json", Origin: "https://app.example" },
        body,
      });
    const scrape = (token: string) => send("/metrics", { headers: { Authorization: `Bearer ${token}` } });
    const statuses = [
      await render(SECRET, '{"source":"x"}'),
      await render(SECRET, '{"source":"x"}', `/v1/render?token=${SECRET}`),
      await render(SECRET, '{"source":"#nothing"}'),
      await render(SECRET, "{"),
      await render(`${SECRET}x`, '{"source":"x"}'),
      await render(`shop:${SECRET}`, '{"source":"x"}'),
      await render(SECRET, "", "/nowhere"),
      await render(SECRET, "", "/v1/constraints"),
      await scrape(SECRET),
    ].map(({ status }) => status);
    expect(statuses).toEqual([200, 200, 422, 400, 403, 403, 404, 405, 403]);
    const { status, text } = await scrape(scrapeToken);
    expect([status, text]).toEqual([
      200,
      expect.stringMatching(/^service_caller_requests_total\{origin="backend-1",caller="shop",outcome="ok"\} 2$/m),
    ]);
    expect(answers).not.toContain(SECRET);
    service.stop();
    expect(await service.ended).toBe(0);
    await expect(fetch(url)).rejects.toThrow();
    const log = service.output().slice(welcome.length);
    expect(log).toContain('"caller":"shop"');
    expect(log + service.errors()).not.toContain(SECRET);
    // Where the operator is told the token, and nowhere else.
    expect(welcome.split(SECRET)).toHaveLength(3);
  });

  it.each(["SERVICE_EDGE_PORT", "SERVICE_PORT"])("names %s if that port is in use", async (setting) => {
    const server = createServer();
    const { port } = await listenOnLoopback(server);
    onTestFinished(() => void server.close());
    const service = await start({ [setting]: port });
    expect(await service.ended).toBe(1);
    expect(service.errors()).toMatch(
      new RegExp(`^Port ${port} of 127\\.0\\.0\\.1 is in use\\..* ${setting}[^\\n]*\\n$`),
    );
  });

  it.each([
    ["SERVICE_EDGE_PORT", "http"],
    ["SERVICE_API_TOKENS", `a/b:${SECRET}`],
  ])("rejects a wrong %s before anything else, and quotes no token", async (setting, value) => {
    const service = await start({ [setting]: value, SERVICE_TYPST_BIN: "/nonexistent/typst" });
    expect(await service.ended).toBe(1);
    expect(service.errors()).toMatch(new RegExp(`^${setting} must [^\\n]*\\n$`));
    expect(service.errors()).not.toContain(SECRET);
    expect(service.output()).toBe("");
  });

  it("keeps its work directory in the user's cache, and ends with both reasons when that is removed", async () => {
    const service = await start({});
    await ready(service);
    const cache = join(service.folder, ".cache", "document-rendering-service");
    const [name = "", ...others] = (await readdir(cache)).filter((entry) => entry.startsWith("work-"));
    expect([name, others]).toEqual([expect.stringMatching(/^work-\d+$/), []]);
    const workDirectory = join(cache, name);
    await rm(workDirectory, { recursive: true });
    expect(await service.ended).toBe(1);
    const lines = service.errors().split("\n");
    // The backend may look while the folder is being removed, and then misses another file first.
    const lost = new RegExp(
      `^"[^"]+" is missing from the work directory ${workDirectory}: the backend stops\\. Start it again\\.$`,
    );
    expect(lines.filter((line) => !/^$|^WARNING: /.test(line))).toEqual([
      expect.stringMatching(lost),
      "The backend has exited (exit code 1).",
    ]);
    expect(await temporary(service)).toEqual([]);
  });

  it("names the step of a backend that stands still", async () => {
    const folder = await makeTemporaryFolder("start-test-");
    const typst = join(folder, "typst");
    await writeFile(typst, `#!/bin/sh\n: > "${folder}/asked"\nkill -STOP $PPID; sleep 1\n`, { mode: 0o755 });
    const environment = { ...backendEnvironment(), SERVICE_TYPST_BIN: typst, SERVICE_SANDBOX: "none" };
    const started = startBackend(environment, await takeFreePort());
    started.catch(() => {});
    await expect.poll(() => readdir(folder)).toContain("asked");
    // From now on two minutes pass each time that somebody looks at the clock.
    let now = performance.now();
    const clock = vi.spyOn(performance, "now").mockImplementation(() => (now += 121_000));
    onTestFinished(() => clock.mockRestore());
    await expect(started).rejects.toThrow(
      /^The backend did not start: no progress for 120 s while asking Typst for its version\.$/,
    );
  });
});

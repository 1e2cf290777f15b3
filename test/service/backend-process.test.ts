/** The backend as a program: what keeps it from starting, how it stops, and what it says meanwhile. */
import { fork, spawn } from "node:child_process";
import { once } from "node:events";
import { readFile, rm, symlink, writeFile } from "node:fs/promises";
import { connect, createServer } from "node:net";
import { dirname, join } from "node:path";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { describe, expect, it, onTestFinished } from "vitest";
import { LOOPBACK, takeFreePort } from "../../scripts/start/local-service.ts";
import { ENDLESS, NO_TIME_LIMIT } from "../support/backend/bombs.ts";
import { makeFakeTypst, VERSION_ANSWER, waitFor, writtenPids } from "../support/backend/fake-typst.ts";
import { processesOf, typstProcessesOf } from "../support/backend/processes.ts";
import { projectsIn, renderInit } from "../support/backend/test-backend.ts";
import { listenOnLoopback } from "../support/loopback-server.ts";
import { backendRenderHead, declared, RawConnection, sendWithoutReading } from "../support/service/raw-connection.ts";
import { backendEnvironment } from "../support/service/test-service.ts";
import { makeTemporaryFolder } from "../support/temporary-folder.ts";
import { BACKEND_TOKEN } from "../support/tokens.ts";

const PROGRAM = fileURLToPath(new URL("../../backend/main.ts", import.meta.url));

type Environment = Readonly<Record<string, string>>;

/** Starts the program, and waits for nothing. It is killed when the test has finished, if it is still there. */
async function spawnBackend(environment: Environment = {}) {
  const port = await takeFreePort();
  const workDirectory = environment.SERVICE_WORK_DIRECTORY ?? (await makeTemporaryFolder("backend-process-test-"));
  const child = spawn(process.execPath, [PROGRAM], {
    env: { ...backendEnvironment(), SERVICE_PORT: String(port), SERVICE_WORK_DIRECTORY: workDirectory, ...environment },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const ended = Promise.all([text(child.stdout), text(child.stderr), once(child, "exit")]).then(([output, errors]) => ({
    exitCode: child.exitCode,
    output,
    errors,
  }));
  onTestFinished(async () => {
    child.kill("SIGKILL");
    await ended;
  });
  return { child, url: new URL(`http://${LOOPBACK}:${port}`), workDirectory, ended };
}

type BackendProcess = Awaited<ReturnType<typeof spawnBackend>>;

/** Settings of a backend that starts this Typst for each render, as a process of this machine. */
const startingAnew = (typstPath: string): Environment => ({
  SERVICE_TYPST_BIN: typstPath,
  SERVICE_SANDBOX: "none",
  SERVICE_WARM_RENDERS: "0",
});

async function spawnReadyBackend(environment: Environment = {}): Promise<BackendProcess> {
  const backend = await spawnBackend(environment);
  const isReady = () =>
    fetch(new URL("/ready", backend.url)).then(
      ({ ok }) => ok,
      () => false,
    );
  await expect.poll(isReady).toBe(true);
  return backend;
}

const render = ({ url }: BackendProcess, headers: Readonly<Record<string, string>> = {}) =>
  fetch(new URL("/v1/render", url), renderInit({ source: "x" }, { headers }));

/** Renders on a connection that this side never closes; the answer's body. */
async function renderOnKeptConnection({ url }: BackendProcess): Promise<string> {
  const body = '{"source":"x"}';
  const connection = await RawConnection.open(url, backendRenderHead(declared(body.length)) + body);
  return (await connection.answer())?.body ?? "";
}

const projects = ({ workDirectory }: BackendProcess) => projectsIn(workDirectory);

/** Expects an end with exit code 1 and one line of errors that says this. */
async function expectRefusedStart(environment: Environment, message: RegExp): Promise<void> {
  const { ended } = await spawnBackend(environment);
  const { exitCode, output, errors } = await ended;
  expect(errors).toMatch(message);
  expect(errors).toMatch(/^[^\n]+\n$/);
  expect(exitCode).toBe(1);
  expect(output).toBe("");
}

describe("the backend does not start", () => {
  it.each([
    ["SERVICE_TYPST_BIN", "/nonexistent/typst", /Typst 0\.15\.1 .*SERVICE_TYPST_BIN/],
    ["SERVICE_WORK_DIRECTORY", "/dev/null/work", /\/dev\/null/],
  ])("with a setting that cannot be used: %s of %s", async (name, value, message) => {
    await expectRefusedStart({ [name]: value }, message);
  });

  it("with another Typst", async () => {
    const typst = await makeFakeTypst('echo "typst 0.14.2 (abcdef)"');
    await expectRefusedStart({ SERVICE_TYPST_BIN: typst.path }, /Typst 0\.15\.1 .*0\.14\.2/);
  });

  it("on a port in use", async () => {
    const server = createServer();
    const { port } = await listenOnLoopback(server);
    onTestFinished(() => void server.close());
    await expectRefusedStart({ SERVICE_PORT: port }, new RegExp(`port.*${port}.*SERVICE_PORT`));
  });

  it("in the work directory of a running one, which is not disturbed by the attempt", async () => {
    const typst = await makeFakeTypst(
      `${VERSION_ANSWER}\necho > "$here/started"; ${waitFor("go")}; cat > /dev/null; cat :data.json`,
    );
    const first = await spawnReadyBackend(startingAnew(typst.path));
    const answer = render(first);
    answer.catch(() => {});
    await expect.poll(() => typst.read("started")).not.toBeNull();
    const same = { SERVICE_PORT: first.url.port, SERVICE_WORK_DIRECTORY: first.workDirectory };
    await expectRefusedStart({ ...same, ...startingAnew(typst.path) }, /Another backend works in/);
    expect(await projects(first)).toHaveLength(1);
    await typst.signal("go");
    expect((await answer).status).toBe(200);
    expect((await render(first)).status).toBe(200);
  });

  it("in the work directory that another one has claimed at the same moment", async () => {
    const unshare = await makeFakeTypst(`echo > "$here/started"; ${waitFor("go")}; exit 1`);
    await symlink(unshare.path, join(dirname(unshare.path), "unshare"));
    const { child, ended, workDirectory } = await spawnBackend({
      SERVICE_SANDBOX: "bubblewrap",
      PATH: `${dirname(unshare.path)}:${process.env.PATH}`,
    });
    await expect.poll(() => unshare.read("started")).not.toBeNull();
    // The other one has found the directory free as well, and empties it.
    await rm(join(workDirectory, "claim"));
    const other = createServer().listen(join(workDirectory, "claim"));
    onTestFinished(() => void other.close());
    await unshare.signal("go");
    await expect.poll(() => child.exitCode).toBe(1);
    expect((await ended).errors).toContain("Another backend works in");
  });
});

it("the log has the start, the drain and the stop of the backend, with reasons and the renders that are left", async () => {
  const backend = await spawnReadyBackend({
    SERVICE_LOG_LEVEL: "info",
    SERVICE_SANDBOX: "none",
    SERVICE_DRAIN_DELAY_SECONDS: "1",
  });
  backend.child.kill("SIGTERM");
  const { exitCode, output, errors } = await backend.ended;
  expect([exitCode, errors]).toEqual([0, ""]);
  const lines = output.trim().split("\n");
  const records = lines.map((line) => JSON.parse(line)).filter(({ msg }) => /^(?:backend|WARNING)/.test(msg));
  expect(records).toMatchObject([
    { level: 40, msg: expect.stringContaining("SERVICE_SANDBOX=none") },
    { level: 30, msg: "backend serves", sandbox: "none" },
    { msg: "backend drains: /ready says 503", drainDelaySeconds: 1, renders: 0 },
    { msg: "backend stops", reason: "SIGTERM", renders: 0 },
    { msg: "backend has stopped", reason: "SIGTERM", lostRenders: 0, exitCode: 0 },
  ]);
});

it("the backend reports to the watchdog of systemd as long as its event loop turns", async () => {
  const folder = await makeTemporaryFolder("watchdog-test-");
  const reports = join(folder, "reports");
  await writeFile(join(folder, "systemd-notify"), `#!/bin/sh\necho "$* $NOTIFY_SOCKET" >> ${reports}\n`, {
    mode: 0o755,
  });
  const countReports = async () => (await readFile(reports, "utf8").catch(() => "")).split("\n").length - 1;
  const PATH = `${folder}:${process.env.PATH}`;
  const backend = await spawnReadyBackend({ PATH, NOTIFY_SOCKET: "/run/notify", WATCHDOG_USEC: "300000" });
  await expect.poll(countReports).toBeGreaterThan(2);
  expect((await readFile(reports, "utf8")).split("\n")[0]).toBe("WATCHDOG=1 /run/notify");
  backend.child.kill("SIGTERM");
  expect((await backend.ended).exitCode).toBe(0);
});

describe("the backend stops", () => {
  it("at SIGHUP with a code by which systemd starts it again, and leaves no project in its work directory", async () => {
    const backend = await spawnReadyBackend();
    expect((await render(backend)).status).toBe(200);
    backend.child.kill("SIGHUP");
    expect(await backend.ended).toEqual({ exitCode: 129, output: "", errors: "" });
    expect(await projects(backend)).toEqual([]);
  });

  it("at SIGTERM after its drain delay, in which it renders, and at SIGINT without it", async () => {
    const backend = await spawnReadyBackend({ SERVICE_DRAIN_DELAY_SECONDS: "300" });
    backend.child.kill("SIGTERM");
    await expect.poll(async () => (await fetch(new URL("/ready", backend.url))).status).toBe(503);
    expect((await render(backend)).status).toBe(200);
    const interrupted = performance.now();
    backend.child.kill("SIGINT");
    expect(await backend.ended).toEqual({ exitCode: 0, output: "", errors: "" });
    expect(performance.now() - interrupted).toBeLessThan(200_000);
  });

  it("at SIGINT while it starts", async () => {
    const typst = await makeFakeTypst(`echo $$ > "$here/pid"\n${waitFor("go")}`);
    const backend = await spawnBackend({ SERVICE_TYPST_BIN: typst.path });
    await writtenPids(typst, "pid");
    backend.child.kill("SIGINT");
    await once(backend.child, "exit");
    await typst.signal("go");
    expect(await backend.ended).toEqual({ exitCode: 0, output: "", errors: "" });
  });

  it("without a word when the program that started it has ended before its first step", async () => {
    const folder = await makeTemporaryFolder("backend-process-test-");
    const env = { ...backendEnvironment(), SERVICE_WORK_DIRECTORY: folder };
    const child = fork(PROGRAM, { env, silent: true });
    child.disconnect();
    const [[exitCode], errors] = await Promise.all([once(child, "exit"), child.stderr?.toArray()]);
    expect([exitCode, errors]).toEqual([0, []]);
  });

  it("at the end of its grace, with what still runs and what waits", async () => {
    const backend = await spawnReadyBackend({
      SERVICE_SANDBOX: "bubblewrap",
      SERVICE_WARM_RENDERS: "1",
      SERVICE_GRACE_SECONDS: "1",
      ...NO_TIME_LIMIT,
    });
    expect((await render(backend)).status).toBe(200);
    await expect.poll(() => typstProcessesOf(backend.workDirectory)).toHaveLength(1);
    // Of another kind than the process that waits, which therefore stays.
    const answer = fetch(
      new URL("/v1/render", backend.url),
      renderInit({ source: ENDLESS, output: { format: "svg" } }),
    );
    const outcome = answer.then(({ status }) => status).catch(() => "lost");
    await expect.poll(() => typstProcessesOf(backend.workDirectory)).toHaveLength(2);
    backend.child.kill("SIGTERM");
    expect((await backend.ended).exitCode).toBe(1);
    expect(["lost", 503]).toContain(await outcome);
    await expect.poll(() => processesOf(backend.workDirectory)).toEqual([]);
    expect(await projects(backend)).toEqual([]);
  });

  describe("while it renders", () => {
    /** More than the kernel keeps of a connection that nobody reads. */
    const DELIVERED_BYTES = 24 * 1024 ** 2;

    /** A backend with an output on its way to a client that reads nothing yet. */
    async function deliveringBackend(settings: Readonly<Record<string, string>> = {}) {
      const typst = await makeFakeTypst(`${VERSION_ANSWER}\ncat > /dev/null; head -c ${DELIVERED_BYTES} /dev/zero`);
      const backend = await spawnReadyBackend({ ...startingAnew(typst.path), ...settings });
      const reader = sendWithoutReading(backend.url, { source: "x" });
      await expect.poll(async () => /^service_deliveries_underway 1$/m.test(await metricsOf(backend))).toBe(true);
      return { backend, reader };
    }

    it("only when an output that is being delivered is with its client", async () => {
      const { backend, reader } = await deliveringBackend();
      backend.child.kill("SIGTERM");
      await expect.poll(async () => (await fetch(new URL("/ready", backend.url))).status).toBe(503);
      expect((await reader.readBody()).length).toBe(DELIVERED_BYTES);
      expect((await backend.ended).exitCode).toBe(0);
    });

    it("without a line in the log for a client that leaves in the middle of its output", async () => {
      const { backend, reader } = await deliveringBackend({ SERVICE_LOG_LEVEL: "error" });
      reader.socket.destroy();
      await expect.poll(async () => /^service_deliveries_underway 0$/m.test(await metricsOf(backend))).toBe(true);
      backend.child.kill("SIGTERM");
      expect(await backend.ended).toMatchObject({ exitCode: 0, output: "" });
    });

    it("without waiting for a connection that has sent half a request", async () => {
      const backend = await spawnReadyBackend();
      const socket = connect(Number(backend.url.port), backend.url.hostname);
      onTestFinished(() => void socket.destroy());
      socket.on("error", () => {});
      socket.write("POST /v1/render HTTP/1.1\r\nHost: x\r\n");
      await once(socket, "connect");
      const stopped = performance.now();
      backend.child.kill("SIGTERM");
      expect((await backend.ended).exitCode).toBe(0);
      // Far below the grace time of 55 s.
      expect(performance.now() - stopped).toBeLessThan(30_000);
    });

    it("when the running render and those that wait are answered, though clients keep their connections", async () => {
      const typst = await makeFakeTypst(`${VERSION_ANSWER}\ncat > /dev/null; ${waitFor("go")}; printf done`);
      const backend = await spawnReadyBackend({
        ...startingAnew(typst.path),
        SERVICE_MAX_CONCURRENT_RENDERS: "1",
        SERVICE_QUEUE_DEADLINE_SECONDS: "300",
        ...NO_TIME_LIMIT,
      });
      const answers = Promise.all([1, 2].map(() => renderOnKeptConnection(backend)));
      // What awaits them gets the rejection; until then it must not count as unhandled.
      answers.catch(() => {});
      await expect.poll(async () => /^service_renders_waiting 1$/m.test(await metricsOf(backend))).toBe(true);
      backend.child.kill("SIGTERM");
      await expect.poll(async () => (await fetch(new URL("/ready", backend.url))).status).toBe(503);
      await typst.signal("go");
      expect(await answers).toEqual(["done", "done"]);
      // It would be 1 where only the end of the grace had closed them.
      expect((await backend.ended).exitCode).toBe(0);
      expect(await projects(backend)).toEqual([]);
    });
  });
});

/** The metrics by a separate connection, so that a kept one does not count as open for the backend. */
const metricsOf = async ({ url }: BackendProcess) =>
  (await fetch(new URL("/metrics", url), { headers: { Connection: "close" } })).text();

describe("the backend's log", () => {
  it("holds nothing of sources, data, files, diagnostics or tokens, however much it says", async () => {
    const secret = "SECRET-2f7c";
    const backend = await spawnReadyBackend({ SERVICE_LOG_LEVEL: "trace", ...NO_TIME_LIMIT });
    const send = (body: object | string, headers: Record<string, string> = {}) =>
      fetch(new URL("/v1/render", backend.url), renderInit(body, { headers }));
    const files = { [`${secret}.txt`]: { encoding: "text", content: secret } };
    const statuses = [
      await send({ source: `/* ${secret} */ x`, data: { [secret]: secret }, files, output: { filename: secret } }),
      await send({ source: `#panic("${secret}")` }),
      await send({ source: `#import "@preview/${secret.toLowerCase()}:1.0.0"` }),
      await send(`{"${secret}":`),
      await send({ source: "x", [secret]: secret }),
      await send({ source: "x" }, { "X-Service-Backend-Token": secret }),
      await send({ source: "x" }, { "X-Service-Limits": secret }),
    ].map(({ status }) => status);
    expect(statuses).toEqual([200, 422, 422, 400, 400, 403, 200]);
    backend.child.kill("SIGTERM");
    const { output, errors, exitCode } = await backend.ended;
    expect(exitCode).toBe(0);
    const lines = output.trim().split("\n");
    expect(lines.filter((line) => JSON.parse(line).msg === "render")).toHaveLength(statuses.length);
    for (const word of [secret, secret.toLowerCase(), BACKEND_TOKEN, "panicked", backend.workDirectory]) {
      expect(output + errors).not.toContain(word);
    }
  });
});

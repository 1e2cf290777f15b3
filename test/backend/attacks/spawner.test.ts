/**
 * The spawner: the process that starts all others. What it hands over, what it says of an end, and what becomes of
 * renders when it dies.
 */
import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readlinkSync } from "node:fs";
import { mkdtemp, rm, unlink, writeFile } from "node:fs/promises";
import { connect, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { setTimeout as delay, setImmediate as nextTurn } from "node:timers/promises";
import { describe, expect, it, onTestFinished } from "vitest";
import type { ExtraDescriptor, SpawnCommand } from "../../../backend/spawner/messages.ts";
import { type SpawnedProgram, Spawner } from "../../../backend/spawner/spawner.ts";
import { renderArguments } from "../../../backend/typst/command-line.ts";
import { RenderDirectory } from "../../../backend/work-directory/render-directory.ts";
import { expectProblem } from "../support/problems.ts";
import { isRunning } from "../support/running-process.ts";
import { startTestBackend, type TestBackend } from "../support/test-backend.ts";
import { ENDLESS, NO_TIME_LIMIT } from "./bombs.ts";
import { expectNothingLeft, processesOf, readProc, typstProcessesOf } from "./leftovers.ts";
import { openOwnSandbox, PDF, SANDBOXES } from "./own-sandbox.ts";

async function openSpawner(answerTimeoutMilliseconds?: number): Promise<{ spawner: Spawner; folder: string }> {
  const folder = await mkdtemp(join(tmpdir(), "spawner-test-"));
  const spawner = await Spawner.open(folder, answerTimeoutMilliseconds);
  onTestFinished(async () => {
    await spawner.close();
    await rm(folder, { recursive: true, force: true });
  });
  return { spawner, folder };
}

function shell(script: string, more: Partial<SpawnCommand> = {}): SpawnCommand {
  return {
    file: "/bin/sh",
    arguments: ["-c", script],
    environment: {},
    // No folder of everybody's: processes that name it are taken for those that run there.
    workingDirectory: import.meta.dirname,
    extraDescriptors: [],
    ...more,
  };
}

/** All that a program writes, once it is given all that it reads. */
async function exchange(spawned: SpawnedProgram, input = ""): Promise<string | null> {
  const stream = await spawned.stream;
  // Even nothing would be written, and a program that has ended takes nothing.
  if (input === "") stream?.end();
  else stream?.end(input);
  return stream && text(stream);
}

const EXITED = { kind: "exited", exitCode: 0, diagnostics: "", status: "" };
const KILLED = { kind: "signalled", signal: "SIGKILL", diagnostics: "", status: "" };

describe("a program that is started", () => {
  it("reads its input to the end, and its output and its end come back", async () => {
    const { spawner } = await openSpawner();
    const spawned = spawner.start(shell("tr a-z A-Z; echo words >&2; exit 3"));
    expect(await exchange(spawned, "some input")).toBe("SOME INPUT");
    expect(await spawned.end).toEqual({ ...EXITED, exitCode: 3, diagnostics: "words\n" });
  });

  it("may write before it has read, and end before anybody listens", async () => {
    const { spawner } = await openSpawner();
    for (let round = 0; round < 20; round++) {
      const spawned = spawner.start(shell(`echo ${round}`));
      expect(await spawned.end).toMatchObject({ kind: "exited", exitCode: 0 });
      const stream = await spawned.stream;
      expect(stream && (await text(stream))).toBe(`${round}\n`);
      stream?.destroy();
    }
  });

  it("gets its own streams, however many start at once", async () => {
    const { spawner } = await openSpawner();
    const outputs = await Promise.all(
      Array.from({ length: 40 }, (_, number) => exchange(spawner.start(shell(`cat; echo ${number}`)), `${number}-`)),
    );
    expect(outputs).toEqual(Array.from({ length: 40 }, (_, number) => `${number}-${number}\n`));
  });

  it("passes on megabytes both ways", async () => {
    const { spawner } = await openSpawner();
    const input = "0123456789abcdef".repeat(500_000);
    expect((await exchange(spawner.start(shell("cat")), input)) === input).toBe(true);
  });

  it("gets a file as a descriptor, from its beginning each time", async () => {
    const { spawner, folder } = await openSpawner();
    const path = join(folder, "three");
    await writeFile(path, "third");
    const extraDescriptors: ExtraDescriptor[] = [{ kind: "file", path }];
    for (let round = 0; round < 2; round++) {
      expect(await exchange(spawner.start(shell("cat <&3", { extraDescriptors })))).toBe("third");
    }
  });

  it("reports on a descriptor of its own where it is asked for", async () => {
    const { spawner } = await openSpawner();
    const extraDescriptors: ExtraDescriptor[] = [{ kind: "file", path: "/dev/null" }, { kind: "report" }];
    const spawned = spawner.start(shell("echo state >&4", { extraDescriptors }));
    expect(await spawned.end).toEqual({ ...EXITED, status: "state\n" });
  });

  it("may say as much as it likes on standard error, of which the beginning is kept", async () => {
    const { spawner } = await openSpawner();
    const spawned = spawner.start(shell("head -c 3000000 /dev/zero | tr '\\0' x >&2"));
    expect(await spawned.end).toEqual({ ...EXITED, diagnostics: "x".repeat(4096) });
  });

  it("has nothing open but what it was given", async () => {
    const { spawner } = await openSpawner();
    const openOf = (pid: number | string | null) =>
      readdirSync(`/proc/${pid}/fd`).map((name) => {
        try {
          return `${name} -> ${readlinkSync(`/proc/${pid}/fd/${name}`)}`;
        } catch {
          return `${name} -> closed`;
        }
      });
    const first = spawner.start(shell("read line"));
    await first.pid;
    const spawned = spawner.start(shell("read line"));
    const pid = await spawned.pid;
    // What this process has been given open by whoever started it, every child has too.
    const inherited = new Set(openOf("self"));
    const open = openOf(pid).filter((descriptor) => !inherited.has(descriptor));
    expect(open.filter((descriptor) => !/^[0-4] -> /.test(descriptor))).toEqual([]);
    expect(open.filter((descriptor) => /^[0-2] -> socket:/.test(descriptor))).toHaveLength(3);
    await Promise.all([exchange(first), exchange(spawned)]);
  });

  it("is killed with what it has started itself", async () => {
    const { spawner } = await openSpawner();
    const spawned = spawner.start(shell("sleep 60 & echo $!; wait"));
    const stream = await spawned.stream;
    const line = await new Promise<string>((resolve) => stream?.once("data", (chunk) => resolve(String(chunk))));
    spawned.kill();
    expect(await spawned.end).toEqual(KILLED);
    await expect.poll(() => isRunning(Number(line))).toBe(false);
    stream?.destroy();
  });

  it("may be killed before it has started, and after it has ended", async () => {
    const { spawner } = await openSpawner();
    const early = spawner.start(shell("sleep 60"));
    early.kill();
    expect([KILLED, { kind: "failed", reason: "killed before it was started" }]).toContainEqual(await early.end);
    (await early.stream)?.destroy();
    const late = spawner.start(shell("exit 0"));
    await exchange(late);
    expect(await late.end).toEqual(EXITED);
    late.kill();
    expect(await exchange(spawner.start(shell("echo still here")))).toBe("still here\n");
  });

  it.each([
    ["a program that is not there", shell("", { file: "/nonexistent/program" })],
    ["a folder that is not there", shell("", { workingDirectory: "/nonexistent" })],
    ["a file that is not there", shell("", { extraDescriptors: [{ kind: "file", path: "/nonexistent/file" }] })],
  ])("fails in words for %s", async (_what, spawnCommand) => {
    const { spawner } = await openSpawner();
    const spawned = spawner.start(spawnCommand);
    expect(await spawned.end).toEqual({ kind: "failed", reason: expect.stringContaining("ENOENT") });
    // Where it got that far, there is a connection, and nothing comes by it.
    (await spawned.stream)?.destroy();
    expect(await exchange(spawner.start(shell("echo next")))).toBe("next\n");
  });
});

describe("the socket of the streams", () => {
  it("gives nothing to who is no program that is awaited, and takes nothing from it", async () => {
    const { spawner, folder } = await openSpawner();
    const spawned = spawner.start(shell("read line; echo the right one"));
    await spawned.pid;
    for (const claim of ["1\nforged", "2\nforged", "forged", "\n", ""]) {
      const socket = connect(join(folder, "streams"));
      socket.end(claim);
      expect(await text(socket)).toBe("");
    }
    expect(await exchange(spawned, "\n")).toBe("the right one\n");
  });

  it("that somebody else has taken makes a failure of the program, and no wait without end", async () => {
    const { spawner, folder } = await openSpawner();
    const path = join(folder, "streams");
    await unlink(path);
    const thief = createServer((socket) => socket.resume());
    thief.listen(path);
    await once(thief, "listening");
    const spawned = spawner.start(shell("exit 0"));
    expect(await spawned.end).toEqual({ kind: "failed", reason: "the connection was lost" });
    expect(await spawned.stream).toBeNull();
    thief.close();
  });

  it("that is removed makes a failure of the next program, and of none that runs", async () => {
    const { spawner, folder } = await openSpawner();
    const before = spawner.start(shell("cat"));
    await before.stream;
    await unlink(join(folder, "streams"));
    const failed = spawner.start(shell("echo lost"));
    expect(await failed.end).toEqual({ kind: "failed", reason: expect.stringContaining("ENOENT") });
    expect(await failed.stream).toBeNull();
    expect(await exchange(before, "kept")).toBe("kept");
  });
});

async function backendFor(
  environment: Readonly<Record<string, string>> = {},
  spawnerAnswerTimeoutMilliseconds?: number,
): Promise<TestBackend> {
  const settings = { SERVICE_MAX_CONCURRENT_RENDERS: "2", ...environment };
  const backend = await startTestBackend(settings, spawnerAnswerTimeoutMilliseconds);
  onTestFinished(() => backend.close());
  return backend;
}

/** The spawner of this test's backend: the one whose environment names its work directory. */
function spawnerPid(backend: TestBackend): number {
  const [pid = 0, ...others] = spawnerPids(backend);
  expect([pid > 0, others]).toEqual([true, []]);
  return pid;
}

function spawnerPids({ workDirectory }: TestBackend): number[] {
  const pids = readdirSync("/proc").filter((name) => /^\d+$/.test(name));
  const variable = `SPAWNER_SOCKET_PATH=${workDirectory}`;
  return pids.filter((pid) => readProc(pid, "environ").includes(variable)).map(Number);
}

describe("a spawner that dies", () => {
  it.each([...SANDBOXES, "none"])("takes its renders with it, and the next one finds another (%s)", async (mode) => {
    const backend = await backendFor({ SERVICE_SANDBOX: mode, ...NO_TIME_LIMIT });
    const answers = [backend.render({ source: ENDLESS }), backend.render({ source: ENDLESS })];
    await expect.poll(() => typstProcessesOf(backend.workDirectory).length).toBe(2);
    const pids = typstProcessesOf(backend.workDirectory);
    onTestFinished(() => {
      for (const pid of pids.filter(isRunning)) process.kill(pid, "SIGKILL");
    });
    process.kill(spawnerPid(backend), "SIGKILL");
    for (const answer of answers) await expectProblem(await answer, "service_unavailable");
    expect((await backend.render({ source: "x" })).status).toBe(200);
    await expectNothingLeft(backend);
  });

  it("while renders start, leaves no half of a sandbox behind", async () => {
    const backend = await backendFor({ SERVICE_MAX_CONCURRENT_RENDERS: "4" });
    for (let round = 0; round < 24; round++) {
      expect((await backend.render({ source: "x" })).status).toBe(200);
      const answers = Array.from({ length: 4 }, () => backend.render({ source: "x" }));
      // At another moment of the start each time.
      await delay(1 + (round % 12));
      for (const pid of spawnerPids(backend)) process.kill(pid, "SIGKILL");
      expect(new Set([200, 503])).toEqual(
        new Set([200, 503, ...(await Promise.all(answers)).map(({ status }) => status)]),
      );
    }
    expect((await backend.render({ source: "x" })).status).toBe(200);
    await expectNothingLeft(backend);
  });

  it("or hangs is replaced, and the render that found it so was never begun", async () => {
    const backend = await backendFor({ SERVICE_RENDER_TIMEOUT_SECONDS: "3" }, 500);
    expect((await backend.render({ source: "x" })).status).toBe(200);
    const pid = spawnerPid(backend);
    process.kill(pid, "SIGSTOP");
    onTestFinished(() => {
      if (isRunning(pid)) process.kill(pid, "SIGKILL");
    });
    await expectProblem(await backend.render({ source: "x" }), "service_unavailable");
    expect((await backend.render({ source: "x" })).status).toBe(200);
    await expectNothingLeft(backend);
  });

  it("while a process waits for its request, costs that request nothing", async () => {
    const backend = await backendFor({ SERVICE_WARM_RENDERS: "1" });
    expect((await backend.render({ source: "x" })).status).toBe(200);
    await expect.poll(() => typstProcessesOf(backend.workDirectory).length).toBe(1);
    process.kill(spawnerPid(backend), "SIGKILL");
    expect((await backend.render({ source: "x" })).status).toBe(200);
  });

  it("stays where a terminal's signals reach it, for the backend has not said so", async () => {
    const backend = await backendFor();
    expect((await backend.render({ source: "x" })).status).toBe(200);
    const pid = spawnerPid(backend);
    for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.kill(pid, signal);
    expect((await backend.render({ source: "x" })).status).toBe(200);
    expect(spawnerPid(backend)).toBe(pid);
  });
});

it("a process that is killed at any moment of its start is gone, and said to be", async () => {
  const { settings, sandbox, spawner } = await openOwnSandbox("bubblewrap");
  const project = await RenderDirectory.create(settings.workDirectory, false);
  const spawnCommand = sandbox.spawnCommand(
    project,
    renderArguments(settings, sandbox.view(project), { output: PDF, bringsFonts: false }),
  );
  for (let round = 0; round < 120; round++) {
    const spawned = spawner.start(spawnCommand);
    await spawned.pid;
    const end = performance.now() + (round % 12) / 2;
    while (performance.now() < end) await nextTurn();
    spawned.kill();
    expect(["signalled", "failed"]).toContain((await spawned.end).kind);
    (await spawned.stream)?.destroy();
  }
  expect(processesOf(settings.workDirectory)).toEqual([]);
});

describe("a spawner that is closed", () => {
  it("starts nothing any more, and says so", async () => {
    const { spawner } = await openSpawner();
    expect(await exchange(spawner.start(shell("echo open")))).toBe("open\n");
    const running = spawner.start(shell("sleep 60"));
    await running.pid;
    await spawner.close();
    expect(await running.end).toMatchObject({ kind: "failed" });
    const late = spawner.start(shell("echo late"));
    expect([await late.stream, await late.pid]).toEqual([null, null]);
    expect(await late.end).toEqual({ kind: "failed", reason: expect.stringContaining("closed") });
    await spawner.close();
  });

  it("ends even where its process hangs", async () => {
    const { spawner } = await openSpawner(500);
    const spawned = spawner.start(shell("echo $PPID"));
    const pid = Number(await exchange(spawned));
    process.kill(pid, "SIGSTOP");
    await spawner.close();
    expect(isRunning(pid)).toBe(false);
  });
});

describe("a spawner without descriptors left", () => {
  it("says of each program that it cannot be started, and starts the next one when it can", async () => {
    const { spawner } = await openSpawner();
    const pid = Number(await exchange(spawner.start(shell("echo $PPID"))));
    const limit = (count: number) => execFileSync("prlimit", [`--pid=${pid}`, `--nofile=${count}:`]);
    const open = readdirSync(`/proc/${pid}/fd`).map(Number);
    // A limit counts numbers, and the lowest one that is free is taken first.
    const free = Array.from({ length: 256 }, (_, number) => number).filter((number) => !open.includes(number));
    const startAt = async (firstRefused: number) => {
      limit(firstRefused);
      const spawned = spawner.start(shell("echo started"));
      // Nothing is written: a program that has ended already takes nothing.
      const stream = await spawned.stream;
      const output = stream && (await text(stream).catch(() => null));
      return { output, end: await spawned.end };
    };
    const FAILED = { output: null, end: { kind: "failed", reason: expect.stringContaining("EMFILE") } };
    expect(await startAt(free[0] ?? 0)).toEqual(FAILED);
    // One for the connection, and too few for what a program needs beside it.
    for (const count of [1, 2, 3]) {
      expect((await startAt(free[count] ?? 0)).end).toEqual(FAILED.end);
    }
    expect(await startAt(1024)).toEqual({ output: "started\n", end: EXITED });
    expect(await exchange(spawner.start(shell("echo $PPID")))).toBe(`${pid}\n`);
  });
});

/**
 * The spawner: the process that starts all others. What it hands over, what it says of an end, and what becomes of
 * renders when it dies.
 */
import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { readdirSync } from "node:fs";
import { unlink, writeFile } from "node:fs/promises";
import { connect, createServer } from "node:net";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { setTimeout as delay, setImmediate as nextTurn } from "node:timers/promises";
import { describe, expect, it, onTestFinished } from "vitest";
import type { ExtraDescriptor, SpawnCommand } from "../../../backend/spawner/messages.ts";
import { type SpawnedProgram, Spawner } from "../../../backend/spawner/spawner.ts";
import { renderArguments } from "../../../backend/typst/command-line.ts";
import { RenderDirectory } from "../../../backend/work-directory/render-directory.ts";
import { ENDLESS, NO_TIME_LIMIT } from "../../support/bombs.ts";
import { expectNothingLeft } from "../../support/leftovers.ts";
import { expectProblem } from "../../support/problems.ts";
import {
  isRunning,
  openDescriptors,
  processesOf,
  processIds,
  readProc,
  typstProcessesOf,
} from "../../support/processes.ts";
import { makeTemporaryFolder } from "../../support/temporary-folder.ts";
import { startTemporaryBackend, type TestBackend } from "../../support/test-backend.ts";
import { openTestSandbox, PDF, SANDBOXES } from "../../support/test-sandbox.ts";

async function openSpawner(answerTimeoutMilliseconds?: number): Promise<{ spawner: Spawner; folder: string }> {
  const folder = await makeTemporaryFolder("spawner-test-");
  const spawner = await Spawner.open(folder, answerTimeoutMilliseconds);
  onTestFinished(() => spawner.close());
  return { spawner, folder };
}

function shell(script: string, more: Partial<SpawnCommand> = {}): SpawnCommand {
  return {
    file: "/bin/sh",
    arguments: ["-c", script],
    environment: {},
    // Not a shared folder: tests take processes that name it for those that run in it.
    workingDirectory: import.meta.dirname,
    extraDescriptors: [],
    ...more,
  };
}

/** Everything that a program writes, after it was given its input. */
async function exchange(spawned: SpawnedProgram, input = ""): Promise<string | null> {
  const stream = await spawned.stream;
  // Even an empty input would be written, and fail for a program that has ended.
  if (input === "") stream?.end();
  else stream?.end(input);
  return stream && text(stream);
}

const EXITED = { kind: "exited", exitCode: 0, diagnostics: "", status: "" };
const KILLED = { kind: "signalled", signal: "SIGKILL", diagnostics: "", status: "" };

describe("a program that is started", () => {
  it("gets its whole input, and returns its output and its end", async () => {
    const { spawner } = await openSpawner();
    const spawned = spawner.start(shell("tr a-z A-Z; echo words >&2; exit 3"));
    expect(await exchange(spawned, "some input")).toBe("SOME INPUT");
    expect(await spawned.end).toEqual({ ...EXITED, exitCode: 3, diagnostics: "words\n" });
  });

  it("may write before it reads, and end before anybody listens", async () => {
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

  it("can receive and send megabytes", async () => {
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

  it("may write any amount to standard error, of which the beginning is kept", async () => {
    const { spawner } = await openSpawner();
    const spawned = spawner.start(shell("head -c 3000000 /dev/zero | tr '\\0' x >&2"));
    expect(await spawned.end).toEqual({ ...EXITED, diagnostics: "x".repeat(4096) });
  });

  it("has no open descriptors but those it was given", async () => {
    const { spawner } = await openSpawner();
    const first = spawner.start(shell("read line"));
    await first.pid;
    const spawned = spawner.start(shell("read line"));
    const pid = await spawned.pid;
    // Descriptors that this process has inherited are open in every child too.
    const inherited = new Set(openDescriptors(process.pid));
    const open = openDescriptors(Number(pid)).filter((descriptor) => !inherited.has(descriptor));
    expect(open.filter((descriptor) => !/^[0-4] -> /.test(descriptor))).toEqual([]);
    expect(open.filter((descriptor) => /^[0-2] -> socket:/.test(descriptor))).toHaveLength(3);
    await Promise.all([exchange(first), exchange(spawned)]);
  });

  it("is killed with every process that it started", async () => {
    const { spawner } = await openSpawner();
    const spawned = spawner.start(shell("sleep 60 & echo $!; wait"));
    const stream = await spawned.stream;
    const line = await new Promise<string>((resolve) => stream?.once("data", (chunk) => resolve(String(chunk))));
    spawned.kill();
    expect(await spawned.end).toEqual(KILLED);
    await expect.poll(() => isRunning(Number(line))).toBe(false);
    stream?.destroy();
  });

  it("may be killed before it has started and after it has ended", async () => {
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
    // If it got that far, there is a connection, and nothing comes over it.
    (await spawned.stream)?.destroy();
    expect(await exchange(spawner.start(shell("echo next")))).toBe("next\n");
  });
});

describe("the socket of the streams", () => {
  it("exchanges nothing with a client that is no expected program", async () => {
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

  it("that somebody else has taken makes the program fail instead of hang", async () => {
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

function startBackendWithTwoSlots(
  environment: Readonly<Record<string, string>> = {},
  spawnerAnswerTimeoutMilliseconds?: number,
): Promise<TestBackend> {
  const settings = { SERVICE_MAX_CONCURRENT_RENDERS: "2", ...environment };
  return startTemporaryBackend(settings, spawnerAnswerTimeoutMilliseconds);
}

/** The spawner of this test's backend: the one whose environment names its work directory. */
function spawnerPid(backend: TestBackend): number {
  const [pid = 0, ...others] = spawnerPids(backend);
  expect([pid > 0, others]).toEqual([true, []]);
  return pid;
}

function spawnerPids({ workDirectory }: TestBackend): number[] {
  const variable = `SPAWNER_SOCKET_PATH=${workDirectory}`;
  return processIds().filter((pid) => readProc(`${pid}/environ`).includes(variable));
}

describe("a spawner that dies", () => {
  it.each([...SANDBOXES, "none"])(
    "takes its renders with it, and the next render gets a new spawner (%s)",
    async (mode) => {
      const backend = await startBackendWithTwoSlots({ SERVICE_SANDBOX: mode, ...NO_TIME_LIMIT });
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
    },
  );

  it("while renders start leaves no half-built sandbox behind", async () => {
    const backend = await startBackendWithTwoSlots({ SERVICE_MAX_CONCURRENT_RENDERS: "4" });
    for (let round = 0; round < 24; round++) {
      expect((await backend.render({ source: "x" })).status).toBe(200);
      const answers = Array.from({ length: 4 }, () => backend.render({ source: "x" }));
      // At a different moment of the start each time.
      await delay(1 + (round % 12));
      for (const pid of spawnerPids(backend)) process.kill(pid, "SIGKILL");
      expect(new Set([200, 503])).toEqual(
        new Set([200, 503, ...(await Promise.all(answers)).map(({ status }) => status)]),
      );
    }
    expect((await backend.render({ source: "x" })).status).toBe(200);
    await expectNothingLeft(backend);
  });

  it("or hangs is replaced, and the render that noticed it was never started", async () => {
    const backend = await startBackendWithTwoSlots({ SERVICE_RENDER_TIMEOUT_SECONDS: "3" }, 500);
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

  it("while a process waits for its request does not affect that request", async () => {
    const backend = await startBackendWithTwoSlots({ SERVICE_WARM_RENDERS: "1" });
    expect((await backend.render({ source: "x" })).status).toBe(200);
    await expect.poll(() => typstProcessesOf(backend.workDirectory).length).toBe(1);
    process.kill(spawnerPid(backend), "SIGKILL");
    expect((await backend.render({ source: "x" })).status).toBe(200);
  });

  it("does not die of a terminal's signals, which are meant for the backend", async () => {
    const backend = await startBackendWithTwoSlots();
    expect((await backend.render({ source: "x" })).status).toBe(200);
    const pid = spawnerPid(backend);
    for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.kill(pid, signal);
    expect((await backend.render({ source: "x" })).status).toBe(200);
    expect(spawnerPid(backend)).toBe(pid);
  });
});

it("a process that is killed at any moment of its start is gone, and said to be", async () => {
  const { settings, sandbox, spawner } = await openTestSandbox("bubblewrap");
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
  it("starts nothing any more and says so", async () => {
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

  it("ends even if its process hangs", async () => {
    const { spawner } = await openSpawner(500);
    const spawned = spawner.start(shell("echo $PPID"));
    const pid = Number(await exchange(spawned));
    process.kill(pid, "SIGSTOP");
    await spawner.close();
    expect(isRunning(pid)).toBe(false);
  });
});

describe("a spawner without descriptors left", () => {
  it("reports each program that it cannot start, and starts programs again when it can", async () => {
    const { spawner } = await openSpawner();
    const pid = Number(await exchange(spawner.start(shell("echo $PPID"))));
    const limit = (count: number) => execFileSync("prlimit", [`--pid=${pid}`, `--nofile=${count}:`]);
    const open = readdirSync(`/proc/${pid}/fd`).map(Number);
    // The limit is on descriptor numbers, and the lowest free one is taken first.
    const free = Array.from({ length: 256 }, (_, number) => number).filter((number) => !open.includes(number));
    const startAt = async (firstRefused: number) => {
      limit(firstRefused);
      const spawned = spawner.start(shell("echo started"));
      // Nothing is written, because that would fail if the program has already ended.
      const stream = await spawned.stream;
      const output = stream && (await text(stream).catch(() => null));
      return { output, end: await spawned.end };
    };
    const FAILED = { output: null, end: { kind: "failed", reason: expect.stringContaining("EMFILE") } };
    expect(await startAt(free[0] ?? 0)).toEqual(FAILED);
    // One for the connection, and too few for the other needs of a program.
    for (const count of [1, 2, 3]) {
      expect((await startAt(free[count] ?? 0)).end).toEqual(FAILED.end);
    }
    expect(await startAt(1024)).toEqual({ output: "started\n", end: EXITED });
    expect(await exchange(spawner.start(shell("echo $PPID")))).toBe(`${pid}\n`);
  });
});

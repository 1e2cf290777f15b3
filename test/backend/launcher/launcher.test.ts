/** The launcher: the resident shells that start all programs. */
import { execFileSync, spawnSync } from "node:child_process";
import { EventEmitter, once } from "node:events";
import { closeSync, constants, existsSync, openSync, readdirSync, readFileSync, readlinkSync } from "node:fs";
import { mkdir, rm, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { setTimeout as delay, setImmediate as nextTurn } from "node:timers/promises";
import fc from "fast-check";
import { beforeEach, describe, expect, it, onTestFinished, vi } from "vitest";
import { type LaunchedProgram, Launcher, type LauncherOptions } from "../../../backend/launcher/launcher.ts";
import type { ProgramCommand } from "../../../backend/launcher/program.ts";
import { killIfThere } from "../../../backend/processes/proc.ts";
import { RenderDirectory } from "../../../backend/work-directory/render-directory.ts";
import { renderArguments } from "../../../typst/command-line.ts";
import { ANY_CHARACTER } from "../../support/any-character.ts";
import { ENDLESS, NO_TIME_LIMIT } from "../../support/backend/bombs.ts";
import {
  childrenOf,
  isRunning,
  listPids,
  openDescriptors,
  processesOf,
  readProc,
  residentBytes,
  typstProcessesOf,
} from "../../support/backend/processes.ts";
import { linkAsSh, SHELLS, type TestShell } from "../../support/backend/shells.ts";
import { expectNothingLeft, startTemporaryBackend, type TestBackend } from "../../support/backend/test-backend.ts";
import { eachSandbox, MODES, openTestSandbox, PDF } from "../../support/backend/test-sandbox.ts";
import { expectProblem } from "../../support/problems.ts";
import { makeTemporaryFolder } from "../../support/temporary-folder.ts";

const { O_NONBLOCK, O_RDONLY } = constants;

/** @param testShell called `sh`; without it, the machine's own `sh`. */
async function openLauncher({
  testShell,
  mkfifoPath = "/usr/bin/mkfifo",
  ...options
}: LauncherOptions & { testShell?: TestShell; mkfifoPath?: string } = {}) {
  const folder = await makeTemporaryFolder("launcher-test-");
  const shellPath = testShell === undefined ? "/bin/sh" : await linkAsSh(testShell);
  const launcher = new Launcher(
    { workDirectory: folder, mkfifoPath, maxConcurrentRenders: 2, warmRenders: 2 },
    { shellPath, ...options },
  );
  onTestFinished(() => launcher.close());
  return { launcher, folder };
}

function shell(script: string, more: Partial<ProgramCommand> = {}): ProgramCommand {
  return {
    file: "/bin/sh",
    arguments: ["-c", script],
    environment: {},
    // Not a shared folder: tests take processes that name it for those that run in it.
    workingDirectory: import.meta.dirname,
    inheritedFile: null,
    setUpCommands: [],
    ...more,
  };
}

/** Everything that a program writes, after it was given its input. */
async function exchange(launched: LaunchedProgram, input = ""): Promise<string | null> {
  void launched.write([Buffer.from(input)]);
  const output = await launched.output;
  // The output of a program that was not started is closed.
  return output && text(output).catch(() => null);
}

/** The process of a program that has started. */
async function pidOf(launched: LaunchedProgram): Promise<number> {
  const shellPid = await launched.ancestorPid;
  const [pid = 0] = childrenOf(shellPid ?? 0);
  return pid;
}

/** The end of a program whose output nobody wants. */
async function endOf(launched: LaunchedProgram) {
  await exchange(launched);
  return launched.end;
}

const EXITED = { kind: "exited", exitCode: 0, diagnostics: "" };
const KILLED = { kind: "signalled", signal: "SIGKILL" };
/** With what the shell says of it. */
const notStarted = (complaint: RegExp) => ({
  kind: "failed",
  reason: expect.stringMatching(new RegExp(`^the program was not started${complaint.source}$`)),
  hasStarted: false,
});

// Not objects: vitest shortens the titles that it takes from them.
const TITLED_SHELLS = SHELLS.map((testShell) => [testShell.title, testShell] as const);

describe.each(TITLED_SHELLS)("a program that is started by %s", (_title, testShell) => {
  beforeEach(({ skip }) => skip(testShell.path === null));

  it("may end without having read its input", async () => {
    const { launcher } = await openLauncher({ testShell });
    for (let round = 0; round < 20; round++) {
      const launched = launcher.start(shell(`echo ${round}`));
      expect(await exchange(launched, "x".repeat(round * 10_000))).toBe(`${round}\n`);
      expect(await launched.end).toEqual(EXITED);
    }
  });

  it("gets its own input, output and end, however many start at once", async () => {
    const { launcher } = await openLauncher({ testShell });
    const numbers = Array.from({ length: 20 }, (_, number) => number);
    for (let round = 0; round < 2; round++) {
      const programs = numbers.map((number) =>
        launcher.start(shell(`cat; echo ${number}; echo ${number} >&2; exit ${number}`)),
      );
      const outputs = await Promise.all(programs.map((program, number) => exchange(program, `${number}-`)));
      expect(outputs).toEqual(numbers.map((number) => `${number}-${number}\n`));
      const ends = await Promise.all(programs.map(({ end }) => end));
      expect(ends).toEqual(numbers.map((number) => ({ ...EXITED, exitCode: number, diagnostics: `${number}\n` })));
    }
  });

  it("gets each of its arguments unchanged, whatever they contain", async () => {
    const { launcher, folder } = await openLauncher({ testShell });
    const words = fc.array(
      fc.oneof(
        fc.string({ unit: ANY_CHARACTER, maxLength: 20 }),
        fc.string({ unit: fc.constantFrom(..."'\"\\$`!*?[](){}<>|&;#~ \t\n\r=%^-"), maxLength: 20 }),
      ),
      { maxLength: 5 },
    );
    const hostile = words.map((list) => list.map((word) => word.replaceAll("\0", "").toWellFormed()));
    let round = 0;
    await fc.assert(
      fc.asyncProperty(hostile, async (list) => {
        // No name of a folder contains a slash, or is longer than 255 bytes.
        const name = `${round++}${list.join("").replaceAll("/", "")}`;
        const workingDirectory = join(folder, name);
        await mkdir(workingDirectory);
        const inheritedFile = join(workingDirectory, "inherited");
        await writeFile(inheritedFile, "third");
        const script = 'cat <&3; pwd; printf "%s\\0" "$WORD" "$@"';
        const [environmentWord = ""] = list;
        const command = shell(script, { workingDirectory, inheritedFile, environment: { WORD: environmentWord } });
        const output = await exchange(launcher.start({ ...command, arguments: ["-c", script, "sh", ...list] }));
        const printed = list.length === 0 ? [environmentWord, ""] : [environmentWord, ...list, ""];
        expect(output).toBe(`third${workingDirectory}\n${printed.join("\0")}`);
      }),
      { numRuns: 25 },
    );
  });

  it("has no variables but those it was given", async () => {
    const { launcher } = await openLauncher({ testShell });
    const command = shell("", { file: "/usr/bin/env", arguments: [], environment: { TZ: "UTC" } });
    const lines = (await exchange(launcher.start(command)))?.trimEnd().split("\n") ?? [];
    // bash tells each program its own path, and busybox where it would look for programs.
    expect(lines.filter((line) => !/^(?:_=|PATH=\/sbin:)/.test(line))).toEqual(["TZ=UTC"]);
  });

  it("may write any amount to standard error, of which the beginning is kept", async () => {
    const { launcher } = await openLauncher({ testShell });
    const launched = launcher.start(shell("head -c 3000000 /dev/zero | tr '\\0' x >&2"));
    expect(await endOf(launched)).toEqual({ ...EXITED, diagnostics: "x".repeat(4096) });
  });

  it("cannot forge the report of its end", async () => {
    const { launcher } = await openLauncher({ testShell });
    const launched = launcher.start(shell("echo started >&2; echo 00000000-0000-0000-0000-000000000000 0 >&2; exit 1"));
    expect(await endOf(launched)).toMatchObject({ kind: "exited", exitCode: 1 });
  });

  it("has no open descriptors but those it was given", async () => {
    const { launcher } = await openLauncher({ testShell });
    const [first, second] = [launcher.start(shell("read line")), launcher.start(shell("echo runs; read line"))];
    await once((await second.output) ?? new EventEmitter(), "data");
    const pid = await pidOf(second);
    // Descriptors that this process has inherited are open in every child too.
    const inherited = new Set(openDescriptors(process.pid));
    const open = openDescriptors(pid).filter((descriptor) => !inherited.has(descriptor));
    expect(open).toEqual([
      expect.stringMatching(/^0 -> .*\/launcher\/[12]\.in$/),
      expect.stringMatching(/^1 -> .*\/launcher\/[12]\.out$/),
      expect.stringMatching(/^2 -> socket:/),
    ]);
    await Promise.all([endOf(first), endOf(second)]);
  });

  it("is killed with every process that it started", async () => {
    const { launcher } = await openLauncher({ testShell });
    const launched = launcher.start(shell("sleep 60 & echo $!; wait"));
    const [line] = await once((await launched.output) ?? new EventEmitter(), "data");
    launched.kill();
    expect(await launched.end).toMatchObject(KILLED);
    await expect.poll(() => isRunning(Number(line))).toBe(false);
  });

  it("that is killed is over even if a process of another session keeps its output open", async () => {
    const { launcher } = await openLauncher({ testShell, answerTimeoutMilliseconds: 200 });
    const launched = launcher.start(shell("setsid sh -c 'echo $$; exec sleep 300' &\nwait"));
    const [line] = await once((await launched.output) ?? new EventEmitter(), "data");
    launched.kill();
    expect(await launched.end).toMatchObject(KILLED);
    process.kill(Number(line));
  });

  it("is killed, whatever its name", async () => {
    const { launcher, folder } = await openLauncher({ testShell });
    for (const name of ["a b", ") S 1 (", "a\nb"]) {
      const file = join(folder, name);
      await symlink("/bin/sleep", file);
      const launched = launcher.start(shell("", { file, arguments: ["60"] }));
      await expect.poll(async () => readProc(`${await pidOf(launched)}/comm`)).toBe(`${name}\n`);
      launched.kill();
      expect(await endOf(launched)).toMatchObject(KILLED);
    }
  });

  it("is reported as killed even if one of its processes still writes, which does not affect the next one", async () => {
    const { launcher, folder } = await openLauncher({ testShell });
    const line = "echo memory allocation of 9 bytes failed >&2";
    const flood = `setsid sh -c '${line}; : > "${folder}/floods"; while :; do ${line}; done' >/dev/null </dev/null &`;
    const launched = launcher.start(shell(`${flood} exec sleep 60`));
    await expect.poll(() => existsSync(join(folder, "floods"))).toBe(true);
    launched.kill();
    expect(await endOf(launched)).toMatchObject(KILLED);
    expect(await endOf(launcher.start(shell("exit 0")))).toEqual(EXITED);
  });

  it("is killed when it closes its output and keeps running", async () => {
    const { launcher } = await openLauncher({ testShell });
    expect(await endOf(launcher.start(shell("exec sleep 60 >&-")))).toMatchObject(KILLED);
  });

  it("may be killed before it has started and after it has ended", async () => {
    const { launcher } = await openLauncher({ testShell });
    for (let round = 0; round < 2; round++) {
      const early = launcher.start(shell("sleep 60"));
      early.kill();
      expect(["signalled", "failed"]).toContain((await endOf(early)).kind);
      const late = launcher.start(shell("exit 0"));
      expect(await endOf(late)).toEqual(EXITED);
      late.kill();
      expect(await exchange(launcher.start(shell("echo still here")))).toBe("still here\n");
    }
  });

  it.each([
    [
      "a folder that is not there",
      { workingDirectory: "/nonexistent/folder" },
      notStarted(/: .*\/nonexistent\/folder.*/),
    ],
    ["a file that is not there", { inheritedFile: "/nonexistent/file" }, notStarted(/: .*\/nonexistent\/file.*/)],
    ["a limit that cannot be set", { setUpCommands: ["ulimit -n 1000000000000"] }, notStarted(/: .*limit.*/)],
    [
      "a limit whose command complains in pieces",
      { setUpCommands: ["{ printf 'no ' >&2; sleep 0.2; echo limit >&2; false; }"] },
      notStarted(/: no limit/),
    ],
    ["a limit whose command fails", { setUpCommands: ["false", "true"] }, notStarted(/(?:)/)],
    ["a program that is not there", { file: "/nonexistent/program" }, { kind: "exited", exitCode: 127 }],
  ])("fails if it is given %s", async (_what, command, end) => {
    const { launcher } = await openLauncher({ testShell });
    for (let round = 0; round < 2; round++) {
      expect(await endOf(launcher.start(shell("", command)))).toMatchObject(end);
      expect(await exchange(launcher.start(shell("echo next")))).toBe("next\n");
    }
  });

  it("is followed by another shell if it is killed with its own, before the next program needs one", async () => {
    const { launcher, folder } = await openLauncher({ testShell });
    const launched = launcher.start(shell("sleep 60"));
    await launched.ancestorPid;
    launched.kill();
    expect(await launched.end).toMatchObject(KILLED);
    await expect.poll(() => readdirSync(join(folder, "launcher")).toSorted()).toEqual(["2.in", "2.out"]);
    expect(await exchange(launcher.start(shell("echo next")))).toBe("next\n");
  });

  it("leaves its shell, with its memory, to the next one when it is over", async () => {
    const { launcher, folder } = await openLauncher({ testShell });
    const shells = new Set<number | null>();
    for (let round = 0; round < 5; round++) {
      // A process that ends closes its output before its input.
      const lateReader = round === 0 ? null : openSync(join(folder, "launcher", "1.in"), O_RDONLY | O_NONBLOCK);
      const launched = launcher.start(shell("exit 0"));
      if (lateReader !== null) closeSync(lateReader);
      shells.add(await launched.ancestorPid);
      await endOf(launched);
    }
    expect(shells.size).toBe(1);
    const [pid] = shells;
    // dash takes 1 MB, bash 4.
    expect(residentBytes(pid ?? 0)).toBeLessThan(5e6);
    expect(readProc(`${pid}/task/${pid}/children`)).toBe("");
  });

  describe("in the script of its shell", () => {
    const launcherScript = readFileSync(new URL("../../../backend/launcher/launcher.sh", import.meta.url), "utf8");

    /** Runs functions of the script. Returns what the steps print: the child that they start, and what they call. */
    async function usesIn(steps: string) {
      const script = `${launcherScript}
        input=/dev/null output=/dev/null
        ${steps}
        trap - EXIT`;
      const shellPath = await linkAsSh(testShell);
      const lines = execFileSync("setsid", ["--wait", shellPath, "-c", script], { encoding: "utf8" }).split("\n");
      const child = lines.find((line) => line.startsWith("child "))?.slice("child ".length);
      return { child, uses: lines.filter((line) => /^(?:kill|wait|lives) /.test(line)) };
    }

    // The last kill is for the process group, which is the shell's own. In a subshell, `$$` is still the shell, but
    // what is started there is a child of the subshell.
    it.each([
      ["before its shell has waited for it", "start / : sleep 60", "finish word", "kill -KILL | wait | kill -TERM 0"],
      [
        "and not afterwards, when the id may be another's",
        "start / : true; wait $!",
        "finish word",
        "wait | kill -TERM 0",
      ],
      [
        "and not if that is no child of its shell",
        "( start / : sleep 60",
        'finish word; command kill -KILL $! && echo "lives $!" )',
        "wait | kill -TERM 0 | lives",
      ],
    ])("is killed by its process id %s", async (_when, start, finish, expected) => {
      const { child, uses } = await usesIn(`
        kill() { echo "kill $*"; [ "$1" = -TERM ] || command kill "$@"; }
        ${start}
        wait() { echo "wait $*"; }
        echo "child $!"
        ${finish}`);
      expect(uses.map((use) => use.replace(` ${child}`, "")).join(" | ")).toBe(expected);
    });
  });

  it("gets its whole input even if a process of the previous program still reads", async () => {
    const { launcher, folder } = await openLauncher({ testShell });
    const stolen = join(folder, "stolen");
    const tries = join(folder, "tries");
    const thief = `echo $$ >&2; exec >"$1" 2>/dev/null; while cat; do echo >> "${tries}"; sleep 0.01; done`;
    const triedOnceMore = `n=$(wc -l < "${tries}"); until [ $(wc -l < "${tries}") -gt $((n + 1)) ]; do sleep 0.01; done`;
    // In its own session, no signal of the shell reaches it.
    const script = `: > "${tries}"; exec 4<&0; setsid sh -c '${thief}' sh "$1" <&4 4<&- >/dev/null & ${triedOnceMore}`;
    const first = launcher.start({ ...shell(script), arguments: ["-c", script, "sh", stolen] });
    await exchange(first);
    const end = await first.end;
    expect(end).toMatchObject({ kind: "exited", diagnostics: expect.stringMatching(/^\d+\n$/) });
    const thiefPid = end.kind === "exited" ? Number(end.diagnostics) : 0;
    onTestFinished(() => void process.kill(thiefPid, "SIGKILL"));
    expect(await exchange(launcher.start(shell(`${triedOnceMore}; cat`)), "somebody else's source")).toBe(
      "somebody else's source",
    );
    expect(isRunning(thiefPid)).toBe(true);
    expect(readFileSync(stolen, "utf8")).toBe("");
  });

  it("ends when the backend does, and so does its shell", async () => {
    const { launcher } = await openLauncher({ testShell });
    const launched = launcher.start(shell("trap '' HUP TERM INT; sleep 60 & wait"));
    const pids = [Number(await launched.ancestorPid), await pidOf(launched)];
    // The end of the backend closes the standard input of the shell, whatever the backend dies of.
    await launcher.close();
    await expect.poll(() => pids.filter(isRunning)).toEqual([]);
    expect(await launched.end).toMatchObject({ kind: "failed" });
  });
});

describe("the FIFOs of a shell", () => {
  it("that are removed fail one program, and the next one gets new FIFOs", async () => {
    const { launcher, folder } = await openLauncher();
    expect(await endOf(launcher.start(shell("exit 0")))).toEqual(EXITED);
    await rm(join(folder, "launcher", "1.out"));
    const failed = launcher.start(shell("echo lost"));
    expect(await failed.output).toBeNull();
    expect(await failed.end).toMatchObject({ kind: "failed", reason: expect.stringContaining("ENOENT") });
    expect(await exchange(launcher.start(shell("echo after")))).toBe("after\n");
  });

  it("that cannot be removed are left, as on a disk that has become read-only, and the next program gets others", async () => {
    const { launcher, folder } = await openLauncher();
    const paths = ["1.in", "1.out"].map((name) => join(folder, "launcher", name));
    expect(await endOf(launcher.start(shell("exit 0")))).toEqual(EXITED);
    for (const path of paths) {
      await rm(path);
      await mkdir(path);
    }
    expect(await exchange(launcher.start(shell("echo after")))).toBe("after\n");
    expect(readdirSync(join(folder, "launcher")).sort()).toEqual(["1.in", "1.out", "2.in", "2.out"]);
  });

  it.each([
    ["without mkfifo", "/nonexistent/mkfifo", 20_000],
    ["where mkfifo hangs", "hangs", 200],
  ])("cannot be made %s, and then every program fails to start", async (_what, path, startTimeoutMilliseconds) => {
    const mkfifoPath = join(await makeTemporaryFolder("launcher-test-"), path);
    if (path === "hangs") await writeFile(mkfifoPath, "#!/bin/sh\nexec sleep 600\n", { mode: 0o755 });
    const { launcher } = await openLauncher({ mkfifoPath, startTimeoutMilliseconds });
    for (let round = 0; round < 2; round++) {
      const failed = launcher.start(shell("echo lost"));
      expect(await failed.output).toBeNull();
      expect(await failed.end).toMatchObject({ kind: "failed", reason: "its shell could not be started" });
    }
  });
});

const TWO_SLOTS = { SERVICE_MAX_CONCURRENT_RENDERS: "2" };

/** The shells of a backend: those that work in its work directory and name their FIFOs there. */
function shellPids({ workDirectory }: TestBackend): number[] {
  return listPids().filter(
    (pid) => /\0-s\0launcher\/\d+\0$/.test(readProc(`${pid}/cmdline`)) && workingDirectoryOf(pid) === workDirectory,
  );
}

function workingDirectoryOf(pid: number): string | null {
  try {
    return readlinkSync(`/proc/${pid}/cwd`);
  } catch {
    return null;
  }
}

describe("a shell that dies", () => {
  eachSandbox(it, MODES)(
    "takes its render with it, and no other, and the next render gets a new shell (%s)",
    async (mode) => {
      const backend = await startTemporaryBackend({ ...TWO_SLOTS, SERVICE_SANDBOX: mode, ...NO_TIME_LIMIT });
      const answers = [backend.render({ source: ENDLESS }), backend.render({ source: ENDLESS })];
      await expect.poll(() => typstProcessesOf(backend.workDirectory).length).toBe(2);
      const pids = typstProcessesOf(backend.workDirectory);
      onTestFinished(() => {
        for (const pid of pids.filter(isRunning)) process.kill(pid, "SIGKILL");
      });
      const [first = 0, second = 0] = shellPids(backend);
      process.kill(first, "SIGKILL");
      await expectProblem(await Promise.race(answers), "service_unavailable");
      await expect.poll(() => typstProcessesOf(backend.workDirectory)).toHaveLength(1);
      process.kill(second, "SIGKILL");
      for (const answer of answers) expect((await answer).status).toBe(503);
      expect((await backend.render({ source: "x" })).status).toBe(200);
      await expectNothingLeft(backend);
    },
  );

  it("while renders start leaves no half-built sandbox behind", async () => {
    const backend = await startTemporaryBackend({ SERVICE_MAX_CONCURRENT_RENDERS: "4" });
    for (let round = 0; round < 6; round++) {
      expect((await backend.render({ source: "x" })).status).toBe(200);
      const answers = Array.from({ length: 4 }, () => backend.render({ source: "x" }));
      // At a different moment of the start each time: there is no state to wait for.
      await delay(1 + 2 * round);
      // Among them may be a child that is about to become another program, or has ended by now.
      for (const pid of shellPids(backend)) killIfThere(pid);
      expect(new Set([200, 503])).toEqual(
        new Set([200, 503, ...(await Promise.all(answers)).map(({ status }) => status)]),
      );
    }
    expect((await backend.render({ source: "x" })).status).toBe(200);
    await expectNothingLeft(backend);
  });

  it("or hangs is replaced, and the render that noticed it was never started", async () => {
    const backend = await startTemporaryBackend({ ...TWO_SLOTS, SERVICE_RENDER_TIMEOUT_SECONDS: "2" }, 500);
    expect((await backend.render({ source: "x" })).status).toBe(200);
    const [pid = 0] = shellPids(backend);
    process.kill(pid, "SIGSTOP");
    onTestFinished(() => {
      if (isRunning(pid)) process.kill(pid, "SIGKILL");
    });
    // It has used up its time.
    await expectProblem(await backend.render({ source: "x" }), "service_unavailable");
    expect((await backend.render({ source: "x" })).status).toBe(200);
    await expectNothingLeft(backend);
  });

  it("does not die of a terminal's signals, which are meant for the backend", async () => {
    const backend = await startTemporaryBackend(TWO_SLOTS);
    expect((await backend.render({ source: "x" })).status).toBe(200);
    const pids = shellPids(backend);
    for (const pid of pids) {
      for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.kill(pid, signal);
    }
    expect((await backend.render({ source: "x" })).status).toBe(200);
    expect(shellPids(backend)).toEqual(pids);
  });
});

it("a process that is killed at any moment of its start is gone and reported as gone", async () => {
  const { settings, sandbox, launcher } = await openTestSandbox("bubblewrap");
  for (let round = 0; round < 24; round++) {
    const project = await RenderDirectory.create(settings.workDirectory, false);
    const view = sandbox.view(project);
    const launched = launcher.start(
      sandbox.programCommand(project, renderArguments(settings, view, { output: PDF, fontCount: 0 })),
    );
    if (round % 2 === 0) await launched.ancestorPid;
    const end = performance.now() + (round % 12) / 2;
    while (performance.now() < end) await nextTurn();
    launched.kill();
    (await launched.output)?.resume();
    expect(["signalled", "failed"]).toContain((await launched.end).kind);
    // Not after a while: the directory of a program that has ended may be used again.
    expect(processesOf(settings.workDirectory)).toEqual([]);
  }
});

describe("a launcher that is closed", () => {
  it("starts nothing more and says so", async () => {
    const { launcher } = await openLauncher();
    expect(await exchange(launcher.start(shell("echo open")))).toBe("open\n");
    const running = launcher.start(shell("sleep 60"));
    await running.ancestorPid;
    await launcher.close();
    expect(await running.end).toMatchObject({ kind: "failed" });
    const late = launcher.start(shell("echo late"));
    expect([await late.output, await late.ancestorPid]).toEqual([null, null]);
    expect(await late.end).toMatchObject({ kind: "failed", reason: expect.stringContaining("closed") });
    await launcher.close();
  });

  it("starts nothing that it was told to start just before", async () => {
    const { launcher, folder } = await openLauncher();
    const late = launcher.start(shell("sleep 60", { workingDirectory: folder }));
    await launcher.close();
    expect(await late.end).toMatchObject({ kind: "failed" });
    expect(processesOf(folder)).toEqual([]);
  });

  it("ends even if a shell hangs", async () => {
    const { launcher } = await openLauncher();
    const launched = launcher.start(shell("echo $PPID"));
    const pid = Number(await exchange(launched));
    await launched.end;
    process.kill(pid, "SIGSTOP");
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    onTestFinished(() => void vi.useRealTimers());
    const closed = launcher.close();
    await vi.advanceTimersByTimeAsync(5000);
    await closed;
    expect(isRunning(pid)).toBe(false);
  });
});

it("a shell without descriptors left reports each program that it cannot start, and starts programs again when it can", async () => {
  const { launcher } = await openLauncher();
  // Its own streams are 0 to 2.
  for (const count of [3, 4]) {
    const first = launcher.start(shell("exit 0"));
    const pid = await first.ancestorPid;
    await endOf(first);
    const limit = (soft: number) => spawnSync("prlimit", [`--pid=${pid}`, `--nofile=${soft}:`]).status;
    expect(limit(count)).toBe(0);
    const command = shell("", { inheritedFile: "/dev/null", file: "/bin/true" });
    expect((await endOf(launcher.start(command))).kind).not.toBe("signalled");
    limit(1024);
  }
  // The shell may have ended because of that, and the launcher may not know it yet.
  await expect.poll(() => exchange(launcher.start(shell("echo started")))).toBe("started\n");
});

it("keeps as many shells as renders need, however many programs have run at once, and removes what the others leave", async () => {
  const { launcher, folder } = await openLauncher();
  const programs = Array.from({ length: 12 }, () => launcher.start(shell("read line; echo $line")));
  expect(await Promise.all(programs.map((program) => exchange(program, "x\n")))).toEqual(programs.map(() => "x\n"));
  const fifos = () => readdirSync(join(folder, "launcher")).length;
  // Two of each shell.
  await expect.poll(fifos).toBe(8);
  expect(await exchange(launcher.start(shell("echo again")))).toBe("again\n");
  expect(fifos()).toBe(8);
});

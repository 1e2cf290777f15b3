/** What a compromised Typst could ask of the kernel. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { describe, expect, it, onTestFinished } from "vitest";
import { type TypstEnd, TypstProcess } from "../../../backend/compiler/process.ts";
import type { SandboxMode } from "../../../backend/sandbox/sandbox.ts";
import { removeOutputFiles } from "../../../backend/work-directory/directory-tree.ts";
import { RenderDirectory } from "../../../backend/work-directory/render-directory.ts";
import { ATTEMPT_VARIABLES, LIMITED_CALLS, PROCESSORS, REFUSED_CALLS } from "../../support/backend/system-calls.ts";
import { eachSandbox, MODES, openTestSandbox, SANDBOXES } from "../../support/backend/test-sandbox.ts";

const PERL = "/usr/bin/perl";

const EPERM = 1;
/** How many files a program may make. */
const MAX_FILES = 64;

/** The numbers of all calls of this processor, by name. */
function numbers(): Readonly<Record<string, number>> {
  const { arch } = process;
  if (arch !== "x64" && arch !== "arm64") throw new Error(`no system calls are known for ${arch}`);
  const { allowed, limited, deadly, refused } = PROCESSORS[arch];
  return { ...allowed, ...limited, ...deadly, ...refused };
}

/** A place for a program, before it runs. */
async function openStage(mode: SandboxMode) {
  const { settings, sandbox, launcher } = await openTestSandbox(mode, { SERVICE_TYPST_BIN: PERL });
  const project = await RenderDirectory.create(settings.workDirectory, true);
  const { outputDirectory } = sandbox.view(project);
  const outputPath = project.outputDirectory ?? "";

  /** Runs a Perl program as Typst is run: from standard input, in the sandbox, under the same limits. */
  async function run(program: string): Promise<{ end: TypstEnd; output: string }> {
    const command = sandbox.programCommand(project, ["-"]);
    const running = new TypstProcess({ launcher, sandbox, command, directory: project });
    const callNumbers = Object.entries(numbers()).map(([name, number]) => `${name} => ${number}`);
    const head = `$| = 1; our %number = (${callNumbers.join(", ")}); our $output = "${outputDirectory}";`;
    let output = "";
    const { end } = await running.perform({
      programText: [Buffer.from(`${head}\n${program}`)],
      over: AbortSignal.timeout(60_000),
      sink: {
        append: async (chunk) => {
          output += chunk.toString("latin1");
          return "kept";
        },
        end: async () => "kept",
      },
      pages: { maxFiles: MAX_FILES, admit: () => "kept" },
    });
    return { end, output };
  }

  return { outputDirectory: outputPath, run };
}

const LIMITED_HERE = LIMITED_CALLS.filter(({ call }) => call in numbers());
/** All calls, as what is allowed or refused with which error. */
const CALLS = [
  ...LIMITED_HERE.flatMap(({ call, allowed, refused, errno = EPERM }) => [
    ...allowed.map((attempt) => ({ call, attempt, errno, isAllowed: true })),
    ...refused.map((attempt) => ({ call, attempt, errno, isAllowed: false })),
  ]),
  ...REFUSED_CALLS.map(({ call, attempt }) => ({ call, attempt, errno: EPERM, isAllowed: false })),
];

/** One program makes all calls, one after the other. Returns what each came to: `done` or the number of its error. */
async function attemptAll(mode: SandboxMode): Promise<Record<string, string>> {
  const { run } = await openStage(mode);
  const calls = CALLS.map(({ call, attempt: [what, ...values] }) => {
    // What Perl passes as a pointer must be a variable.
    const setUp = values.map((value, index) => `my $a${index} = ${value};`).join(" ");
    const passed = values.map((_, index) => `, $a${index}`).join("");
    const made = `syscall($number{${call}}${passed})`;
    return `{ ${setUp} print "${call} ${what}: ", (${made} == -1 ? $! + 0 : "done"), "\\n" }`;
  });
  const { end, output } = await run(`${ATTEMPT_VARIABLES}\n${calls.join("\n")}`);
  expect(end).toEqual({ kind: "exited", exitCode: 0 });
  const lines = output.trim().split("\n");
  return Object.fromEntries(lines.map((line) => line.split(": ")));
}

eachSandbox(it, MODES)(
  "in %s, the system calls that Typst needs are allowed, and others only where there is no sandbox",
  async (mode) => {
    const outcomes = CALLS.map(({ call, attempt: [what], errno, isAllowed }) => {
      const isOpen = isAllowed || mode === "none";
      return [`${call} ${what}`, isOpen ? expect.not.stringMatching(`^(?:${EPERM}|${errno})$`) : String(errno)];
    });
    expect(await attemptAll(mode)).toEqual(Object.fromEntries(outcomes));
  },
);

/** A process of this user as the target. */
async function startVictim() {
  const victim = spawn("sleep", ["60"], { stdio: "ignore" });
  const ended = once(victim, "exit");
  await once(victim, "spawn");
  onTestFinished(() => void victim.kill("SIGKILL"));
  return {
    pid: victim.pid ?? 0,
    /**
     * Whether SIGKILL was sent to it so far. A process that was killed may take a moment to end, so it is sent SIGTERM
     * too: of two deadly signals, the first one is reported.
     */
    async wasKilled(): Promise<boolean> {
      victim.kill("SIGTERM");
      await ended;
      return victim.signalCode === "SIGKILL";
    },
  };
}

/** What each is about, and whether it did that. */
const ATTACKS: readonly [what: string, succeeds: (mode: SandboxMode) => Promise<boolean>][] = [
  [
    "kill another process by what happens in a directory",
    async (mode) => {
      const victim = await startVictim();
      const { run } = await openStage(mode);
      // F_SETOWN and F_SETSIG, then F_NOTIFY with DN_CREATE.
      const arm = `fcntl(D, 8, ${victim.pid}); fcntl(D, 10, 9); fcntl(D, 1026, 4);`;
      await run(`open(D, "<", $output); ${arm} open(N, ">", "$output/1"); sleep 1`);
      return victim.wasKilled();
    },
  ],
  [
    "make a socket, by which it would reach another render or the next one",
    async (mode) => {
      const { run } = await openStage(mode);
      // AF_UNIX, AF_INET, AF_NETLINK, AF_VSOCK.
      const families = "1, 2, 16, 40";
      const { output } = await run(
        `my ($s, $p) = (0, "\\0" x 8);
        for my $f (${families}) { $s++ if syscall($number{socket}, $f, 2, 0) >= 0 || syscall($number{socketpair}, $f, 1, 0, $p) == 0 }
        print "sockets: $s"`,
      );
      expect(output).toMatch(/^sockets: \d$/);
      return output !== "sockets: 0";
    },
  ],
];

describe("a program in place of Typst", () => {
  it.each(ATTACKS)("can %s without a sandbox", async (_what, succeeds) => {
    expect(await succeeds("none")).toBe(true);
  });

  eachSandbox(describe, SANDBOXES)("in %s", (mode) => {
    it("runs, so the tests here are meaningful", async () => {
      const { run } = await openStage(mode);
      const { end, output } = await run('print "it runs"; exit 3');
      expect([end, output]).toEqual([{ kind: "exited", exitCode: 3 }, "it runs"]);
    });

    it.each(ATTACKS)("cannot %s", async (_what, succeeds) => {
      expect(await succeeds(mode)).toBe(false);
    });

    it("is stopped when it makes files without end, empty ones too", async () => {
      const { outputDirectory, run } = await openStage(mode);
      const { end } = await run('for (my $n = 1; ; $n++) { open(F, ">", "$output/$n"); close(F) }');
      expect(end).toEqual({ kind: "stopped", reason: "too-many-files" });
      expect((await readdir(outputDirectory)).length).toBeGreaterThan(MAX_FILES);
      await removeOutputFiles(outputDirectory);
      expect(existsSync(outputDirectory)).toBe(false);
    });

    it.each([
      ["tkill", (pid: number) => `syscall($number{tkill}, ${pid}, 9)`],
      ["tgkill", (pid: number) => `syscall($number{tgkill}, ${pid}, ${pid}, 9)`],
    ])("is killed itself if it sends another process a signal by %s", async (_name, call) => {
      const victim = await startVictim();
      const { run } = await openStage(mode);
      const { end, output } = await run(`print "before"; ${call(victim.pid)}; print "after"`);
      expect(await victim.wasKilled()).toBe(false);
      expect([end, output]).toEqual([{ kind: "signalled", signal: "SIGSYS" }, "before"]);
    });
  });
});

/**
 * What a compromised Typst could ask of the kernel: Perl in its place, in the real sandboxes, makes the system calls.
 * Every Debian has Perl, whose `syscall` takes numbers, so nothing needs to be compiled.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { describe, expect, it, onTestFinished } from "vitest";
import type { SandboxMode } from "../../../backend/sandbox/sandbox.ts";
import { type TypstEnd, TypstProcess } from "../../../backend/typst/process.ts";
import { RenderDirectory } from "../../../backend/work-directory/render-directory.ts";
import { isRunning } from "../../support/processes.ts";
import { openTestSandbox, SANDBOXES } from "../../support/test-sandbox.ts";

const PERL = "/usr/bin/perl";

const NUMBERS = { x64: { ioctl: 16, tkill: 200, tgkill: 234 }, arm64: { ioctl: 29, tkill: 130, tgkill: 131 } };

function numbers(): (typeof NUMBERS)["x64"] {
  const { arch } = process;
  if (arch !== "x64" && arch !== "arm64") throw new Error(`no system calls are known for ${arch}`);
  return NUMBERS[arch];
}

/** Runs a Perl program as Typst is run: from standard input, in the sandbox, under the same limits. */
async function runPerl(mode: SandboxMode, program: string): Promise<{ end: TypstEnd; output: string }> {
  const { settings, sandbox, launcher } = await openTestSandbox(mode, { SERVICE_TYPST_BIN: PERL });
  const project = await RenderDirectory.create(settings.workDirectory, false);
  const command = sandbox.programCommand(project, ["-"]);
  const running = new TypstProcess(launcher, sandbox, command, settings.limits.max_output_bytes);
  const pieces: Buffer[] = [];
  const { end } = await running.perform({
    input: [Buffer.from(program)],
    timeoutMilliseconds: 20_000,
    signal: new AbortController().signal,
    output: {
      append: async (piece) => {
        pieces.push(piece);
        return "kept";
      },
    },
    files: null,
  });
  return { end, output: Buffer.concat(pieces).toString("latin1") };
}

/** A process of this user as the target. */
async function startVictim(): Promise<number> {
  const victim = spawn("sleep", ["60"], { stdio: "ignore" });
  await once(victim, "spawn");
  onTestFinished(() => void victim.kill("SIGKILL"));
  return victim.pid ?? 0;
}

const SIGNALS: [name: "tkill" | "tgkill", call: (number: number, pid: number) => string][] = [
  ["tkill", (number, pid) => `syscall(${number}, ${pid}, 9)`],
  ["tgkill", (number, pid) => `syscall(${number}, ${pid}, ${pid}, 9)`],
];

describe.each(SANDBOXES)("a program in %s", (mode) => {
  it("runs, so the tests below are meaningful", async () => {
    const { end, output } = await runPerl(mode, 'print "it runs"; exit 3');
    expect([end, output]).toEqual([{ kind: "exited", exitCode: 3 }, "it runs"]);
  });

  it.each(SIGNALS)("is killed itself if it sends another process a signal by %s", async (name, call) => {
    const victim = await startVictim();
    const { end, output } = await runPerl(
      mode,
      `$| = 1; print "before"; ${call(numbers()[name], victim)}; print "after"`,
    );
    expect(isRunning(victim)).toBe(true);
    expect([end, output]).toEqual([{ kind: "signalled", signal: "SIGSYS" }, "before"]);
  });

  it.each([
    ["list the interfaces of the host", 0x8912],
    ["count the waiting input", 0x541b],
    ["read the size of a terminal", 0x5413],
    ["insert input into a terminal", 0x5412],
    ["have signals sent to others", 0x8901],
  ])("cannot use an ioctl of its streams to %s", async (_what, request) => {
    const ask = `my $room = "\\0" x 64; my $answer = syscall(${numbers().ioctl}, $_, ${request}, $room);`;
    const { end, output } = await runPerl(mode, `for (0..2) { ${ask} print $answer, " ", $! + 0, "\\n" }`);
    expect([end, output]).toEqual([{ kind: "exited", exitCode: 0 }, "-1 1\n".repeat(3)]);
  });
});

/** Resource limits of one Typst process, set by the `ulimit` of its shell. */
import { SettingError } from "../../rules/settings.ts";
import { runProgram } from "../../typst/programs.mjs";
import { readOwnLimit, readProc } from "../processes/proc.ts";
import type { BackendSettings } from "../settings.ts";
import type { SandboxMode } from "./sandbox.ts";

/** Typst opens under 20 at once. The backend needs more, so where its own limit is lower, that will do for Typst. */
const MAX_OPEN_FILES = 256;

/** Threads and processes of this user; seccomp allows Typst only threads. The superuser is exempt. */
const MAX_PROCESSES = 1024;

const KIBIBYTE = 1024;

/** The largest stack. Typst needs a small part of the usual 8 MiB; more makes the sandbox's stack map short. */
const MAX_STACK_BYTES = 256 * KIBIBYTE ** 2;

/** Lower than the maximum if this process may not raise its own. */
export function stackBytes(limits?: string): number {
  return Math.floor(Math.min(MAX_STACK_BYTES, readOwnLimit("hard", "Max stack size", limits)) / KIBIBYTE) * KIBIBYTE;
}

type UlimitSettings = Pick<BackendSettings, "renderMemoryBytes" | "renderCpuSeconds" | "limits">;

/** Where each shell has a user namespace, with its empty network, the kernel counts the processes of that alone. */
export function maxProcessesOfUser(mode: SandboxMode, { hasEmptyNetworks }: { hasEmptyNetworks: boolean }): number {
  return mode === "bubblewrap" && !hasEmptyNetworks ? MAX_PROCESSES : Number.POSITIVE_INFINITY;
}

/** The commands for a Typst of so many threads. */
type LimitCommands = (threads: number) => readonly string[];

/** @throws SettingError if the shell cannot set all limits. */
export async function chooseResourceLimits(settings: UlimitSettings, shell = "/bin/sh"): Promise<LimitCommands> {
  const own = readProc("self/limits");
  for (const dialect of DIALECTS) {
    const limits = (threads: number) => limitsOf(settings, dialect, own, threads);
    if (await tryLimits(shell, limits(1))) return (threads) => limits(threads).flatMap(ulimitCommands);
  }
  expectRoom(settings);
  throw new SettingError(`The ulimit of ${shell} cannot limit renders. That of dash, bash or busybox can.`);
}

/** What differs between shells: the option for processes, and the size of the blocks in which file sizes are given. */
interface Dialect {
  readonly processesOption: "-p" | "-u";
  readonly fileBlockBytes: number;
}

/** dash, then bash and busybox. Older versions of bash count files in larger blocks, even as sh. */
const DIALECTS: readonly Dialect[] = [
  { processesOption: "-p", fileBlockBytes: 512 },
  { processesOption: "-u", fileBlockBytes: 512 },
  { processesOption: "-u", fileBlockBytes: 1024 },
];

interface ResourceLimit {
  /** In /proc/self/limits. */
  readonly name: string;
  readonly ulimit: string;
  /** In the units of ulimit. */
  readonly count: number;
  /** How far the hard limit is above the soft one. */
  readonly hardExtra?: number;
  readonly unit?: number;
}

/** @param own the text of /proc/self/limits: an ordinary user cannot set a limit above the hard one of this process */
function limitsOf(
  settings: UlimitSettings,
  { processesOption, fileBlockBytes }: Dialect,
  own: string,
  threads: number,
): readonly ResourceLimit[] {
  const { renderMemoryBytes, renderCpuSeconds, limits } = settings;
  const memory = Math.floor(renderMemoryBytes / KIBIBYTE);
  // At least one byte above the limit on outputs, so that a longer output is recognised.
  const fileBlocks = Math.ceil((limits.max_output_bytes + 1) / fileBlockBytes);
  const openFiles = Math.min(MAX_OPEN_FILES, readOwnLimit("hard", "Max open files", own));
  const processes = Math.min(MAX_PROCESSES, readOwnLimit("hard", "Max processes", own));
  // The kernel counts all threads together; the process counts each. If there is not even room for the setting, the start fails.
  const wanted = threads * renderCpuSeconds;
  const cpuSeconds = Math.max(renderCpuSeconds, Math.min(wanted, readOwnLimit("hard", "Max cpu time", own) - 1));
  return [
    { name: "Max address space", ulimit: "-v", count: memory, unit: KIBIBYTE },
    // The soft limit sends SIGXCPU, which names the cause. The hard limit, one second later, sends SIGKILL.
    { name: "Max cpu time", ulimit: "-t", count: cpuSeconds, hardExtra: 1 },
    { name: "Max file size", ulimit: "-f", count: fileBlocks, unit: fileBlockBytes },
    { name: "Max open files", ulimit: "-n", count: openFiles },
    { name: "Max stack size", ulimit: "-s", count: stackBytes(own) / KIBIBYTE, unit: KIBIBYTE },
    { name: "Max processes", ulimit: processesOption, count: processes },
    { name: "Max core file size", ulimit: "-c", count: 0 },
  ];
}

/** The soft and the hard limit, in the kernel's units. */
function valuesOf({ count, hardExtra = 0, unit = 1 }: ResourceLimit): readonly number[] {
  return [count * unit, (count + hardExtra) * unit];
}

function ulimitCommands({ ulimit, count, hardExtra }: ResourceLimit): readonly string[] {
  if (hardExtra === undefined) return [`ulimit ${ulimit} ${count}`];
  return [`ulimit -S ${ulimit} ${count}`, `ulimit -H ${ulimit} ${count + hardExtra}`];
}

/** @throws SettingError if a limit of this process is below what the settings promise to renders. */
function expectRoom({ renderMemoryBytes, renderCpuSeconds, limits }: UlimitSettings): void {
  for (const [name, needed, setting] of [
    ["Max address space", renderMemoryBytes, "SERVICE_RENDER_MEMORY_BYTES"],
    ["Max cpu time", renderCpuSeconds + 1, "SERVICE_RENDER_CPU_SECONDS"],
    ["Max file size", limits.max_output_bytes + 1, "SERVICE_MAX_OUTPUT_BYTES"],
  ] as const) {
    const hard = readOwnLimit("hard", name);
    if (hard >= needed) continue;
    throw new SettingError(
      `This process is limited (ulimit) to a "${name}" of ${hard}, and renders need ${needed}. Raise that, or lower ${setting}.`,
    );
  }
}

async function tryLimits(shell: string, limits: readonly ResourceLimit[]): Promise<boolean> {
  const commands = limits.flatMap(ulimitCommands);
  const script = [...commands, 'while read -r line; do echo "$line"; done </proc/self/limits'].join(" && ");
  const { stdout } = await runProgram(shell, ["-c", script], {});
  const found = new Map(
    stdout.split("\n").map((line) => {
      const [, name = "", soft, hard] = /(.+?) {2,}(\S+) +(\S+)/.exec(line) ?? [];
      return [name, `${soft} ${hard}`];
    }),
  );
  return limits.every((limit) => found.get(limit.name) === valuesOf(limit).join(" "));
}

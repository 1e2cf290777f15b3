/** Resource limits of one Typst process, set by the `ulimit` of its shell; where that cannot set all, by prlimit(1). */
import { SettingError } from "../../rules/settings.ts";
import { runProgram } from "../../typst/programs.mjs";
import { readOwnLimit } from "../processes/proc.ts";
import type { BackendSettings } from "../settings.ts";
import type { SandboxMode } from "./sandbox.ts";
import { tryProgram } from "./trial.ts";

/** Typst opens under 20 at once. The backend needs more, so where its own limit is lower, that will do for Typst. */
const MAX_OPEN_FILES = 256;

/** Threads and processes of this user; seccomp allows Typst only threads. The superuser is exempt. */
const MAX_PROCESSES = 1024;

/** Two threads that made the same gradient took 1.07 times as long each (2026-11-28). */
const SHARED_CACHES_FACTOR = 1.5;

const KIBIBYTE = 1024;

/** Of its limited memory. Typst needs a small part of the usual 8 MiB; more makes the sandbox's stack map short. */
const MAX_STACK_BYTES = 256 * KIBIBYTE ** 2;

/** Lower than the maximum if this process may not raise its own. */
export function stackBytes(limits?: string): number {
  return Math.floor(Math.min(MAX_STACK_BYTES, readOwnLimit("hard", "Max stack size", limits)) / KIBIBYTE) * KIBIBYTE;
}

export const LIMITER_NAME = "prlimit";

type UlimitSettings = Pick<BackendSettings, "renderMemoryBytes" | "renderCpuSeconds" | "limits" | "prlimitPath">;

/** Where each shell has a user namespace, with its empty network, the kernel counts the processes of that alone. */
export function maxProcessesOfUser(mode: SandboxMode, { hasEmptyNetworks }: { hasEmptyNetworks: boolean }): number {
  return mode === "bubblewrap" && !hasEmptyNetworks ? MAX_PROCESSES : Number.POSITIVE_INFINITY;
}

/** Of one program: commands of its shell, or prlimit with arguments before the program. */
export interface LimitedStart {
  readonly shellCommands: readonly string[];
  readonly prefix: readonly string[];
}

/** @returns what limits a Typst with so many threads. @throws SettingError if neither `ulimit` nor prlimit works */
export async function chooseResourceLimits(
  settings: UlimitSettings,
  shell = "/bin/sh",
): Promise<(threads: number) => LimitedStart> {
  for (const dialect of DIALECTS) {
    const limits = limitsOf(settings, dialect);
    const shellCommands = (threads: number) => limits.flatMap((limit) => ulimitCommands(limit, threads));
    if (await tryLimits(shell, shellCommands(1), limits)) {
      return (threads) => ({ shellCommands: shellCommands(threads), prefix: [] });
    }
  }
  expectRoom(settings);
  if ((await tryProgram(settings.prlimitPath, ["--version"])).kind === "missing") {
    throw new SettingError(`The ulimit of ${shell} cannot limit renders, and prlimit is missing. Install util-linux.`);
  }
  const limits = limitsOf(settings, PRLIMIT);
  return (threads) => {
    const options = limits.map((limit) => `--${limit.prlimit}=${valuesOf(limit, threads).join(":")}`);
    return { shellCommands: [], prefix: [settings.prlimitPath, ...options] };
  };
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

const PRLIMIT: Dialect = { processesOption: "-u", fileBlockBytes: 1 };

interface ResourceLimit {
  /** In /proc/self/limits. */
  readonly name: string;
  readonly prlimit: string;
  readonly ulimit: string;
  /** In the units of ulimit. */
  readonly count: number;
  /** For each thread, up to as many; at least for one. */
  readonly perThreadUpTo?: number;
  /** How far the hard limit is above the soft one. */
  readonly hardExtra?: number;
  readonly unit?: number;
}

function limitsOf(settings: UlimitSettings, { processesOption, fileBlockBytes }: Dialect): readonly ResourceLimit[] {
  const { renderMemoryBytes, renderCpuSeconds, limits } = settings;
  const memory = Math.floor(renderMemoryBytes / KIBIBYTE);
  // At least one byte above the limit on outputs, so that a longer output is recognised.
  const fileBlocks = Math.ceil((limits.max_output_bytes + 1) / fileBlockBytes);
  // An ordinary user cannot set one above the hard limit of this process.
  const openFiles = Math.min(MAX_OPEN_FILES, readOwnLimit("hard", "Max open files"));
  const processes = Math.min(MAX_PROCESSES, readOwnLimit("hard", "Max processes"));
  // The kernel counts all threads together.
  const cpuSeconds = { count: renderCpuSeconds, hardExtra: 1, perThreadUpTo: readOwnLimit("hard", "Max cpu time") - 1 };
  return [
    { name: "Max address space", prlimit: "as", ulimit: "-v", count: memory, unit: KIBIBYTE },
    // The soft limit sends SIGXCPU, which names the cause. The hard limit, one second later, sends SIGKILL.
    { name: "Max cpu time", prlimit: "cpu", ulimit: "-t", ...cpuSeconds },
    { name: "Max file size", prlimit: "fsize", ulimit: "-f", count: fileBlocks, unit: fileBlockBytes },
    { name: "Max open files", prlimit: "nofile", ulimit: "-n", count: openFiles },
    { name: "Max stack size", prlimit: "stack", ulimit: "-s", count: stackBytes() / KIBIBYTE, unit: KIBIBYTE },
    { name: "Max processes", prlimit: "nproc", ulimit: processesOption, count: processes },
    { name: "Max core file size", prlimit: "core", ulimit: "-c", count: 0 },
  ];
}

/**
 * The limit on the processor time of each thread. Threads may each make what one alone would make once and keep, but none does
 * more than that one would: what keeps to the limit alone keeps to it with several. They share caches, which takes time.
 */
export function secondsOfThread(renderCpuSeconds: number, threads: number): number {
  return threads === 1 ? renderCpuSeconds : renderCpuSeconds * SHARED_CACHES_FACTOR;
}

function softCount({ count, perThreadUpTo = count }: ResourceLimit, threads: number): number {
  return Math.max(count, Math.min(perThreadUpTo, Math.ceil(threads * secondsOfThread(count, threads))));
}

/** The soft and the hard limit, in the kernel's units. */
function valuesOf(limit: ResourceLimit, threads: number): readonly number[] {
  const { hardExtra = 0, unit = 1 } = limit;
  const soft = softCount(limit, threads);
  return [soft * unit, (soft + hardExtra) * unit];
}

function ulimitCommands(limit: ResourceLimit, threads: number): readonly string[] {
  const { ulimit, hardExtra } = limit;
  const soft = softCount(limit, threads);
  if (hardExtra === undefined) return [`ulimit ${ulimit} ${soft}`];
  return [`ulimit -S ${ulimit} ${soft}`, `ulimit -H ${ulimit} ${soft + hardExtra}`];
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

async function tryLimits(
  shell: string,
  commands: readonly string[],
  limits: readonly ResourceLimit[],
): Promise<boolean> {
  const script = [...commands, 'while read -r line; do echo "$line"; done </proc/self/limits'].join(" && ");
  const { stdout } = await runProgram(shell, ["-c", script], {});
  const found = new Map(
    stdout.split("\n").map((line) => {
      const [, name = "", soft, hard] = /(.+?) {2,}(\S+) +(\S+)/.exec(line) ?? [];
      return [name, `${soft} ${hard}`];
    }),
  );
  return limits.every((limit) => found.get(limit.name) === valuesOf(limit, 1).join(" "));
}

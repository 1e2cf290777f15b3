/**
 * What processes take of the machine: the processor time of a backend and everything that it starts, by the kernel's own
 * accounting of a control group, and the memory of the shells that start Typst.
 *
 * The times that a parent sees of its children are not enough: bubblewrap ends before its inner process is accounted for.
 */
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { processIds, readProc } from "../backend/processes/proc.ts";

/** The groups for processor time: of version 1 with the file that counts, and of version 2. */
const HIERARCHIES = [
  { root: "/sys/fs/cgroup/cpuacct", file: "cpuacct.usage", nanoseconds: /^(\d+)$/m, factor: 1e-6 },
  { root: "/sys/fs/cgroup", file: "cpu.stat", nanoseconds: /^usage_usec (\d+)$/m, factor: 1e-3 },
] as const;

export interface ProcessorTimeGroup {
  /** The processor time of all processes of the group so far. */
  milliseconds(): number;
  /** Ends the group. Its processes must have ended. */
  remove(): void;
}

/**
 * Runs `start` so that the processes it starts belong to a group of their own.
 *
 * @returns what `start` returns, and the group; null instead of it where this user cannot make one.
 */
export async function inProcessorTimeGroup<Result>(
  start: () => Promise<Result>,
): Promise<{ result: Result; group: ProcessorTimeGroup | null }> {
  const hierarchy = HIERARCHIES.find(
    ({ root, file }) => existsSync(join(root, file)) || existsSync(join(root, "cgroup.procs")),
  );
  if (hierarchy === undefined) return { result: await start(), group: null };
  const { root, file, nanoseconds, factor } = hierarchy;
  const directory = join(root, `document-rendering-bench-${process.pid}`);
  const move = (target: string) => writeFileSync(join(target, "cgroup.procs"), String(process.pid));
  try {
    mkdirSync(directory);
    move(directory);
  } catch {
    return { result: await start(), group: null };
  }
  try {
    const group: ProcessorTimeGroup = {
      milliseconds: () => Number(nanoseconds.exec(readFileSync(join(directory, file), "utf8"))?.[1]) * factor,
      remove: () => rmdirSync(directory),
    };
    return { result: await start(), group };
  } finally {
    move(root);
  }
}

/** The processor time of one process so far, without that of its children. */
export function processMilliseconds(pid: number): number {
  const stat = readProc(`${pid}/stat`);
  const [, , , , , , , , , , , user = 0, system = 0] = stat.slice(stat.lastIndexOf(")")).split(" ").map(Number);
  return (user + system) * (1000 / Number(execFileSync("getconf", ["CLK_TCK"], { encoding: "utf8" })));
}

/** The memory of a process's children that are shells; what they share counts in parts. */
export function shellBytes(parent: number): number {
  const children = processIds().filter((pid) => readProc(`${pid}/status`).includes(`\nPPid:\t${parent}\n`));
  const shells = children.filter((pid) => readProc(`${pid}/comm`) === "sh\n");
  const kibibytes = shells.map((pid) => Number(/^Pss:\s+(\d+) kB$/m.exec(readProc(`${pid}/smaps_rollup`))?.[1] ?? 0));
  return kibibytes.reduce((sum, count) => sum + count, 0) * 1024;
}

/** How much memory processes and all their descendants occupy. Memory that they share is counted once. */
import { readdir, readFile } from "node:fs/promises";

/** The children of a process. */
export async function childProcessIds(processId: number): Promise<number[]> {
  const processes = await parentsOfAll();
  return [...processes].filter(([, parent]) => parent === processId).map(([child]) => child);
}

/** The proportional set size in MiB of these processes and their descendants. */
export async function residentMebibytes(processIds: readonly number[]): Promise<number> {
  const counted = new Set(processIds);
  const processes = await parentsOfAll();
  // A parent may come after its child, because process ids are reused.
  for (let before = -1; before !== counted.size; ) {
    before = counted.size;
    for (const [child, parent] of processes) if (counted.has(parent)) counted.add(child);
  }
  const kibibytes = await Promise.all([...counted].map(proportionalKibibytes));
  return kibibytes.reduce((sum, size) => sum + size, 0) / 1024;
}

/** The parent of every process. */
async function parentsOfAll(): Promise<ReadonlyMap<number, number>> {
  const names = (await readdir("/proc")).filter((name) => /^\d+$/.test(name));
  const entries = await Promise.all(
    names.map(async (name) => {
      // The name of a program, in parentheses, may contain any characters.
      const stat = await readFile(`/proc/${name}/stat`, "utf8").catch(() => "");
      const [, parent] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
      return [Number(name), Number(parent)] as const;
    }),
  );
  return new Map(entries);
}

/** The proportional set size of one process; 0 if it has ended. */
async function proportionalKibibytes(processId: number): Promise<number> {
  const rollup = await readFile(`/proc/${processId}/smaps_rollup`, "utf8").catch(() => "");
  return Number(/^Pss:\s+(\d+) kB$/m.exec(rollup)?.[1] ?? 0);
}

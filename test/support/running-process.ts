/**
 * Whether a process runs, for processes that are not our children.
 */
import { readFileSync } from "node:fs";
import { expect } from "vitest";
import type { FakeTypst } from "./fake-typst.ts";

/** Whether a process runs. One that has ended and that nobody has asked about yet does not. */
export function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
  } catch {
    return false;
  }
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
    return !stat.slice(stat.lastIndexOf(")")).startsWith(") Z");
  } catch {
    // No /proc on this system, or the process has ended just now.
    return process.platform !== "linux";
  }
}

/** The process ids that a fake Typst has written into files of these names, once they are there. */
export async function writtenPids(typst: FakeTypst, ...names: readonly string[]): Promise<number[]> {
  const read = () => Promise.all(names.map(async (name) => Number((await typst.read(name))?.trim() || Number.NaN)));
  await expect.poll(async () => (await read()).every(Number.isInteger)).toBe(true);
  return read();
}

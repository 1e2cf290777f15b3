/**
 * Other processes: reading /proc, and killing.
 */
import { readdirSync, readFileSync } from "node:fs";

/** All process ids; none on systems without /proc. */
export function processIds(): number[] {
  try {
    return readdirSync("/proc")
      .filter((name) => /^\d+$/.test(name))
      .map(Number);
  } catch {
    return [];
  }
}

/** The text of a file in /proc, by its path below it; empty if the process has ended. */
export function readProc(path: string): string {
  try {
    return readFileSync(`/proc/${path}`, "utf8");
  } catch {
    return "";
  }
}

/** Kills a process, or a process group by its negative number. Does nothing if it has ended or belongs to another user. */
export function killIfThere(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    return;
  }
}

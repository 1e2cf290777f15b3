/** Other processes: reading /proc, and killing. */
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

/** Kills a process, or a group by its negative number. Does nothing if it has ended or belongs to another user. */
export function killIfThere(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    return;
  }
}

/**
 * Kills processes whose parent has ended: a sandbox that was killed while it was built, the program of a shell that
 * died, what a backend that crashed has left. Processes of other users are left alone.
 *
 * bubblewrap's inner process ends with it, except just after the start: if bubblewrap is killed then, the inner process
 * waits forever (seen 2026-11-22). Its command line names its render directory.
 */
export function killStrayProcesses(isStray: (argument: string) => boolean): void {
  for (const pid of processIds()) {
    if (pid !== process.pid && readProc(`${pid}/cmdline`).split("\0").some(isStray)) killIfThere(pid);
  }
}

/** Other processes: reading /proc, and killing. */
import { readdirSync, readFileSync } from "node:fs";

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

/** Kills a process, or a group by its negative number, unless it has ended or belongs to another user. */
export function killIfThere(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    return;
  }
}

/**
 * Kills what a shell that died or a backend that crashed has left, and half-built sandboxes: if bubblewrap is killed
 * just after its start, its inner process waits forever (seen 2026-11-22). Their command lines name their directory.
 */
export function killStrayProcesses(isStray: (argument: string) => boolean): void {
  for (const pid of processIds()) {
    if (pid !== process.pid && readProc(`${pid}/cmdline`).split("\0").some(isStray)) killIfThere(pid);
  }
}

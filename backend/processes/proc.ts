/** Other processes: reading /proc, and killing. */
import { readdirSync, readFileSync } from "node:fs";

/** @param path below /proc. `<pid>/task` holds the threads of a process. */
export function listPids(path = ""): number[] {
  try {
    return readdirSync(`/proc/${path}`)
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

/** A limit of this process, by its name in /proc/self/limits; infinite if there is none. */
export function readOwnLimit(kind: "soft" | "hard", name: string, limits = readProc("self/limits")): number {
  const [, soft, hard] = new RegExp(`^${name} +(\\S+) +(\\S+)`, "m").exec(limits) ?? [];
  const limit = (kind === "soft" ? soft : hard) ?? "unlimited";
  return limit === "unlimited" ? Number.POSITIVE_INFINITY : Number(limit);
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
 * just after its start, its inner process waits forever. Their command lines name their directory.
 */
export function killStrayProcesses(isStray: (argument: string) => boolean): void {
  for (const pid of listPids()) {
    if (pid !== process.pid && readProc(`${pid}/cmdline`).split("\0").some(isStray)) killIfThere(pid);
  }
}

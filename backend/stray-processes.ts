/**
 * Processes that nobody holds any more: of a spawner that was killed, or of a backend that crashed.
 *
 * bubblewrap ends with its parent, but not in the first moment: killed then, it leaves its inner process waiting for ever
 * (seen). Such a process is known by its command line, which names the project it was started for.
 */
import { readdirSync, readFileSync } from "node:fs";

/** Kills the processes that have an argument for which `isStray` holds. Others' processes are left to others. */
export function killStrayProcesses(isStray: (argument: string) => boolean): void {
  for (const pid of processIds()) {
    if (pid === process.pid || !commandLine(pid).some(isStray)) continue;
    try {
      process.kill(pid, "SIGKILL");
    } catch {
      // It has ended just now, or belongs to another user.
    }
  }
}

/** None on systems without /proc. */
function processIds(): number[] {
  try {
    return readdirSync("/proc")
      .filter((name) => /^\d+$/.test(name))
      .map(Number);
  } catch {
    return [];
  }
}

function commandLine(pid: number): string[] {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "utf8").split("\0");
  } catch {
    return [];
  }
}

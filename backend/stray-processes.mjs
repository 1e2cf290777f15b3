/**
 * Processes that nobody holds any more: of a launcher that was killed, of a spawner that died, of a backend that crashed.
 *
 * bubblewrap ends with its parent, but not in the first moment: killed then, it leaves its inner process waiting for ever
 * (seen). Such a process is known by its command line, which names the project it was started for.
 *
 * Plain JavaScript, because the spawner loads it.
 */
import { readdirSync, readFileSync } from "node:fs";

/**
 * Kills the processes that have an argument for which `isStray` holds. Others' processes are left to others.
 *
 * @param {(argument: string) => boolean} isStray
 */
export function killStrayProcesses(isStray) {
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
function processIds() {
  try {
    return readdirSync("/proc")
      .filter((name) => /^\d+$/.test(name))
      .map(Number);
  } catch {
    return [];
  }
}

/** @param {number} pid */
function commandLine(pid) {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "utf8").split("\0");
  } catch {
    return [];
  }
}

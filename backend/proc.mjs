/**
 * Other processes: reading /proc, and killing.
 *
 * Plain JavaScript, because the spawner loads it.
 */
import { readdirSync, readFileSync } from "node:fs";

/** All process ids; none on systems without /proc. */
export function processIds() {
  try {
    return readdirSync("/proc")
      .filter((name) => /^\d+$/.test(name))
      .map(Number);
  } catch {
    return [];
  }
}

/** The text of a file in /proc; empty if the process has ended. @param {string} path below /proc */
export function readProc(path) {
  try {
    return readFileSync(`/proc/${path}`, "utf8");
  } catch {
    return "";
  }
}

/**
 * Kills a process, or a process group by its negative number. Does nothing if it has ended or belongs to another user.
 *
 * @param {number} pid
 */
export function killIfThere(pid) {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    return;
  }
}

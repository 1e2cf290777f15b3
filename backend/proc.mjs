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

/** A file of /proc, empty where the process is gone. @param {string} path below /proc */
export function readProc(path) {
  try {
    return readFileSync(`/proc/${path}`, "utf8");
  } catch {
    return "";
  }
}

/**
 * Kills a process, or a process group by its negative number. Does nothing where it has ended or belongs to another user.
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

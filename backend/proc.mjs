/**
 * Other processes: what /proc says of them, and killing them.
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
 * Kills a process, or a process group by its number with a minus sign. What has ended meanwhile, or belongs to another
 * user, is left to itself.
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

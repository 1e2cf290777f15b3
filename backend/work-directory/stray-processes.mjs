/**
 * Kills processes whose parent has ended: a launcher that was killed, a spawner that died, a backend that crashed.
 *
 * bubblewrap's inner process ends with it, except just after the start: if bubblewrap is killed then, the inner process waits
 * for ever (seen). Its command line names its render directory.
 *
 * Plain JavaScript, because the spawner loads it.
 */
import { killIfThere, processIds, readProc } from "../proc.mjs";

/**
 * Kills the processes that have an argument for which `isStray` returns true. Processes of other users are left alone.
 *
 * @param {(argument: string) => boolean} isStray
 */
export function killStrayProcesses(isStray) {
  for (const pid of processIds()) {
    if (pid !== process.pid && readProc(`${pid}/cmdline`).split("\0").some(isStray)) killIfThere(pid);
  }
}

/**
 * Processes that have lost their parent: a launcher that was killed, a spawner that died, a backend that crashed.
 *
 * bubblewrap ends its inner process with itself, but not in the first moment: killed then, it leaves a process that waits
 * for ever (seen). Its command line names the render directory that it was started for.
 *
 * Plain JavaScript, because the spawner loads it.
 */
import { killIfThere, processIds, readProc } from "../proc.mjs";

/**
 * Kills the processes that have an argument for which `isStray` holds. Processes of other users are left alone.
 *
 * @param {(argument: string) => boolean} isStray
 */
export function killStrayProcesses(isStray) {
  for (const pid of processIds()) {
    if (pid !== process.pid && readProc(`${pid}/cmdline`).split("\0").some(isStray)) killIfThere(pid);
  }
}

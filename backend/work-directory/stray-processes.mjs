/**
 * Processes that nobody holds any more: of a launcher that was killed, of a spawner that died, of a backend that crashed.
 *
 * bubblewrap ends with its parent, but not in the first moment: killed then, it leaves its inner process waiting for ever
 * (seen). Such a process is known by its command line, which names the project it was started for.
 *
 * Plain JavaScript, because the spawner loads it.
 */
import { killIfThere, processIds, readProc } from "../proc.mjs";

/**
 * Kills the processes that have an argument for which `isStray` holds. Others' processes are left to others.
 *
 * @param {(argument: string) => boolean} isStray
 */
export function killStrayProcesses(isStray) {
  for (const pid of processIds()) {
    if (pid !== process.pid && readProc(`${pid}/cmdline`).split("\0").some(isStray)) killIfThere(pid);
  }
}

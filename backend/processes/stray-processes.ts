/**
 * Kills processes whose parent has ended: a sandbox that was killed while it was built, the program of a shell that died, what
 * a backend that crashed has left.
 *
 * bubblewrap's inner process ends with it, except just after the start: if bubblewrap is killed then, the inner process waits
 * forever (observed). Its command line names its render directory.
 */
import { killIfThere, processIds, readProc } from "./proc.ts";

/** Kills the processes that have an argument for which `isStray` returns true. Processes of other users are left alone. */
export function killStrayProcesses(isStray: (argument: string) => boolean): void {
  for (const pid of processIds()) {
    if (pid !== process.pid && readProc(`${pid}/cmdline`).split("\0").some(isStray)) killIfThere(pid);
  }
}

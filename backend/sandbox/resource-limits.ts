/**
 * Resource limits of one Typst process, set by prlimit(1) before anything else of it runs.
 */
import type { BackendSettings } from "../settings.ts";

/** What Typst has open at once: its streams, and the files of the render one after the other. Measured: under 20. */
const MAX_OPEN_FILES = 256;

/** Threads and processes of this user; seccomp leaves Typst threads only. The superuser is exempt from this limit. */
const MAX_PROCESSES = 1024;

/** How prlimit begins its complaints. */
export const LIMITER_NAME = "prlimit";

/** prlimit and its arguments; the command to run under the limits follows them. */
export function resourceLimitCommand(settings: BackendSettings): readonly string[] {
  const { renderMemoryBytes, renderCpuSeconds, limits } = settings;
  return [
    settings.prlimitPath,
    `--as=${renderMemoryBytes}`,
    // The soft limit sends SIGXCPU, which says what happened; only the hard one, a second later, kills.
    `--cpu=${renderCpuSeconds}:${renderCpuSeconds + 1}`,
    // One byte more than is allowed: a file of exactly the limit is right, and one that is over it is known to be.
    `--fsize=${limits.max_output_bytes + 1}`,
    `--nofile=${MAX_OPEN_FILES}`,
    `--nproc=${MAX_PROCESSES}`,
    "--core=0",
  ];
}

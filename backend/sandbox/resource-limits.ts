/**
 * Resource limits of one Typst process. prlimit(1) sets them before anything else runs.
 */
import type { BackendSettings } from "../settings.ts";

/** Typst has its streams open, and the files of the render one at a time: under 20 (measured). */
const MAX_OPEN_FILES = 256;

/** Threads and processes of this user; seccomp allows Typst only threads. The superuser is exempt from this limit. */
const MAX_PROCESSES = 1024;

/** How prlimit's error messages begin. */
export const LIMITER_NAME = "prlimit";

/** prlimit and its arguments; the command to run under the limits follows them. */
export function resourceLimitCommand(settings: BackendSettings): readonly string[] {
  const { renderMemoryBytes, renderCpuSeconds, limits } = settings;
  return [
    settings.prlimitPath,
    `--as=${renderMemoryBytes}`,
    // The soft limit sends SIGXCPU, which names the cause. The hard limit, one second later, sends SIGKILL.
    `--cpu=${renderCpuSeconds}:${renderCpuSeconds + 1}`,
    // One byte more than allowed, so that a file of exactly the limit passes and a longer one is cut at limit + 1, where it
    // is recognised.
    `--fsize=${limits.max_output_bytes + 1}`,
    `--nofile=${MAX_OPEN_FILES}`,
    `--nproc=${MAX_PROCESSES}`,
    "--core=0",
  ];
}

/**
 * How all sandboxes interpret the end of a program: whether a launcher (prlimit, bwrap, setpriv) failed before Typst ran,
 * and how Typst ended.
 */
import type { ProgramEnd } from "../launcher/program.ts";
import type { SandboxedEnd } from "./sandbox.ts";

/** The exit codes of launchers and of the dynamic loader for a program that cannot be run. Typst exits with 0, 1 or 2. */
const LAUNCH_FAILURE_EXIT_CODES: readonly number[] = [126, 127];

/**
 * Whether Typst never ran.
 *
 * @param launchers the names with which the launchers' error messages begin. Typst's begin differently.
 */
function hasFailedToLaunch(end: ProgramEnd, launchers: readonly string[]): boolean {
  if (end.kind !== "exited") return end.kind === "failed";
  if (LAUNCH_FAILURE_EXIT_CODES.includes(end.exitCode)) return true;
  return launchers.some((name) => end.diagnostics.startsWith(`${name}: `));
}

/** The end of Typst. The launchers replace themselves with it, or end as it does. */
export function endOfTypst(end: ProgramEnd, launchers: readonly string[]): SandboxedEnd {
  if (end.kind === "failed" || hasFailedToLaunch(end, launchers)) return sandboxFailed(end);
  return end.kind === "exited" ? { kind: "exited", exitCode: end.exitCode } : { kind: "signalled", signal: end.signal };
}

/** The reason contains no output of the program. */
function sandboxFailed(end: ProgramEnd): SandboxedEnd {
  switch (end.kind) {
    case "failed":
      return { kind: "sandbox-failed", reason: end.reason };
    case "exited":
      return { kind: "sandbox-failed", reason: `exit code ${end.exitCode}` };
    case "signalled":
      return { kind: "sandbox-failed", reason: `signal ${end.signal}` };
  }
}

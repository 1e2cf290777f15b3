/**
 * Trying out a machine on which a sandbox does not start: its programs on their own, and what the kernel says. No data of
 * a caller is involved. The `*-obstacle.ts` file of each sandbox explains what is found.
 */
import { execa } from "execa";
import { readProc } from "../proc.mjs";
import type { BackendSettings } from "../settings.ts";

/** How a program of the sandbox went when it was tried on its own. */
export type Trial =
  | { readonly kind: "works" }
  | { readonly kind: "missing" }
  /** The first line that it wrote to standard error. */
  | { readonly kind: "fails"; readonly complaint: string };

/** What every sandbox depends on. */
export interface MachineFacts {
  readonly isSuperuser: boolean;
  readonly prlimit: Trial;
  /** Whether a filter of system calls binds this process already, as a container's does. */
  readonly isFiltered: boolean;
}

const TRIAL_TIMEOUT_MILLISECONDS = 10_000;
/** Long enough for every complaint of the programs; a stack of warnings is cut. */
const MAX_COMPLAINT_LENGTH = 300;

export const PRLIMIT_MISSING = "prlimit is missing. Install util-linux.";

export async function findMachineFacts({ prlimitPath }: BackendSettings): Promise<MachineFacts> {
  return {
    isSuperuser: process.getuid?.() === 0,
    prlimit: await tryProgram(prlimitPath, ["--version"]),
    isFiltered: /^Seccomp:\t2$/m.test(readProc("self/status")),
  };
}

export async function tryProgram(program: string, options: readonly string[]): Promise<Trial> {
  const { exitCode, code, stderr } = await run(program, options);
  if (exitCode === 0) return { kind: "works" };
  if (code === "ENOENT") return { kind: "missing" };
  const complaint = (stderr ?? "").trim().split("\n")[0] ?? "";
  return { kind: "fails", complaint: complaint.slice(0, MAX_COMPLAINT_LENGTH) || `exit code ${exitCode ?? code}` };
}

/** What a program writes to standard output; empty if it does not run. */
export async function outputOf(program: string, option: string): Promise<string> {
  return (await run(program, [option])).stdout ?? "";
}

/** Runs a program without an environment but for the language of its complaints. */
function run(program: string, options: readonly string[]) {
  return execa(program, options, {
    env: { LC_ALL: "C" },
    extendEnv: false,
    stdin: "ignore",
    reject: false,
    timeout: TRIAL_TIMEOUT_MILLISECONDS,
  });
}

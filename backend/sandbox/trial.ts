/** Runs a sandbox's programs by themselves, to find out why it does not start. Its `*-obstacle.ts` explains that. */
import { runProgram } from "../../typst/programs.mjs";
import { readProc } from "../processes/proc.ts";

export type Trial =
  | { readonly kind: "works" }
  | { readonly kind: "missing" }
  | { readonly kind: "fails"; readonly complaint: string };

/** Enough for every error message of these programs. */
const MAX_COMPLAINT_LENGTH = 300;

export interface MachineFacts {
  readonly isSuperuser: boolean;
  /** By a filter of system calls, such as a container's. */
  readonly isFiltered: boolean;
}

export function findMachineFacts(): MachineFacts {
  return {
    isSuperuser: process.getuid?.() === 0,
    isFiltered: /^Seccomp:\t2$/m.test(readProc("self/status")),
  };
}

export async function tryProgram(program: string, options: readonly string[]): Promise<Trial> {
  const { error, stderr } = await runInEnglish(program, options);
  if (error === null) return { kind: "works" };
  if (error.code === "ENOENT") return { kind: "missing" };
  const complaint = stderr.trim().split("\n")[0] ?? "";
  return { kind: "fails", complaint: complaint.slice(0, MAX_COMPLAINT_LENGTH) || `exit code ${error.code}` };
}

export async function askProgram(program: string, option: string): Promise<string> {
  return (await runInEnglish(program, [option])).stdout;
}

function runInEnglish(program: string, options: readonly string[]) {
  return runProgram(program, options, { LC_ALL: "C" });
}

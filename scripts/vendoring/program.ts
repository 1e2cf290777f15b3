/** What `npm run packages` and `npm run fonts` have in common: how they report, and how they fail. */
import { Command } from "@commander-js/extra-typings";
import { PackageFolderError } from "../../backend/compiler/vendored-packages.ts";
import { SetUpError } from "../set-up/report.mjs";
import { VendoringError } from "./folder-change.ts";

/** Errors whose message is for the operator. Any other is a bug. */
const EXPECTED_ERRORS = [VendoringError, PackageFolderError, SetUpError];

/** A program that is named after what is in its folder: each of its commands works on that, or on one that is named. */
export function defineProgram(name: "fonts" | "packages", description: string, folder: string) {
  const program = new Command(name).description(description);
  return {
    defineCommand: (command: string, purpose: string) =>
      program.command(command).description(purpose).option("--to <folder>", `the folder of ${name}`, folder),
    runCommandLine: () => runCommandLine(program),
  };
}

/** An expected error ends the process with one line and exit code 1. */
async function runCommandLine(program: Command): Promise<void> {
  try {
    await program.parseAsync();
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    // A disk that is full or read-only, a folder of somebody else, two names that the file system takes for one.
    const isOfFiles = "syscall" in error;
    if (!isOfFiles && !EXPECTED_ERRORS.some((kind) => error instanceof kind)) throw error;
    process.stderr.write(`${isOfFiles ? "The files cannot be written: " : ""}${error.message}\n`);
    process.exitCode = 1;
  }
}

/** Reports how a folder differs from its lock file. A difference makes the exit code 1. */
export function reportVerification(problems: readonly string[], success: string): void {
  for (const problem of problems) process.stderr.write(`${problem}\n`);
  if (problems.length > 0) process.exitCode = 1;
  else say(success);
}

export function say(line: string): void {
  process.stdout.write(`${line}\n`);
}

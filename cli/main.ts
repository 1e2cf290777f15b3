#!/usr/bin/env node
/**
 * `document-rendering`: the command line client of the service (docs/command-line.md).
 */
import { Command, CommanderError } from "@commander-js/extra-typings";
import { addCheckCommand } from "./commands/check.ts";
import { addCompletionCommand } from "./commands/completion.ts";
import { addConstraintsCommand } from "./commands/constraints.ts";
import { addDoctorCommand } from "./commands/doctor.ts";
import { addInitCommand } from "./commands/init.ts";
import { addManifestCommand } from "./commands/manifest.ts";
import { addRenderCommand } from "./commands/render.ts";
import { addSchemaCommand } from "./commands/schema.ts";
import { addTestCommand } from "./commands/test.ts";
import { addTypesCommand } from "./commands/types.ts";
import { addVectorsCommand } from "./commands/vectors.ts";
import { CommandError, EXIT_CODES } from "./exit-codes.ts";
import { failedOutcome, writeJson } from "./report.ts";
import { printable, say } from "./terminal.ts";
import { VERSION } from "./version.ts";

const interruption = new AbortController();
process.once("SIGINT", () => interruption.abort());
process.once("SIGTERM", () => interruption.abort());
// Whatever reads our output may stop early: `| head` is not a failure.
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  if (error.code !== "EPIPE") throw error;
});

const program = new Command("document-rendering")
  .description("Renders Typst documents with a document rendering service, and checks them first.")
  .version(VERSION)
  .showHelpAfterError("Run it with --help to see the commands and options.")
  .showSuggestionAfterError()
  .configureOutput({ writeErr: (text) => process.stderr.write(printable(text)) })
  .exitOverride();
addRenderCommand(program, interruption.signal);
addCheckCommand(program, interruption.signal);
addTestCommand(program, interruption.signal);
addInitCommand(program);
addConstraintsCommand(program, interruption.signal);
addVectorsCommand(program, interruption.signal);
addDoctorCommand(program, interruption.signal);
addManifestCommand(program);
addSchemaCommand(program);
addTypesCommand(program);
addCompletionCommand(program);

try {
  await program.parseAsync();
} catch (error) {
  process.exitCode = report(error);
}

/** Reports an error. @returns the exit code */
function report(error: unknown): number {
  if (interruption.signal.aborted) {
    process.stderr.write("Interrupted.\n");
    return EXIT_CODES.interrupted;
  }
  // Commander has already reported it.
  if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT_CODES.success : EXIT_CODES.usage;
  if (error instanceof CommandError) {
    if (process.argv.includes("--json")) writeJson(failedOutcome(error));
    else say(error.message);
    return error.exitCode;
  }
  say(String(error instanceof Error ? error.stack : error));
  return EXIT_CODES.failure;
}

#!/usr/bin/env node
/**
 * `document-rendering`: the command line client of the service (docs/command-line.md).
 */
import { Command, CommanderError } from "@commander-js/extra-typings";
import { CommandError, EXIT_CODES } from "./exit-codes.ts";
import { interruption } from "./interruption.ts";
import { failedOutcome, writeJson } from "./report.ts";
import { printable, say } from "./terminal.ts";
import { VERSION } from "./version.ts";

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

/**
 * How each command is added. Its code is loaded only when it is used, because a command needs only a small part of the
 * program.
 */
const COMMANDS = new Map<string, () => Promise<void>>([
  ["render", async () => (await import("./commands/render.ts")).addRenderCommand(program, interruption)],
  ["check", async () => (await import("./commands/check.ts")).addCheckCommand(program, interruption)],
  ["test", async () => (await import("./commands/test.ts")).addTestCommand(program, interruption)],
  ["init", async () => (await import("./commands/init.ts")).addInitCommand(program)],
  ["constraints", async () => (await import("./commands/constraints.ts")).addConstraintsCommand(program, interruption)],
  ["doctor", async () => (await import("./commands/doctor.ts")).addDoctorCommand(program, interruption)],
  ["schema", async () => (await import("./commands/schema.ts")).addSchemaCommand(program)],
]);

try {
  const [, , first = ""] = process.argv;
  const asked = COMMANDS.get(first);
  if (asked !== undefined) {
    await asked();
  } else if (first !== "--version") {
    // All commands are needed for the list of commands, for suggestions after a misspelt one, and for completion.
    for (const add of COMMANDS.values()) await add();
    (await import("./commands/completion.ts")).addCompletionCommand(program);
  }
  await program.parseAsync();
} catch (error) {
  process.exitCode = report(error);
}

function report(error: unknown): number {
  if (interruption.aborted) {
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

/** The commands of `document-rendering`, and what the user reads when one of them fails. */
import { Command, CommanderError } from "@commander-js/extra-typings";
import "../template/node-parser.ts";
import { explainTypstOptions } from "./commands/typst-options.ts";
import { CommandError, EXIT_CODES } from "./exit-codes.ts";
import { interruption } from "./interruption.ts";
import { failedOutcome, writeJson } from "./report.ts";
import { printable, say } from "./terminal.ts";
import { VERSION } from "./version.ts";

/** The code of a command is loaded only when it is used. */
const COMMANDS = new Map<string, (program: Command) => Promise<void>>([
  ["render", async (program) => (await import("./commands/render.ts")).addRenderCommand(program, interruption)],
  ["check", async (program) => (await import("./commands/check.ts")).addCheckCommand(program, interruption)],
  ["test", async (program) => (await import("./commands/test.ts")).addTestCommand(program, interruption)],
  ["init", async (program) => (await import("./commands/init.ts")).addInitCommand(program)],
  [
    "constraints",
    async (program) => (await import("./commands/constraints.ts")).addConstraintsCommand(program, interruption),
  ],
  ["doctor", async (program) => (await import("./commands/doctor.ts")).addDoctorCommand(program, interruption)],
  ["schema", async (program) => (await import("./commands/schema.ts")).addSchemaCommand(program)],
]);

/** The program with all of its commands: for its list of commands, and for the table of options in the documentation. */
export async function programWithAllCommands(): Promise<Command> {
  const program = emptyProgram();
  for (const add of COMMANDS.values()) await add(program);
  return program;
}

function emptyProgram(): Command {
  return new Command("document-rendering")
    .description("Renders Typst documents with a document rendering service, and checks them first.")
    .version(VERSION)
    .showHelpAfterError("Run it with --help to see the commands and options.")
    .showSuggestionAfterError()
    .configureOutput({ writeErr: (text) => process.stderr.write(printable(text)) })
    .exitOverride();
}

export async function runProgram(args: readonly string[]): Promise<void> {
  try {
    explainTypstOptions(args);
    const program = await programFor(args);
    await program.parseAsync(args, { from: "user" });
  } catch (error) {
    process.exitCode = report(error, args);
  }
}

async function programFor([first = ""]: readonly string[]): Promise<Command> {
  const add = COMMANDS.get(first);
  // All commands are needed for the list of commands, and for suggestions after a misspelt one.
  if (add === undefined && first !== "--version") return programWithAllCommands();
  const program = emptyProgram();
  await add?.(program);
  return program;
}

function report(error: unknown, args: readonly string[]): number {
  if (interruption.aborted) {
    process.stderr.write("Interrupted.\n");
    return EXIT_CODES.interrupted;
  }
  // Commander has already reported it.
  if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT_CODES.success : EXIT_CODES.usage;
  if (error instanceof CommandError) {
    if (args.includes("--json")) writeJson(failedOutcome(error));
    else say(error.message);
    return error.exitCode;
  }
  say(String(error instanceof Error ? error.stack : error));
  return EXIT_CODES.failure;
}

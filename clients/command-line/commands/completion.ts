/**
 * `completion`: a script that completes commands, options and their values in a shell. The script asks this program, so
 * it stays valid when options change.
 */
import { readdirSync } from "node:fs";
import { dirname, join } from "node:path";
import tab from "@bomb.sh/tab/commander";
import { Command } from "commander";

/** Options and arguments whose value is a path, by their names. */
const PATHS = new Set([
  "source",
  "folder",
  "output",
  "data",
  "files",
  "each",
  "token-file",
  "backend-token-file",
  "metrics-token-file",
  "typst",
  "font-path",
  "package-path",
  "report",
  "junit",
]);

/** @param program with all other commands; the typed `Command` of the extras is commander's own at run time */
export function addCompletionCommand(program: object): void {
  if (!(program instanceof Command)) throw new TypeError("the program is not a commander Command");
  const completion = tab(program, { completionCommandName: "completion" });
  for (const command of completion.commands.values()) {
    for (const [name, option] of command.options) if (PATHS.has(name)) option.handler = completePaths;
    for (const [name, argument] of command.arguments) if (PATHS.has(name)) argument.handler = completePaths;
  }
}

/** The library turns off the shell's own completion of file names everywhere, so paths are completed here. */
function completePaths(complete: (value: string, description: string) => void): void {
  const word = process.argv.at(-1) ?? "";
  const folder = word.endsWith("/") ? word : dirname(word);
  const prefix = word.startsWith("./") ? "./" : "";
  for (const entry of entriesOf(folder === "" ? "." : folder)) {
    if (entry.name.startsWith(".") && !word.split("/").at(-1)?.startsWith(".")) continue;
    const path = folder === "." ? `${prefix}${entry.name}` : join(folder, entry.name);
    complete(entry.isDirectory() ? `${path}/` : path, "");
  }
}

function entriesOf(folder: string) {
  try {
    return readdirSync(folder, { withFileTypes: true });
  } catch {
    return [];
  }
}

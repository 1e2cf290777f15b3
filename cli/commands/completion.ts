/**
 * `completion`: a script that completes commands, options and their values in a shell. The script asks this program, so it
 * need not be made again when options change.
 */
import tab from "@bomb.sh/tab/commander";
import { Command } from "commander";

/** @param program with all other commands; a `Command` of commander, whose typed extras are another type only */
export function addCompletionCommand(program: object): void {
  if (!(program instanceof Command)) throw new TypeError("the program is no command of commander");
  tab(program, { completionCommandName: "completion" });
}

/**
 * `completion`: a script that completes commands, options and their values in a shell. The script asks this program, so it
 * need not be made again when options change.
 */
import tab from "@bomb.sh/tab/commander";
import type { Command } from "@commander-js/extra-typings";

/** To be called when all other commands are there. */
export function addCompletionCommand(program: Command): void {
  tab(program, { completionCommandName: "completion" });
}

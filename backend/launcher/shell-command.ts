/** Commands in the shell's language. Their words are quoted, whatever they contain. */
import { INHERITED_DESCRIPTOR, type ProgramCommand } from "./program.ts";

export function startLine(command: ProgramCommand): string {
  const { workingDirectory, limitCommands, environment, inheritedFile, file } = command;
  const preparation = [
    ...limitCommands,
    // Shells export these by themselves.
    "unset PWD OLDPWD SHLVL",
    ...Object.entries(environment).map(([name, value]) => `export ${name}=${quote(value)}`),
    ...(inheritedFile === null ? [] : [`exec ${INHERITED_DESCRIPTOR}<${quote(inheritedFile)}`]),
  ];
  return shellCommand("start", workingDirectory, preparation.join(" && "), file, ...command.arguments);
}

/** A text as one word, whatever it contains but NUL, which nothing in a command line can contain. */
function quote(text: string): string {
  if (text.includes("\0")) throw new TypeError("a command line cannot contain NUL");
  return `'${text.replaceAll("'", "'\\''")}'`;
}

/** A simple command. The first word may be a function of the shell. */
export function shellCommand(...words: readonly string[]): string {
  return words.map(quote).join(" ");
}

/** What the command prints, made safe: file names, data and answers may hold what a terminal would obey. */

/** Control characters except tabs and newlines, and those that change the direction of text. */
const OBEYED = /(?![\t\n])[\p{Cc}\p{Bidi_Control}]/gu;
const NEW_LINE_OR_TAB = /[\t\n]/g;

/** Each character that a terminal would act on becomes `\uXXXX`, valid in JSON too. */
export function printable(text: string): string {
  return text.replace(OBEYED, escapeCharacter);
}

/** The same for text that belongs on one line, such as the name of a file. */
export function printableLine(text: string): string {
  return printable(text).replace(NEW_LINE_OR_TAB, escapeCharacter);
}

function escapeCharacter(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
}

export function say(text: string): void {
  process.stderr.write(`${printable(text)}\n`);
}

/** A command for the user to copy into a shell, begun as this one was: `npx` finds what is not on `PATH`. */
export function commandToCopy(args: readonly string[], platform: NodeJS.Platform = process.platform): string {
  const program = process.env.npm_command === "exec" ? ["npx", "document-rendering"] : ["document-rendering"];
  const quote = platform === "win32" ? quotedForWindows : quotedForShell;
  return printableLine([...program, ...args.map(quote)].join(" "));
}

function quotedForShell(part: string): string {
  return /^[\w./:=@%+-]+$/.test(part) ? part : `'${part.replaceAll("'", "'\\''")}'`;
}

/** For cmd.exe and PowerShell alike, which share no way to quote what either replaces in double quotes. */
function quotedForWindows(part: string): string {
  return /^[\w./:=+\\-]+$/.test(part) ? part : `"${part.replaceAll('"', '\\"')}"`;
}

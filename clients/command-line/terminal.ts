/**
 * What the command prints for people: progress, which appears only if standard error is a terminal, questions, and text
 * that is safe to print.
 */
import { createInterface } from "node:readline/promises";

export { sizeInWords } from "../typescript/size-in-words.ts";

/** A line at the bottom of the terminal that says what is being done. */
export interface Progress {
  say(text: string): void;
  /** Writes a line above the progress, even if there is no terminal. */
  log(text: string): void;
  stop(): void;
}

/** For terminals that do not tell their width. */
const DEFAULT_COLUMNS = 80;
const CLEAR_LINE = "\r\u001b[K";

/** Progress on standard error, if that is a terminal. */
export function startProgress(text: string): Progress {
  const isTerminal = process.stderr.isTTY === true;
  let shown = "";
  const draw = (next: string) => {
    if (!isTerminal || next === shown) return;
    shown = next;
    // One line only: of a longer one, the terminal would clear only the last part.
    const columns = process.stderr.columns || DEFAULT_COLUMNS;
    process.stderr.write(`${CLEAR_LINE}${printableLine(next).slice(0, columns - 1)}`);
  };
  draw(text);
  return {
    say: draw,
    log: (line) => {
      const again = shown;
      draw("");
      say(line);
      draw(again);
    },
    stop: () => draw(""),
  };
}

const BAR_CELLS = 24;

/** A bar of blocks, such as `██████░░░░░░  12 of 200`. */
export function progressBar(done: number, total: number): string {
  const filled = total === 0 ? BAR_CELLS : Math.floor((done / total) * BAR_CELLS);
  return `${"█".repeat(filled)}${"░".repeat(BAR_CELLS - filled)} ${done} of ${total}`;
}

/** Asks on the terminal; false if there is no terminal, or the input ends without an answer. */
export async function confirm(question: string): Promise<boolean> {
  if (!process.stdin.isTTY || !process.stderr.isTTY) return false;
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  // Without this, the promise of a question that Ctrl+C or Ctrl+D ends would never settle.
  const ended = new AbortController();
  terminal.once("SIGINT", () => ended.abort());
  terminal.once("close", () => ended.abort());
  try {
    const answer = await terminal.question(`${printableLine(question)} [Y/n] `, { signal: ended.signal });
    return /^(y|yes)?$/i.test(answer.trim());
  } catch {
    process.stderr.write("\n");
    return false;
  } finally {
    terminal.close();
  }
}

/**
 * Characters that a terminal would act on, except tabs and newlines: control characters, and those that change the
 * direction of text.
 */
const OBEYED = /(?![\t\n])[\p{Cc}\p{Bidi_Control}]/gu;
const NEW_LINE_OR_TAB = /[\t\n]/g;

/**
 * Makes text written by others safe to print: each character that a terminal would act on becomes `\uXXXX`, valid in
 * JSON too.
 */
export function printable(text: string): string {
  return text.replace(OBEYED, escaped);
}

/** The same for text that belongs on one line, such as the name of a file. */
export function printableLine(text: string): string {
  return printable(text).replace(NEW_LINE_OR_TAB, escaped);
}

function escaped(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
}

/** Writes a line for people to standard error. */
export function say(text: string): void {
  process.stderr.write(`${printable(text)}\n`);
}

/**
 * A command line of this program for the user to copy into a shell, begun as this one was: `npx` finds what is not on
 * `PATH`.
 */
export function commandToCopy(args: readonly string[]): string {
  const program = process.env.npm_command === "exec" ? ["npx", "document-rendering"] : ["document-rendering"];
  const quoted = args.map((part) => (/^[\w./:=@%+-]+$/.test(part) ? part : `'${part.replaceAll("'", "'\\''")}'`));
  return printableLine([...program, ...quoted].join(" "));
}

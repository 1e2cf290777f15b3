/**
 * What the command says while it works: progress on a terminal, and nothing where standard error is a file or a pipe.
 */
import { createInterface } from "node:readline/promises";
import ora, { type Ora } from "ora";

/** A line at the bottom of the terminal that says what is being done. */
export interface Progress {
  say(text: string): void;
  /** Writes a line above the progress; without a terminal as well. */
  log(text: string): void;
  stop(): void;
}

/** Progress on standard error, where that is a terminal. */
export function startProgress(text: string): Progress {
  const isTerminal = process.stderr.isTTY === true;
  const spinner: Ora | null = isTerminal
    ? ora({ text, stream: process.stderr, discardStdin: false, hideCursor: false }).start()
    : null;
  return {
    say: (next) => {
      if (spinner !== null) spinner.text = next;
    },
    log: (line) => {
      spinner?.clear();
      process.stderr.write(`${line}\n`);
    },
    stop: () => spinner?.stop(),
  };
}

const BAR_CELLS = 24;

/** A bar of blocks, such as `██████░░░░░░  12 of 200`. */
export function progressBar(done: number, total: number): string {
  const filled = total === 0 ? BAR_CELLS : Math.floor((done / total) * BAR_CELLS);
  return `${"█".repeat(filled)}${"░".repeat(BAR_CELLS - filled)} ${done} of ${total}`;
}

/** Asks on the terminal; false where nobody is there to answer. */
export async function confirm(question: string): Promise<boolean> {
  if (!process.stdin.isTTY || !process.stderr.isTTY) return false;
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  try {
    const answer = await terminal.question(`${question} [Y/n] `);
    return /^(y|yes)?$/i.test(answer.trim());
  } finally {
    terminal.close();
  }
}

/** A size for people. */
export function sizeInWords(bytes: number): string {
  if (bytes < 1024) return `${bytes} bytes`;
  return bytes < 1024 ** 2 ? `${(bytes / 1024).toFixed(1)} KiB` : `${(bytes / 1024 ** 2).toFixed(1)} MiB`;
}

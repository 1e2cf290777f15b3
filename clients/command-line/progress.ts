/** The line at the bottom of the terminal that says what is being done, if standard error is one. */
import { printableLine, say } from "./terminal.ts";

export interface Progress {
  say(text: string): void;
  /** Writes a line above the progress, even if there is no terminal. */
  log(text: string): void;
  stop(): void;
}

/** For terminals that do not tell their width. */
const DEFAULT_COLUMNS = 80;
const CLEAR_LINE = "\r\u001b[K";

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

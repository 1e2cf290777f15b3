/**
 * The peak memory of a render's Typst. The kernel reports the final figure only to the parent of a process, and
 * bubblewrap does not pass it on. So it is read from /proc: at the first byte of the output, when Typst has done most of
 * its work, and every few milliseconds in longer renders.
 */
import { readProc } from "../processes/proc.ts";

const INTERVAL_MILLISECONDS = 50;
/** More than the programs between the shell that starts it and Typst in any sandbox. */
const MAX_LAUNCH_DEPTH = 8;
/** The kernel truncates the names of processes to this length. */
const MAX_NAME_LENGTH = 15;

export class PeakMemory {
  readonly #name: string;
  /** Of the program that was started; once it is known, of Typst. */
  #pid: number | null = null;
  #bytes: number | null = null;
  readonly #timer: NodeJS.Timeout;

  /** @param typstName what the kernel calls the process of Typst. The memory of launchers is not counted. */
  constructor(pid: Promise<number | null>, typstName: string) {
    this.#name = typstName.slice(0, MAX_NAME_LENGTH);
    this.#timer = setInterval(() => this.look(), INTERVAL_MILLISECONDS);
    void pid.then((known) => {
      this.#pid = known;
    });
  }

  /** Bytes of resident memory; null if none could be read: in very short renders, and on systems without /proc. */
  get bytes(): number | null {
    return this.#bytes;
  }

  /** Reading /proc does not wait for a disk: 20 µs per file (measured 2026-11-21). */
  look(): void {
    if (this.#pid === null) return;
    this.#pid = lastDescendant(this.#pid);
    const status = readProc(`${this.#pid}/status`);
    if (/^Name:\t(.*)$/m.exec(status)?.[1] !== this.#name) return;
    const kibibytes = /^VmHWM:\s+(\d+) kB$/m.exec(status)?.[1];
    if (kibibytes !== undefined) this.#bytes = Number(kibibytes) * 1024;
  }

  stop(): void {
    clearInterval(this.#timer);
  }
}

/** The last process in the chain of first children: the sandbox's programs have one child each, and Typst has none. */
function lastDescendant(pid: number): number {
  let last = pid;
  for (let depth = 0; depth < MAX_LAUNCH_DEPTH; depth++) {
    const child = /^\d+/.exec(readProc(`${last}/task/${last}/children`))?.[0];
    if (child === undefined) break;
    last = Number(child);
  }
  return last;
}

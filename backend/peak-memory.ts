/**
 * The most memory that a render's process has had, read from /proc while it runs.
 *
 * The kernel's own last word on it, the resource usage of a process that has ended, goes to the parent, and bubblewrap
 * does not pass it on. So what is known is the high-water mark at the last look: with a look every 20 ms and one at the
 * first byte of the output, when Typst has done its work, little is missed of a render that takes long.
 */
import { readFileSync } from "node:fs";

const LOOK_MILLISECONDS = 20;
/** Longer than any chain of programs that ends in Typst; the rest would be no launch of ours. */
const MAX_LAUNCH_DEPTH = 8;

export class PeakMemory {
  #pid: number | null = null;
  #bytes: number | null = null;
  readonly #timer = setInterval(() => this.look(), LOOK_MILLISECONDS);

  /** @param pid of the program that was started: Typst, or what starts it; null where nothing was. */
  constructor(pid: Promise<number | null>) {
    void pid.then((known) => {
      this.#pid = known;
    });
  }

  /** Bytes of resident memory; null where none could be read, as on systems without /proc. */
  get bytes(): number | null {
    return this.#bytes;
  }

  /** Looks once. Reading /proc does not wait for a disk: 20 microseconds a file (measured). */
  look(): void {
    if (this.#pid === null) return;
    this.#pid = lastDescendant(this.#pid);
    const kibibytes = /^VmHWM:\s+(\d+) kB$/m.exec(readProc(`${this.#pid}/status`))?.[1];
    if (kibibytes !== undefined) this.#bytes = Math.max(this.#bytes ?? 0, Number(kibibytes) * 1024);
  }

  stop(): void {
    clearInterval(this.#timer);
  }
}

/** The end of the chain of first children: the sandbox's programs have one child, and Typst has none. */
function lastDescendant(pid: number): number {
  let last = pid;
  for (let depth = 0; depth < MAX_LAUNCH_DEPTH; depth++) {
    const child = /^\d+/.exec(readProc(`${last}/task/${last}/children`))?.[0];
    if (child === undefined) break;
    last = Number(child);
  }
  return last;
}

/** A file of /proc, empty where the process is gone. */
function readProc(path: string): string {
  try {
    return readFileSync(`/proc/${path}`, "latin1");
  } catch {
    return "";
  }
}

/**
 * Typst processes that are started before their request comes. Making the sandbox, starting the process and finding the
 * fonts take longer than many a compile, and need nothing of a request but its command line. So after a render, a
 * process with the same command line is started for the next one.
 */
import type { RenderCommand } from "../../typst/command-line.ts";
import type { PreparedRender, TypstSupervisor } from "./supervisor.ts";

/**
 * The next process takes a core for some 10 ms: time for the answer to leave. Started while Typst compiled, it made a
 * single render a fifth slower on two cores (measured 2026-11-21).
 */
const START_DELAY_MILLISECONDS = 3;

/**
 * While renders run, a waiting process is replaced by one with another command line at most once in this many renders.
 * Where requests have more command lines than the pool has room for, most would otherwise be started in vain (with ten:
 * 62 renders per second instead of 101, measured 2026-11-21).
 */
const RENDERS_PER_REPLACEMENT = 8;

interface WaitingProcess {
  readonly key: string;
  readonly hasFonts: boolean;
  readonly prepared: Promise<PreparedRender>;
}

type Supervisor = Pick<TypstSupervisor, "start" | "discard">;

export class WarmPool {
  readonly #supervisor: Supervisor;
  readonly #maxWaiting: number;
  readonly #slots: number;
  readonly #running: () => number;
  readonly #waiting: WaitingProcess[] = [];
  readonly #discarding = new Set<Promise<void>>();
  #isClosed = false;
  #takes = 0;
  #rendersSinceReplacement = 0;

  /**
   * @param maxWaiting 0 turns warm starts off.
   * @param slots if all are taken, a process waits without its fonts: finding them ahead saves no work then, it adds to
   *   that of a small document (96 against 90 renders per second, measured 2026-11-21).
   */
  constructor(supervisor: Supervisor, maxWaiting: number, slots: number, running: () => number) {
    this.#slots = slots;
    this.#running = running;
    this.#supervisor = supervisor;
    this.#maxWaiting = maxWaiting;
  }

  get waiting(): number {
    return this.#waiting.length;
  }

  get takes(): number {
    return this.#takes;
  }

  /** Takes a process with the same command line out of the pool; null if there is none. Never rejects. */
  async take(command: RenderCommand): Promise<PreparedRender | null> {
    const key = commandKey(command);
    for (;;) {
      const index = this.#waiting.findIndex((candidate) => candidate.key === key);
      const [found] = index < 0 ? [] : this.#waiting.splice(index, 1);
      if (found === undefined) return null;
      const prepared = await found.prepared.catch(() => null);
      if (prepared !== null && !prepared.process.hasEnded) {
        this.#takes++;
        return prepared;
      }
      // It could not be started, or has ended while it waited.
      this.#discard(found);
    }
  }

  /** Starts a process for the next such request, in a moment, if there is room or the oldest process gives way. */
  prepareNext(command: RenderCommand): void {
    if (this.#maxWaiting === 0) return;
    setTimeout(() => {
      if (this.#isClosed) return;
      const key = commandKey(command);
      const running = this.#running();
      this.#rendersSinceReplacement++;
      const [oldest] = this.#waiting;
      const isFull = this.#waiting.length >= this.#maxWaiting;
      if (isFull && oldest !== undefined && !this.#givesWay(oldest, key, running)) return;
      const hasFonts = running < this.#slots;
      const prepared = this.#supervisor.start(command, hasFonts ? "ahead" : "now");
      const waiting = { key, hasFonts, prepared };
      this.#waiting.push(waiting);
      void prepared
        .then(({ process }) => process.ended)
        // One that could not be started waits no more either.
        .catch(() => {})
        .then(() => this.#remove(waiting));
      this.#discardOldest(this.#waiting.length - this.#maxWaiting);
    }, START_DELAY_MILLISECONDS);
  }

  /**
   * Whether the oldest process is discarded, with its shell, for one with the command line `key`. If no render runs,
   * nobody misses the time. One that would do as well gives way only if it waits without its fonts: under load,
   * requests that find no process start their own, so more are prepared than taken, which took 0.6 ms per render
   * (measured 2026-11-22).
   */
  #givesWay(oldest: WaitingProcess, key: string, running: number): boolean {
    const isLikeIt = oldest.key === key;
    if (running === 0) return !(isLikeIt && oldest.hasFonts);
    if (isLikeIt || running >= this.#slots || this.#rendersSinceReplacement < RENDERS_PER_REPLACEMENT) return false;
    this.#rendersSinceReplacement = 0;
    return true;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#discardOldest(this.#waiting.length);
    await Promise.all(this.#discarding);
  }

  /** Discards a process that has ended, unless it serves a request or has been discarded. */
  #remove(ended: WaitingProcess): void {
    const index = this.#waiting.indexOf(ended);
    if (index < 0) return;
    this.#waiting.splice(index, 1);
    this.#discard(ended);
  }

  #discardOldest(count: number): void {
    for (const waiting of this.#waiting.splice(0, Math.max(0, count))) this.#discard(waiting);
  }

  #discard({ prepared }: WaitingProcess): void {
    const discarding = prepared
      .then(
        (render) => this.#supervisor.discard(render),
        // A process that could not be started has left nothing behind.
        () => {},
      )
      .finally(() => this.#discarding.delete(discarding));
    this.#discarding.add(discarding);
  }
}

/** Equal for commands with the same command line, which does not contain the suggested file name. */
function commandKey({ output, bringsFonts }: RenderCommand): string {
  return JSON.stringify({ ...output, filename: null, bringsFonts });
}

/** Typst processes that are started, after a render, for the next request with the same command line. */
import type { RenderCommand } from "../../typst/command-line.ts";
import type { PreparedRender, TypstSupervisor } from "./supervisor.ts";

/** Time for the answer to leave: the next process takes a core for some 10 ms (measured 2026-11-21). */
const START_DELAY_MILLISECONDS = 3;

/**
 * While renders run, a waiting process is replaced by one with another command line at most once in this many renders:
 * where there are more command lines than the pool has room for, most would be started in vain (with ten: 62 renders
 * per second instead of 101, measured 2026-11-21).
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
  readonly #queue: Readonly<{ running: number }>;
  readonly #waiting: WaitingProcess[] = [];
  readonly #discarding = new Set<Promise<void>>();
  #isClosed = false;
  #takes = 0;
  #rendersSinceReplacement = 0;

  /**
   * @param maxWaiting 0 turns warm starts off
   * @param slots if all are taken, a process waits without its fonts: finding them ahead saves no work then (96 against
   *   90 renders of a small document per second, measured 2026-11-21)
   */
  constructor(supervisor: Supervisor, maxWaiting: number, slots: number, queue: Readonly<{ running: number }>) {
    this.#slots = slots;
    this.#queue = queue;
    this.#supervisor = supervisor;
    this.#maxWaiting = maxWaiting;
  }

  get waiting(): number {
    return this.#waiting.length;
  }

  get takes(): number {
    return this.#takes;
  }

  /** Null if no process with the same command line waits. Never rejects. */
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

  /** In a moment, starts a process for the next such request, if there is room or the oldest process gives way. */
  prepareNext(command: RenderCommand): void {
    if (this.#maxWaiting === 0) return;
    setTimeout(() => {
      if (this.#isClosed) return;
      const key = commandKey(command);
      const { running } = this.#queue;
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
        .catch(() => {})
        .then(() => this.#remove(waiting));
      this.#discardOldest(this.#waiting.length - this.#maxWaiting);
    }, START_DELAY_MILLISECONDS);
  }

  /**
   * Whether the oldest process is discarded, with its shell, for one with the command line `key`. If no render runs,
   * nobody misses the time. One like it gives way only if it waits without its fonts: under load, more are prepared
   * than taken (0.6 ms per render, measured 2026-11-22).
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
    // A process that could not be started has left nothing behind.
    const discarding = prepared
      .then((render) => this.#supervisor.discard(render))
      .catch(() => {})
      .finally(() => this.#discarding.delete(discarding));
    this.#discarding.add(discarding);
  }
}

/** Equal for commands with the same command line, which does not contain the suggested file name. */
function commandKey({ output, bringsFonts }: RenderCommand): string {
  return JSON.stringify({ ...output, filename: null, bringsFonts });
}

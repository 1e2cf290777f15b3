/** Typst processes that are started, after a render, for the next request with the same command line. */
import { isArchive } from "../../rules/output-options.ts";
import type { RenderCommand } from "../../typst/command-line.ts";
import type { TypstProcess } from "./process.ts";
import type { RenderThreads } from "./render-threads.ts";
import type { TypstSupervisor } from "./supervisor.ts";

/** Time for the answer to leave: the next process takes a core for some 10 ms. */
const START_DELAY_MILLISECONDS = 3;

/**
 * While renders run, a waiting process is replaced by one with another command line at most once in this many renders:
 * where there are more command lines than the pool has room for, most would be started in vain (with ten: 62 renders
 * per second instead of 101).
 */
const RENDERS_PER_REPLACEMENT = 8;

interface WaitingProcess {
  readonly key: string;
  readonly hasFonts: boolean;
  readonly threads: number;
  readonly process: Promise<TypstProcess>;
}

export interface WarmPoolOptions {
  readonly supervisor: Pick<TypstSupervisor, "start" | "discard">;
  readonly threads: Pick<RenderThreads, "forOutput">;
  /** 0 turns warm starts off. */
  readonly maxWaiting: number;
  /**
   * If all are taken, a process waits without its fonts: finding them ahead saves no work then (96 against 90 renders of
   * a small document per second).
   */
  readonly slots: number;
  readonly queue: Readonly<{ running: number }>;
}

export class WarmPool {
  readonly #options: WarmPoolOptions;
  readonly #waiting: WaitingProcess[] = [];
  readonly #discarding = new Set<Promise<void>>();
  #isClosed = false;
  #takes = 0;
  #rendersSinceReplacement = 0;

  constructor(options: WarmPoolOptions) {
    this.#options = options;
  }

  get waiting(): number {
    return this.#waiting.length;
  }

  get takes(): number {
    return this.#takes;
  }

  /** A process for a render that has its slot: one that waits, if it is right for it, or a new one. */
  async take(command: RenderCommand): Promise<{ readonly process: TypstProcess; readonly hasWaited: boolean }> {
    const { supervisor, threads: threadsOf } = this.#options;
    const threads = threadsOf.forOutput(command.output);
    for (;;) {
      const found = this.#choose(command, threads);
      if (found === undefined) return { process: await supervisor.start(command, "now", threads), hasWaited: false };
      this.#waiting.splice(this.#waiting.indexOf(found), 1);
      const process = await found.process.catch(() => null);
      if (process !== null && !process.hasEnded) {
        this.#takes++;
        return { process, hasWaited: true };
      }
      // This process could not be started, or has ended while it waited.
      this.#discard(found);
    }
  }

  /** An archive takes no process with fewer threads: starting another costs less than rendering its pages on fewer cores. */
  #choose(command: RenderCommand, threads: number): WaitingProcess | undefined {
    const key = commandKey(command);
    const like = this.#waiting.filter((candidate) => candidate.key === key);
    const right = like.find((candidate) => candidate.threads === threads);
    return right ?? like.find((candidate) => candidate.threads > threads || !isArchive(command.output));
  }

  /** In a moment, starts a process for the next such request, if there is room or the oldest process gives way. */
  prepareNext(command: RenderCommand): void {
    const { supervisor, threads: threadsOf, maxWaiting, slots, queue } = this.#options;
    if (maxWaiting === 0) return;
    setTimeout(() => {
      if (this.#isClosed) return;
      const key = commandKey(command);
      const threads = threadsOf.forOutput(command.output);
      this.#rendersSinceReplacement++;
      const [oldest] = this.#waiting;
      const isFull = this.#waiting.length >= maxWaiting;
      if (isFull && oldest !== undefined && !this.#givesWay(oldest, { key, threads })) return;
      const hasFonts = queue.running < slots;
      const process = supervisor.start(command, hasFonts ? "ahead" : "now", threads);
      const waiting = { key, hasFonts, threads, process };
      this.#waiting.push(waiting);
      void process
        .then(({ ended }) => ended)
        .catch(() => {})
        .then(() => this.#remove(waiting));
      this.#discardOldest(this.#waiting.length - maxWaiting);
    }, START_DELAY_MILLISECONDS);
  }

  /**
   * Whether the oldest process is discarded, with its shell, for the next one. If no render runs, nobody misses the time.
   * One like it gives way only if it waits without its fonts, or with fewer threads: under load, more are prepared than
   * taken (0.6 ms per render).
   */
  #givesWay(oldest: WaitingProcess, next: Pick<WaitingProcess, "key" | "threads">): boolean {
    const { queue, slots } = this.#options;
    const isLikeIt = oldest.key === next.key;
    if (queue.running === 0) return !(isLikeIt && oldest.hasFonts && oldest.threads >= next.threads);
    if (isLikeIt || queue.running >= slots || this.#rendersSinceReplacement < RENDERS_PER_REPLACEMENT) return false;
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

  #discard({ process }: WaitingProcess): void {
    // A process that could not be started has left nothing behind.
    const discarding = process
      .then((started) => this.#options.supervisor.discard(started))
      .catch(() => {})
      .finally(() => this.#discarding.delete(discarding));
    this.#discarding.add(discarding);
  }
}

/** Equal for commands with the same command line, which does not contain the suggested file name. */
function commandKey({ output, fontCount }: RenderCommand): string {
  return JSON.stringify({ ...output, filename: null, fontCount });
}

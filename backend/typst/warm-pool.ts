/**
 * Typst processes that are started before their request comes, kept by command line.
 *
 * Creating the sandbox, starting the process and finding the fonts take longer than many a compile, and need nothing of a
 * request but its command line. So after a render, a process with the same command line is started for the next one:
 *
 *     prepareNext ──> waiting ──take──────────> serves one request
 *                        └────no room, close──> discarded
 */
import { setTimeout as delay } from "node:timers/promises";
import type { RenderCommand } from "./command-line.ts";
import type { RenderStarter, StartedRender } from "./render-starter.ts";

/**
 * Between the end of a render and the start of the next process, which takes a core for some 10 ms: time for the answer to
 * leave. Started while Typst compiled, the next process made a single render a fifth slower on two cores (measured).
 */
const START_DELAY_MILLISECONDS = 3;

interface WaitingRender {
  /** Equal for commands with the same command line. */
  readonly key: string;
  readonly started: Promise<StartedRender>;
}

export class WarmPool {
  readonly #starter: RenderStarter;
  readonly #maxWaiting: number;
  /** The oldest first. */
  readonly #waiting: WaitingRender[] = [];
  readonly #discarding = new Set<Promise<void>>();
  #isClosed = false;
  #takes = 0;

  /** @param maxWaiting processes that may wait at once; 0 turns warm starts off. */
  constructor(starter: RenderStarter, maxWaiting: number) {
    this.#starter = starter;
    this.#maxWaiting = maxWaiting;
  }

  /** Processes that wait for a request now. */
  get waiting(): number {
    return this.#waiting.length;
  }

  /** Requests that have found a process waiting so far. */
  get takes(): number {
    return this.#takes;
  }

  /** Takes a process that waits for such a command out of the pool; null where there is none. Never rejects. */
  async take(command: RenderCommand): Promise<StartedRender | null> {
    const key = commandKey(command);
    for (;;) {
      const index = this.#waiting.findIndex((candidate) => candidate.key === key);
      const [found] = index < 0 ? [] : this.#waiting.splice(index, 1);
      if (found === undefined) return null;
      const started = await found.started.catch(() => null);
      if (started !== null && !started.process.hasEnded) {
        this.#takes++;
        return started;
      }
      // It could not be started, or has ended while it waited.
      this.#discard(found);
    }
  }

  /** Starts a process for the next request with such a command, in a moment. Without room, the one that has waited longest goes. */
  prepareNext(command: RenderCommand): void {
    if (this.#maxWaiting > 0) void delay(START_DELAY_MILLISECONDS).then(() => this.#startAhead(command));
  }

  #startAhead(command: RenderCommand): void {
    if (this.#isClosed) return;
    const started = this.#starter.startAhead(command);
    // `take` finds out about a failure; until then it must not count as an unhandled rejection.
    started.catch(() => {});
    this.#waiting.push({ key: commandKey(command), started });
    this.#discardOldest(this.#waiting.length - this.#maxWaiting);
  }

  /** Ends all processes that wait, and waits until they and their directories are gone. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#discardOldest(this.#waiting.length);
    await Promise.all(this.#discarding);
  }

  #discardOldest(count: number): void {
    for (const waiting of this.#waiting.splice(0, Math.max(0, count))) this.#discard(waiting);
  }

  #discard({ started }: WaitingRender): void {
    const discarding = started
      .then(
        (render) => this.#starter.discard(render),
        // What could not be started has left nothing.
        () => {},
      )
      .finally(() => this.#discarding.delete(discarding));
    this.#discarding.add(discarding);
  }
}

/** All of a command counts but the suggested file name, which is no part of a command line. */
function commandKey({ output, bringsFonts }: RenderCommand): string {
  return JSON.stringify({ ...output, filename: null, bringsFonts });
}

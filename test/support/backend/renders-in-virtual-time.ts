/**
 * A render queue on a clock that stands still until a test lets time pass, with renders that end after a given time, or
 * when the test says so.
 */
import { setImmediate as nextTurn } from "node:timers/promises";
import { RenderQueue, type RenderQueueOptions, type SteadyClock } from "../../../backend/admission/render-queue.ts";

/** How long a render takes to stop when its slot is withdrawn. */
export const STOP_SECONDS = 0.05;

/** What happened to one request. Times are in seconds since the beginning. */
export interface AskedRender {
  readonly caller: string;
  readonly askedAt: number;
  admittedAt: number | null;
  endedAt: number | null;
  refusedAt: number | null;
  retryAfterSeconds: number | null;
  refusalCause: string | null;
  /** Whether its slot may be withdrawn, or has been. */
  isLent: boolean;
  hasLeft: boolean;
}

export interface AskOptions {
  /** How long the render takes; without it, until `end`. */
  readonly renderSeconds?: number;
  readonly timeBudgetSeconds?: number;
  /** When the client disconnects, if the request still waits then. */
  readonly leavesAfterSeconds?: number;
}

export class RendersInVirtualTime {
  readonly queue: RenderQueue;
  readonly asked: AskedRender[] = [];
  /** The renders in the order in which they got their slots. */
  readonly admitted: AskedRender[] = [];
  readonly #time = new VirtualTime();
  readonly #ends: { readonly caller: string; readonly end: () => void }[] = [];

  constructor(options: Omit<RenderQueueOptions, "clock">) {
    this.queue = new RenderQueue({ ...options, clock: this.#time });
  }

  get now(): number {
    return (this.#time.now() - BEGAN) / 1000;
  }

  ask(caller: string, { renderSeconds, timeBudgetSeconds, leavesAfterSeconds }: AskOptions = {}): AskedRender {
    const asked: AskedRender = {
      caller,
      askedAt: this.now,
      admittedAt: null,
      endedAt: null,
      refusedAt: null,
      retryAfterSeconds: null,
      refusalCause: null,
      isLent: false,
      hasLeft: false,
    };
    this.asked.push(asked);
    const leaving = new AbortController();
    if (leavesAfterSeconds !== undefined) this.#time.after(leavesAfterSeconds * 1000, () => leaving.abort());
    const work = (withdrawn: AbortSignal | null) => {
      asked.admittedAt = this.now;
      asked.isLent = withdrawn !== null;
      this.admitted.push(asked);
      const { promise, resolve } = Promise.withResolvers<"rendered" | null>();
      if (renderSeconds === undefined) this.#ends.push({ caller, end: () => resolve("rendered") });
      else this.#time.after(renderSeconds * 1000, () => resolve("rendered"));
      withdrawn?.addEventListener("abort", () => this.#time.after(STOP_SECONDS * 1000, () => resolve(null)));
      return promise;
    };
    const deadline = timeBudgetSeconds === undefined ? {} : { deadlineMilliseconds: timeBudgetSeconds * 1000 };
    void this.queue.run({ caller, signal: leaving.signal, ...deadline }, work).then((admission) => {
      switch (admission.kind) {
        case "left":
          asked.hasLeft = true;
          break;
        case "full":
          asked.refusedAt = this.now;
          asked.retryAfterSeconds = admission.retryAfterSeconds;
          asked.refusalCause = admission.cause;
          break;
        case "done":
          asked.endedAt = this.now;
          break;
      }
    });
    return asked;
  }

  askAt(seconds: number, caller: string, options: AskOptions): void {
    this.#time.after((seconds - this.now) * 1000, () => this.ask(caller, options));
  }

  /** Ends the oldest render of a caller that has no length, and waits until its slot is given away. */
  async end(caller: string): Promise<void> {
    const index = this.#ends.findIndex((candidate) => candidate.caller === caller);
    if (index < 0) throw new Error(`${caller} runs nothing`);
    this.#ends.splice(index, 1)[0]?.end();
    await this.pass(0);
  }

  pass(seconds: number): Promise<void> {
    return this.#time.pass(seconds * 1000);
  }

  running(caller: string): number {
    return this.admitted.filter(
      (render) => render.caller === caller && render.endedAt === null && render.refusedAt === null,
    ).length;
  }
}

const BEGAN = 1_000_000;

/** It jumps to what is due next: minutes pass in milliseconds, in the same order in every run. */
class VirtualTime implements SteadyClock {
  #now = BEGAN;
  /** The earliest first, and of those at the same time the one that was planned first. */
  readonly #planned: { readonly at: number; readonly run: () => void }[] = [];

  now(): number {
    return this.#now;
  }

  after(milliseconds: number, run: () => void): () => void {
    const due = { at: this.#now + Math.max(0, milliseconds), run };
    const place = this.#planned.findLastIndex(({ at }) => at <= due.at) + 1;
    this.#planned.splice(place, 0, due);
    return () => {
      const index = this.#planned.indexOf(due);
      if (index >= 0) this.#planned.splice(index, 1);
    };
  }

  /** Lets everything happen that is planned until then, and what that plans; after each, what it resolves is handled. */
  async pass(milliseconds: number): Promise<void> {
    const end = this.#now + milliseconds;
    do {
      const isDue = (this.#planned[0]?.at ?? Number.POSITIVE_INFINITY) <= end;
      const due = isDue ? this.#planned.shift() : undefined;
      this.#now = due?.at ?? end;
      due?.run();
      // Runs once no promise is left to be handled.
      await nextTurn();
    } while ((this.#planned[0]?.at ?? Number.POSITIVE_INFINITY) <= end || this.#now < end);
  }
}

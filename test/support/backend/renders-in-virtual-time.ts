/**
 * A render queue on a clock that stands still until a test lets time pass, with renders that end after a given time, or
 * when the test says so.
 */
import { RenderQueue, type RenderQueueOptions } from "../../../backend/admission/render-queue.ts";
import { VirtualTime } from "./virtual-time.ts";

const MAX_EVENTS = 100_000;
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
  /** How many slots were free when it was refused. */
  freeSlotsAtRefusal: number;
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
  readonly #slots: number;
  readonly #time = new VirtualTime();
  readonly #began = this.#time.now;
  readonly #ends: { readonly caller: string; readonly end: () => void }[] = [];

  constructor(options: Omit<RenderQueueOptions, "clock">) {
    this.#slots = options.slots;
    const clock = {
      now: () => this.#time.now,
      after: (milliseconds: number, callback: () => void) => this.#time.after(milliseconds, callback),
    };
    this.queue = new RenderQueue({ ...options, clock });
  }

  get now(): number {
    return (this.#time.now - this.#began) / 1000;
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
      freeSlotsAtRefusal: 0,
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
          asked.freeSlotsAtRefusal = this.#slots - this.queue.running;
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

  async pass(seconds: number): Promise<void> {
    let isOver = false;
    this.#time.after(seconds * 1000, () => {
      isOver = true;
    });
    const events = await this.#time.run(() => !isOver, MAX_EVENTS);
    if (events >= MAX_EVENTS) throw new Error("time does not end");
  }

  running(caller: string): number {
    return this.admitted.filter(
      (render) => render.caller === caller && render.endedAt === null && render.refusedAt === null,
    ).length;
  }
}

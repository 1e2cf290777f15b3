/** The time of one render: the clock by which it waits, how long it may go on, and how long each of its phases took. */
import type { TimeoutCause } from "../../rules/causes.ts";
import { type Problem, renderQueueFull, renderTimeout } from "../../rules/problem.ts";
import type { SteadyClock } from "../admission/render-queue.ts";
import type { BackendSettings } from "../settings.ts";
import { CLIENT_GONE, type RenderFailure, refuse } from "./outcome.ts";

export const STEADY_CLOCK: SteadyClock = {
  now: () => performance.now(),
  after: (milliseconds, callback) => {
    const timer = setTimeout(callback, milliseconds);
    return () => clearTimeout(timer);
  },
};

/** For writing the files of a request: usually milliseconds, but not for thousands of folders on a busy disk. */
export const MAX_FILL_SECONDS = 15;

/** `Retry-After` of a render that had less than the render timeout: the next attempt may have all of it. */
const SHORT_TIME_RETRY_SECONDS = 1;

/** A render goes on until its client has gone or its time is used up. One timer tells all who work for it. */
export class TimeLimit {
  readonly #settings: BackendSettings;
  readonly #clientGone: AbortSignal;
  /** The render timeout, or what the edge left of it: then the document is not to blame. */
  readonly #grantedSeconds: number;
  readonly #deadline: number;
  readonly #controller = new AbortController();
  readonly #stop = () => this.#controller.abort();
  readonly #timer: NodeJS.Timeout;

  constructor(settings: BackendSettings, clientGone: AbortSignal, grantedSeconds = settings.renderTimeoutSeconds) {
    this.#settings = settings;
    this.#clientGone = clientGone;
    this.#grantedSeconds = grantedSeconds;
    this.#deadline = performance.now() + grantedSeconds * 1000;
    this.#timer = setTimeout(this.#stop, grantedSeconds * 1000).unref();
    clientGone.addEventListener("abort", this.#stop, { once: true });
    if (clientGone.aborted) this.#stop();
  }

  get over(): AbortSignal {
    return this.#controller.signal;
  }

  /** By the clock as well: long work may keep the timer from firing. */
  get isOver(): boolean {
    return this.over.aborted || performance.now() >= this.#deadline;
  }

  /** The render has ended, and nobody asks for its time. */
  end(): void {
    clearTimeout(this.#timer);
    this.#clientGone.removeEventListener("abort", this.#stop);
  }

  /** Within `MAX_FILL_SECONDS`. @returns why not all files are written: the template would fail without them. */
  async limitFill(fill: (over: AbortSignal) => Promise<Problem | null>): Promise<RenderFailure | null> {
    const controller = new AbortController();
    const stop = () => controller.abort();
    const deadline = performance.now() + MAX_FILL_SECONDS * 1000;
    const timer = setTimeout(stop, MAX_FILL_SECONDS * 1000);
    this.over.addEventListener("abort", stop, { once: true });
    if (this.isOver) stop();
    try {
      const problem = await fill(controller.signal);
      if (problem !== null) return refuse(problem);
      if (this.isOver) return this.failure();
      // By the clock as well: the last files may have kept the timer from firing.
      const isLate = controller.signal.aborted || performance.now() >= deadline;
      return isLate ? this.failure("writing_files") : null;
    } finally {
      clearTimeout(timer);
      this.over.removeEventListener("abort", stop);
    }
  }

  /** @returns whether the work has ended before the time was used up */
  endsInTime(work: Promise<unknown>): Promise<boolean> {
    const { over } = this;
    return new Promise((resolve) => {
      const giveUp = () => resolve(false);
      over.addEventListener("abort", giveUp, { once: true });
      if (over.aborted) giveUp();
      void work.finally(() => over.removeEventListener("abort", giveUp)).then(() => resolve(true));
    });
  }

  failure(cause: TimeoutCause = "wall_clock"): RenderFailure {
    if (this.#clientGone.aborted) return CLIENT_GONE;
    const { renderTimeoutSeconds, renderCpuSeconds } = this.#settings;
    if (cause === "wall_clock" && this.#grantedSeconds < renderTimeoutSeconds) {
      return refuse(renderQueueFull("time_budget", SHORT_TIME_RETRY_SECONDS));
    }
    const limits = {
      wall_clock: renderTimeoutSeconds,
      processor_time: renderCpuSeconds,
      writing_files: MAX_FILL_SECONDS,
    };
    return refuse(renderTimeout(cause, limits[cause], renderTimeoutSeconds));
  }
}

export type RequestPhase = "receive" | "queue" | "start" | "files" | "compile" | "archive" | "probe" | "delivery";

export interface PhaseRun {
  readonly phase: RequestPhase;
  /** By `performance.now()`. */
  readonly startMilliseconds: number;
  readonly milliseconds: number;
}

export type PhaseSeconds = Readonly<Partial<Record<RequestPhase, number>>>;

export function phaseSeconds(runs: readonly PhaseRun[]): PhaseSeconds {
  const seconds: Partial<Record<RequestPhase, number>> = {};
  for (const { phase, milliseconds } of runs) seconds[phase] = (seconds[phase] ?? 0) + milliseconds / 1000;
  return seconds;
}

export class PhaseTimer {
  readonly runs: PhaseRun[] = [];

  async time<Result>(phase: RequestPhase, work: () => Promise<Result>): Promise<Result> {
    const started = performance.now();
    try {
      return await work();
    } finally {
      this.runs.push({ phase, startMilliseconds: started, milliseconds: performance.now() - started });
    }
  }
}

/** The time of one render: the clock by which it waits, how long it may go on, and how long each of its phases took. */
import type { TimeoutCause } from "../../rules/causes.ts";
import type { Problem } from "../../rules/problem.ts";
import type { SteadyClock } from "../admission/render-queue.ts";
import type { BackendSettings } from "../settings.ts";
import { CLIENT_GONE, failByTimeout, MAX_FILL_SECONDS, type RenderFailure, refuse } from "./outcome.ts";

export const STEADY_CLOCK: SteadyClock = {
  now: () => performance.now(),
  after: (milliseconds, callback) => {
    const timer = setTimeout(callback, milliseconds);
    return () => clearTimeout(timer);
  },
};

/** A render goes on until its client has gone or its time is used up. */
export class TimeLimit {
  readonly clientGone: AbortSignal;
  readonly #settings: BackendSettings;
  readonly grantedSeconds: number;
  readonly #deadline: number;
  #over: AbortSignal | null = null;

  constructor(settings: BackendSettings, clientGone: AbortSignal, grantedSeconds = settings.renderTimeoutSeconds) {
    this.#settings = settings;
    this.grantedSeconds = grantedSeconds;
    this.#deadline = performance.now() + grantedSeconds * 1000;
    this.clientGone = clientGone;
  }

  /** Made on demand: to abort it later takes 0.1 ms. */
  get over(): AbortSignal {
    this.#over ??= AbortSignal.any([this.clientGone, AbortSignal.timeout(Math.ceil(this.millisecondsLeft))]);
    return this.#over;
  }

  get isUsedUp(): boolean {
    return performance.now() >= this.#deadline;
  }

  /** What is left of the granted time; at least 1. */
  get millisecondsLeft(): number {
    return Math.max(1, this.#deadline - performance.now());
  }

  /** Within `MAX_FILL_SECONDS`. @returns why not all files are written: the template would fail without them. */
  async limitFill(fill: (over: AbortSignal) => Promise<Problem | null>): Promise<RenderFailure | null> {
    const controller = new AbortController();
    const stop = () => controller.abort();
    const fillMilliseconds = MAX_FILL_SECONDS * 1000;
    const { millisecondsLeft } = this;
    const limitMilliseconds = Math.min(millisecondsLeft, fillMilliseconds);
    const deadline = performance.now() + limitMilliseconds;
    const timer = setTimeout(stop, limitMilliseconds);
    this.clientGone.addEventListener("abort", stop, { once: true });
    if (this.clientGone.aborted) stop();
    try {
      const problem = await fill(controller.signal);
      if (problem !== null) return refuse(problem);
      // By the clock as well: the last files may have kept the timer from firing.
      if (!controller.signal.aborted && performance.now() < deadline) return null;
      return this.failure(millisecondsLeft < fillMilliseconds ? "wall_clock" : "writing_files");
    } finally {
      clearTimeout(timer);
      this.clientGone.removeEventListener("abort", stop);
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
    return this.clientGone.aborted ? CLIENT_GONE : failByTimeout(cause, this.#settings, this.grantedSeconds);
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

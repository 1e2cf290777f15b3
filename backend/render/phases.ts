/** How long each phase of a render takes. `service_render_phase_seconds` says what belongs to each. */

export type RequestPhase = "receive" | "queue" | "start" | "files" | "compile" | "archive" | "probe" | "delivery";

/** One run of a phase. A phase may run again, for example when a process was lost or a second page is probed. */
export interface PhaseRun {
  readonly phase: RequestPhase;
  /** By the clock of `performance.now`. */
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
  readonly #runs: PhaseRun[] = [];

  get runs(): readonly PhaseRun[] {
    return this.#runs;
  }

  async time<Result>(phase: RequestPhase, work: () => Promise<Result>): Promise<Result> {
    const started = performance.now();
    try {
      return await work();
    } finally {
      this.#runs.push({ phase, startMilliseconds: started, milliseconds: performance.now() - started });
    }
  }
}

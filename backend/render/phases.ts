/**
 * How long each phase of a render takes.
 */

/**
 * `start` lasts until a waiting process is found or a new one is requested, which then starts while the files of its
 * request are written. `compile` lasts until Typst has ended, `archive` until the pages are packed.
 */
export type RenderPhase = "start" | "compile" | "archive";

/** Seconds of each phase that was reached. */
export type PhaseSeconds = Readonly<Partial<Record<RenderPhase, number>>>;

export class PhaseTimer {
  readonly #seconds: Partial<Record<RenderPhase, number>> = {};

  get seconds(): PhaseSeconds {
    return { ...this.#seconds };
  }

  /** Runs `work` as a phase. A phase that runs twice counts as long as its second run. */
  async time<Result>(phase: RenderPhase, work: () => Promise<Result>): Promise<Result> {
    const started = performance.now();
    try {
      return await work();
    } finally {
      this.#seconds[phase] = (performance.now() - started) / 1000;
    }
  }
}

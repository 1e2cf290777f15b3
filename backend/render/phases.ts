/**
 * How long each phase of a render takes.
 */

/**
 * `start`: until a waiting process is taken or a new one is requested. `files`: writing the files of the request, while a
 * new process starts. `compile`: from the program text to the end of Typst. `archive`: packing the pages. `probe`: compiling
 * once more to find out whether the document has a page.
 */
export type RenderPhase = "start" | "files" | "compile" | "archive" | "probe";

/** Seconds of each phase that was reached. */
export type PhaseSeconds = Readonly<Partial<Record<RenderPhase, number>>>;

export class PhaseTimer {
  readonly #seconds: Partial<Record<RenderPhase, number>> = {};

  get seconds(): PhaseSeconds {
    return { ...this.#seconds };
  }

  /** Runs `work` as a phase. A phase that runs again, because a process was lost, counts as long as all its runs. */
  async time<Result>(phase: RenderPhase, work: () => Promise<Result>): Promise<Result> {
    const started = performance.now();
    try {
      return await work();
    } finally {
      this.#seconds[phase] = (this.#seconds[phase] ?? 0) + (performance.now() - started) / 1000;
    }
  }
}

/**
 * The bounds that all steps of one examination share: the number of requests, and the time for each and for all of
 * them.
 */

/** The result of a step, or the code of its error: `ETIMEDOUT` if time ran out. */
export type Attempt<Value> =
  | { readonly isDone: true; readonly value: Value }
  | { readonly isDone: false; readonly code: string };

interface Bounds {
  readonly maxRequests: number;
  readonly requestMilliseconds: number;
  readonly totalMilliseconds: number;
  readonly signal: AbortSignal;
}

export class Allowance {
  readonly bounds: Bounds;
  requests = 0;
  readonly #end: AbortSignal;

  constructor(bounds: Bounds) {
    this.bounds = bounds;
    this.#end = AbortSignal.timeout(bounds.totalMilliseconds);
  }

  /** Counts a request; false if no more may be sent. */
  takeRequest(): boolean {
    if (this.#end.aborted || this.requests >= this.bounds.maxRequests) return false;
    this.requests++;
    return true;
  }

  /**
   * Runs a step within the time limit of one request.
   *
   * @throws the reason of the interruption
   */
  async attempt<Value>(step: (signal: AbortSignal) => Promise<Value>): Promise<Attempt<Value>> {
    const interruption = this.bounds.signal;
    interruption.throwIfAborted();
    const timeout = AbortSignal.any([AbortSignal.timeout(this.bounds.requestMilliseconds), this.#end]);
    const signal = AbortSignal.any([timeout, interruption]);
    // Not every step obeys its signal: a name look-up does not.
    const { promise, reject } = Promise.withResolvers<never>();
    signal.addEventListener("abort", () => reject(signal.reason), { once: true });
    try {
      return { isDone: true, value: await Promise.race([step(signal), promise]) };
    } catch (error) {
      interruption.throwIfAborted();
      return { isDone: false, code: timeout.aborted ? "ETIMEDOUT" : codeOf(error) };
    }
  }
}

/** The code of a system error, or the name of any other error. */
export function codeOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return "code" in error ? String(error.code) : error.name;
}

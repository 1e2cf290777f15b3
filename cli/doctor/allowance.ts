/**
 * What all steps of one examination share: how many requests there may be, and how long each and all of them may take.
 */

/** A step that was made, or the code of its error; `ETIMEDOUT` if time ran out. */
export type Attempt<Value> =
  | { readonly isDone: true; readonly value: Value }
  | { readonly isDone: false; readonly code: string };

interface Bounds {
  readonly maxRequests: number;
  readonly requestMilliseconds: number;
  readonly totalMilliseconds: number;
  /** Interrupts the examination. */
  readonly signal: AbortSignal;
}

export class Allowance {
  readonly bounds: Bounds;
  /** How many have been sent. */
  requests = 0;
  readonly #end: AbortSignal;

  constructor(bounds: Bounds) {
    this.bounds = bounds;
    this.#end = AbortSignal.timeout(bounds.totalMilliseconds);
  }

  /** Counts a request; false if it may not be sent any more. */
  takeRequest(): boolean {
    if (this.#end.aborted || this.requests >= this.bounds.maxRequests) return false;
    this.requests++;
    return true;
  }

  /**
   * Makes a step within the time of one request.
   *
   * @throws the reason of the interruption
   */
  async attempt<Value>(step: (signal: AbortSignal) => Promise<Value>): Promise<Attempt<Value>> {
    const interruption = this.bounds.signal;
    interruption.throwIfAborted();
    const timeout = AbortSignal.any([AbortSignal.timeout(this.bounds.requestMilliseconds), this.#end]);
    const signal = AbortSignal.any([timeout, interruption]);
    // Not every step ends by its signal: a look-up of a name does not.
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

/** The code of an error of the system, or the name of any other. */
export function codeOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return "code" in error ? String(error.code) : error.name;
}

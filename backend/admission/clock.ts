/** The clock of the render queue. Tests pass in a clock on which hours take milliseconds. */

export const MILLISECONDS_PER_SECOND = 1000;

export interface SteadyClock {
  /** Seconds since some fixed moment; never goes back. */
  nowSeconds(): number;
  /** Calls back after a time. @returns a function that cancels the call. */
  after(milliseconds: number, callback: () => void): () => void;
}

export const STEADY_CLOCK: SteadyClock = {
  nowSeconds: () => performance.now() / MILLISECONDS_PER_SECOND,
  after: (milliseconds, callback) => {
    const timer = setTimeout(callback, milliseconds);
    return () => clearTimeout(timer);
  },
};

/** The clock of the render queue. Tests pass in a clock on which hours take milliseconds. */

export interface SteadyClock {
  /** Milliseconds since some fixed moment; never goes back. */
  now(): number;
  /** Calls back after a time. @returns a function that cancels the call. */
  after(milliseconds: number, callback: () => void): () => void;
}

export const STEADY_CLOCK: SteadyClock = {
  now: () => performance.now(),
  after: (milliseconds, callback) => {
    const timer = setTimeout(callback, milliseconds);
    return () => clearTimeout(timer);
  },
};

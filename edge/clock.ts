/**
 * The clock of what waits at the edge. The simulation drives the same code with a clock of its own.
 */

export interface Clock {
  /** Milliseconds since 1970. */
  now(): number;
  wait(milliseconds: number): Promise<void>;
  /** Calls back after a time. The returned function prevents it. */
  after(milliseconds: number, callback: () => void): () => void;
}

export const SYSTEM_CLOCK: Clock = {
  now: () => Date.now(),
  wait: (milliseconds) => scheduler.wait(milliseconds),
  after: (milliseconds, callback) => {
    const timer = setTimeout(callback, milliseconds);
    return () => clearTimeout(timer);
  },
};

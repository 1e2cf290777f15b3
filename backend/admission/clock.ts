/**
 * The clock of the render queue. Tests drive the queue with a clock of their own, by which hours pass in milliseconds.
 */

const MILLISECONDS_PER_SECOND = 1000;

export interface Clock {
  /** Seconds since some fixed moment; never goes back. */
  nowSeconds(): number;
  /** Calls back after a time. The returned function prevents it. */
  after(milliseconds: number, callback: () => void): () => void;
}

export const SYSTEM_CLOCK: Clock = {
  nowSeconds: () => performance.now() / MILLISECONDS_PER_SECOND,
  after: (milliseconds, callback) => {
    const timer = setTimeout(callback, milliseconds);
    return () => clearTimeout(timer);
  },
};

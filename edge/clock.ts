/** The clock of everything at the edge that waits. The simulation runs the same code on its own clock. */

export interface WallClock {
  now(): number;
  wait(milliseconds: number): Promise<void>;
  /** Calls back after a time. @returns a function that cancels the call. */
  after(milliseconds: number, callback: () => void): () => void;
}

export const WALL_CLOCK: WallClock = {
  now: () => Date.now(),
  wait: (milliseconds) => scheduler.wait(milliseconds),
  after: (milliseconds, callback) => {
    const timer = setTimeout(callback, milliseconds);
    return () => clearTimeout(timer);
  },
};

/** What `work` resolves to, or "late". The work then goes on: a stream that is read stays in use. */
export async function waitAtMost<Result>(work: Promise<Result>, milliseconds: number): Promise<Result | "late"> {
  const { promise: late, resolve } = Promise.withResolvers<"late">();
  const timer = setTimeout(resolve, Math.max(0, milliseconds), "late");
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}

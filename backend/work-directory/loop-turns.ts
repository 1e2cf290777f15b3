/**
 * Gives way to the rest of the event loop during work that blocks it. Small files are written at once, because Node's thread
 * pool takes longer; on a slow disk each takes milliseconds, in which no timer fires and nobody else is answered.
 */
import { setImmediate as nextTurn } from "node:timers/promises";

const MAX_TURN_MILLISECONDS = 5;
const MAX_TURN_BYTES = 1024 ** 2;

/** The last job that gives way. Each waits for the one before it, so a turn of the loop has at most one of them. */
let lastTurn: Promise<unknown> = Promise.resolve();

export class LoopTurns {
  #began = performance.now();
  #bytes = 0;

  /** To be called after each piece of work. @param bytes that it has written */
  async giveWay(bytes = 0): Promise<void> {
    this.#bytes += bytes;
    if (this.#bytes < MAX_TURN_BYTES && performance.now() - this.#began < MAX_TURN_MILLISECONDS) return;
    lastTurn = lastTurn.then(() => nextTurn());
    await lastTurn;
    this.#began = performance.now();
    this.#bytes = 0;
  }
}

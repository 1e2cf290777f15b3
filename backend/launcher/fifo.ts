/** Delivers a program text through a FIFO, to a process that waits there in the middle of its evaluation. */
import { closeSync, constants, openSync, writeSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import { errorCode } from "../error-log.ts";

/** Under full load, a process is taken while it starts. A try costs 0.1 ms, so the pauses grow with the time passed. */
const MIN_RETRY_MILLISECONDS = 1;
const RETRY_PART_OF_WAIT = 1 / 8;

export interface FifoReader {
  /** Resolves when it has ended. Never rejects. */
  readonly end: Promise<unknown>;
  kill(): void;
}

/**
 * Writes the whole text, or kills the reader, so that none takes a part for the whole. The calls do not block, and take
 * a fifth of the time of Node's thread pool. @returns whether all of it was written.
 */
export async function writeFifo(path: string, chunks: readonly Buffer[], reader: FifoReader): Promise<boolean> {
  let hasReaderEnded = false;
  void reader.end.then(() => {
    hasReaderEnded = true;
  });
  const retry = async <Result>(attempt: () => Result, retriedCode: string): Promise<Result | null> => {
    const started = performance.now();
    while (!hasReaderEnded) {
      try {
        return attempt();
      } catch (error) {
        if (errorCode(error) !== retriedCode) throw error;
      }
      await delay(Math.max(MIN_RETRY_MILLISECONDS, (performance.now() - started) * RETRY_PART_OF_WAIT));
    }
    return null;
  };
  let descriptor: number | null = null;
  try {
    // ENXIO: the reader has not opened it.
    const opened = await retry(() => openSync(path, constants.O_WRONLY | constants.O_NONBLOCK), "ENXIO");
    if (opened === null) return false;
    descriptor = opened;
    let rest = Buffer.concat(chunks);
    while (rest.length > 0) {
      // EAGAIN: it is full.
      const writtenBytes = await retry(() => writeSync(opened, rest), "EAGAIN");
      if (writtenBytes === null) return false;
      rest = rest.subarray(writtenBytes);
    }
    return true;
  } catch {
    reader.kill();
    await reader.end;
    return false;
  } finally {
    if (descriptor !== null) closeSync(descriptor);
  }
}

/**
 * Ctrl+C and SIGTERM end the process at once, for a handler could not stop a long step of JavaScript. There is one only
 * while something has to be undone or reported: a Typst that runs, a file half written, a request to the service.
 */
import { setImmediate } from "node:timers/promises";
import { EXIT_CODES } from "./exit-codes.ts";

const SIGNALS = ["SIGINT", "SIGTERM"] as const;
/** For undoing what is under way. People press Ctrl+C again after about a second. */
const GRACE_MILLISECONDS = 900;

const controller = new AbortController();
let underWay = 0;

/** Aborted by the first signal that comes during `runInterruptible`. */
export const interruption = controller.signal;

/** Does work that ends soon after `interruption` is aborted. Reading a project is not part of it. */
export async function runInterruptible<Result>(work: () => Promise<Result>): Promise<Result> {
  if (underWay++ === 0 && !interruption.aborted) for (const name of SIGNALS) process.on(name, interrupt);
  try {
    return await work();
  } finally {
    // A signal that has come during the last step is not lost.
    await setImmediate();
    if (--underWay === 0) removeHandlers();
  }
}

function interrupt(): void {
  // The next signal ends the process at once.
  removeHandlers();
  setTimeout(() => process.exit(EXIT_CODES.interrupted), GRACE_MILLISECONDS).unref();
  controller.abort();
}

function removeHandlers(): void {
  for (const name of SIGNALS) process.off(name, interrupt);
}

/**
 * The backend as a program. It handles stop signals before it loads the rest, which takes half a second:
 * Linux drops those that process 1 does not handle.
 */
import { exitCodeAfter, type StopSignal } from "./start/stop-signal.ts";

/** Until the backend listens, it has nothing to finish. The next one empties the work directory. */
let stop: (signal: StopSignal) => void = (signal) => process.exit(exitCodeAfter(signal));

for (const signal of ["SIGTERM", "SIGINT", "SIGHUP"] as const) process.on(signal, () => stop(signal));
// The program that started it for itself was killed: `npm start`, or a test.
process.once("disconnect", () => stop("SIGINT"));

const { run } = await import("./start/run.ts");
await run((handler) => {
  stop = handler;
});

/**
 * The backend as a program. It handles stop signals before it loads the rest, which takes half a second: Linux drops
 * those that process 1 does not handle.
 */
import type { StopSignal } from "./start/run.ts";

/** A backend that does not listen yet has nothing to finish. What it leaves, the next one in its place removes. */
let stop: (signal: StopSignal) => void = () => process.exit(0);

for (const signal of ["SIGTERM", "SIGINT"] as const) process.on(signal, () => stop(signal));

const { run } = await import("./start/run.ts");
await run((handler) => {
  stop = handler;
});

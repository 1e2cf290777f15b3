/**
 * The backend as a program. Stop signals are handled before the rest of it is loaded, which takes half a second: in a
 * container without an init it is process 1, for which Linux drops a signal that it does not handle. A backend told to
 * stop while it starts would then take renders until it is killed, and lose them.
 */
import type { StopSignal } from "./start/run.ts";

/** A backend that does not listen yet has nothing to finish. What it leaves, the next one in its place removes. */
let stop: (signal: StopSignal) => void = () => process.exit(0);

for (const signal of ["SIGTERM", "SIGINT"] as const) process.on(signal, () => stop(signal));

const { run } = await import("./start/run.ts");
await run((handler) => {
  stop = handler;
});

/**
 * The signals that stop the backend, from its first moment on.
 *
 * In a container without an init the backend is process 1, for which Linux drops a signal that it does not handle. A
 * backend that is told to stop while it starts would then take renders until it is killed, and lose them.
 */
export type StopSignal = "SIGTERM" | "SIGINT";

/** A backend that does not listen yet has nothing to finish. What it leaves, the next one in its place removes. */
let stop: (signal: StopSignal) => void = () => process.exit(0);

for (const signal of ["SIGTERM", "SIGINT"] as const) process.on(signal, () => stop(signal));

export function onStopSignal(handler: (signal: StopSignal) => void): void {
  stop = handler;
}

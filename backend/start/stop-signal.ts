/** The signals that stop a backend. It finishes its renders after each of them. */

export type StopSignal = "SIGTERM" | "SIGINT" | "SIGHUP";

/** Linux numbers it so, and shells add it to 128. */
const HANGUP_EXIT_CODE = 128 + 1;

/** A lost terminal is no order to stay down: what supervises the backend starts it again. */
export function exitCodeAfter(signal: StopSignal): number {
  return signal === "SIGHUP" ? HANGUP_EXIT_CODE : 0;
}

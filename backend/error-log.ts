/**
 * What of an error may be logged.
 *
 * Messages of the system carry paths, paths carry callers' file names, and JSON errors quote what they could not read. So
 * of an error that is not the service's own, only its kind is logged, what failed, and where in the code.
 */

/** A failure of the machine or of the deployment, in the service's own words: its message holds nothing of a caller's. */
export class ServiceFailure extends Error {
  override readonly name = "ServiceFailure";
}

/** The fields of an error that go into a log line. */
export interface LoggedError {
  readonly type: string;
  /** In the words of a `ServiceFailure` alone; empty for any other. */
  readonly message: string;
  /** The system's error code, and the call that failed; empty where it is no error of the system's. */
  readonly code: string;
  readonly syscall: string;
  /** Places in the code, without the message above them. */
  readonly stack: string;
  /** Fastify's logger allows for more. */
  readonly [field: string]: string;
}

/** Describes anything that was thrown. */
export function describeError(error: unknown): LoggedError {
  if (!(error instanceof Error)) return { type: typeof error, message: "", code: "", syscall: "", stack: "" };
  return {
    type: error.name,
    message: error instanceof ServiceFailure ? error.message : "",
    code: "code" in error ? String(error.code) : "",
    syscall: "syscall" in error ? String(error.syscall) : "",
    stack: framesOf(error),
  };
}

/** The stack below the message, which may have lines of its own that look like places. */
function framesOf({ stack = "", message }: Error): string {
  const start = stack.indexOf(message);
  if (start < 0) return "";
  const lines = stack.slice(start + message.length).split("\n");
  return lines
    .map((line) => line.trim())
    .join("\n")
    .trim();
}

/**
 * Which parts of an error may be logged.
 *
 * Messages of the system contain paths, paths contain the file names of callers, and JSON errors quote the input. So of an
 * error that is not the service's own, only its type, its code, the failed call and the places in the code are logged.
 */

/** A failure of the machine or of the deployment. Its message is the service's own and contains nothing of a request. */
export class ServiceFailure extends Error {
  override readonly name = "ServiceFailure";
}

/** The fields of an error that go into a log line. */
export interface LoggedError {
  readonly type: string;
  /** The message of a `ServiceFailure`; empty for any other error. */
  readonly message: string;
  /** The system's error code and the call that failed; empty where it is no system error. */
  readonly code: string;
  readonly syscall: string;
  /** The places in the code, without the message above them. */
  readonly stack: string;
  /** Required by the type of Fastify's error serializer. */
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

/** The stack below the message. A message can contain lines that look like places in the code, so it is cut off first. */
function framesOf({ stack = "", message }: Error): string {
  const start = stack.indexOf(message);
  if (start < 0) return "";
  const lines = stack.slice(start + message.length).split("\n");
  return lines
    .map((line) => line.trim())
    .join("\n")
    .trim();
}

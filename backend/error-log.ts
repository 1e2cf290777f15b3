/** Which parts of an error may be logged: messages that are not the service's own contain paths, or quote the input. */

/** A failure of the machine or of the deployment. Its message contains no part of a request. */
export class ServiceFailure extends Error {
  override readonly name = "ServiceFailure";
}

export interface LoggedError {
  readonly type: string;
  /** The message of a `ServiceFailure`; empty for any other error. */
  readonly message: string;
  /** The system's error code and the call that failed; empty if it is not a system error. */
  readonly code: string;
  readonly syscall: string;
  readonly stack: string;
  /** Required by the type of Fastify's error serializer. */
  readonly [field: string]: string;
}

export function describeError(error: unknown): LoggedError {
  if (!(error instanceof Error)) return { type: typeof error, message: "", code: "", syscall: "", stack: "" };
  return {
    type: error.name,
    message: error instanceof ServiceFailure ? error.message : "",
    code: errorCode(error),
    syscall: "syscall" in error ? String(error.syscall) : "",
    stack: framesOf(error),
  };
}

/** The system's error code; empty if it is not a system error. */
export function errorCode(error: unknown): string {
  return error instanceof Error && "code" in error ? String(error.code) : "";
}

/** `stack` starts with the message at construction. If that was changed later we cannot strip it, so we log no stack. */
function framesOf({ stack = "", message }: Error): string {
  const type = stack.slice(0, stack.search(/[:\n]/));
  const head = message === "" ? type : `${type}: ${message}`;
  const frames = stack.slice(head.length);
  if (!stack.startsWith(head) || !frames.startsWith("\n    at ")) return "";
  return frames.replaceAll(/\n\s*/g, "\n").trim();
}

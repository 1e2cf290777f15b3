/** What is told of a request: the fields of its log line. */
import type { AttemptFailure, CauseFields } from "../../rules/causes.ts";
import type { RequestOutcome } from "../../rules/problem.ts";

/** The phases of a render request at the edge, in their order. `origin` lasts until a backend's answer begins. */
export type EdgePhase = "receive" | "validate" | "origin";

/** The fields of a log line. A field that is undefined is left out. */
export interface RequestLine extends CauseFields {
  readonly message: "request";
  readonly requestId: string;
  /** What was asked for may be anything, and a client must not write to the log: a route's path, or `none`. */
  readonly route: string;
  readonly method: string;
  readonly status: number | undefined;
  readonly code: RequestOutcome;
  readonly caller: string | undefined;
  readonly requestBytes: number | undefined;
  readonly responseBytes: number | undefined;
  readonly origin: string | undefined;
  readonly tries: number | undefined;
  readonly failures: readonly AttemptFailure[] | undefined;
  readonly milliseconds: Partial<Record<EdgePhase | "total", number>>;
  readonly traceId: string;
}

/** What the edge records about a request, for one log line: no content, token or query, and no path but a route's. */

import { joinServerTimings, serverTiming } from "../../protocol/headers.ts";
import { ALL_EDGE_ROUTES } from "../../protocol/routes.ts";
import { parseTraceparent, TRACEPARENT_HEADER, traceIdOf } from "../../protocol/trace-context.ts";
import type { AttemptFailure, Cause, CauseField } from "../../rules/causes.ts";
import { NEXT_STEPS } from "../../rules/next-steps.ts";
import type { RequestOutcome } from "../../rules/problem.ts";
import type { RequestLogging } from "../settings.ts";

/** The phases of a render request at the edge, in their order. `origin` lasts until a backend's answer begins. */
export type EdgePhase = "receive" | "validate" | "origin";

const ROUTE_PATHS: ReadonlySet<string> = new Set(ALL_EDGE_ROUTES.map(({ path }) => path));
const METHODS: ReadonlySet<string> = new Set(["GET", "HEAD", "POST", "OPTIONS", "PUT", "PATCH", "DELETE"]);

/** The fields of a log line. A field that is undefined is left out. */
export type RequestLine = ReturnType<RequestRecord["line"]>;

export class RequestRecord {
  caller: string | undefined;
  code: RequestOutcome = "ok";
  cause: CauseField = {};
  requestBytes: number | undefined;
  backend: string | undefined;
  tries: number | undefined;
  failures: readonly AttemptFailure[] = [];
  backendTiming: string | null = null;
  readonly milliseconds: Partial<Record<EdgePhase, number>> = {};
  readonly #startedAt = Date.now();
  #lapStartedAt = this.#startedAt;
  #isEnded = false;

  lap(phase: EdgePhase): void {
    const now = Date.now();
    this.milliseconds[phase] = now - this.#lapStartedAt;
    this.#lapStartedAt = now;
  }

  /** The `Server-Timing` of the answer. It is empty if no phase was reached, for example without a token. */
  get serverTiming(): string {
    return joinServerTimings(serverTiming(this.milliseconds), this.backendTiming);
  }

  /** Marks the request as ended: answered, or left by its client. @returns whether this is the first call. */
  end(): boolean {
    const isFirst = !this.#isEnded;
    this.#isEnded = true;
    return isFirst;
  }

  line(request: Request, path: string, requestId: string, response: Response | null) {
    const { headers, method } = request;
    const length = response?.headers.get("Content-Length");
    return {
      message: "request",
      requestId,
      // What was asked for may be anything, and a client must not write to the log.
      route: ROUTE_PATHS.has(path) ? path : "none",
      method: METHODS.has(method) ? method : "other",
      status: response?.status,
      code: response === null && this.code === "ok" ? "client_gone" : this.code,
      ...this.cause,
      nextStep: nextStepOf(this.cause),
      caller: this.caller,
      requestBytes: this.requestBytes,
      responseBytes: length ? Number(length) : undefined,
      origin: this.backend,
      tries: this.tries,
      failures: this.failures.length > 0 ? this.failures : undefined,
      milliseconds: { ...this.milliseconds, total: Date.now() - this.#startedAt },
      traceId: traceIdOf(parseTraceparent(headers.get(TRACEPARENT_HEADER)), requestId),
    };
  }
}

export function causeOf({ timeoutCause, capacityCause, unavailableCause }: CauseField): Cause | undefined {
  return timeoutCause ?? capacityCause ?? unavailableCause;
}

function nextStepOf(field: CauseField): string | undefined {
  const cause = causeOf(field);
  return cause === undefined ? undefined : NEXT_STEPS[cause];
}

export function writeLine(logging: RequestLogging, level: "error" | "warn" | "info" | "log", line: object): void {
  console[level](logging === "json" ? JSON.stringify(line) : line);
}

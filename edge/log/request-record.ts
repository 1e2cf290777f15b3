/**
 * What the edge records about a request, and what of it a log line and the `Server-Timing` of the answer have: no content, token or
 * query, and no path but a route's.
 */
import { formatServerTiming, joinServerTimings } from "../../protocol/headers.ts";
import { ALL_EDGE_ROUTES } from "../../protocol/routes.ts";
import { parseTraceparent, TRACEPARENT_HEADER, traceIdOf } from "../../protocol/trace-context.ts";
import { type AttemptFailure, type Cause, causeFields } from "../../rules/causes.ts";
import type { ProblemCode, RequestOutcome } from "../../rules/problem.ts";
import { MONOTONIC_CLOCK } from "../clock.ts";
import type { Answer, ClientRequest } from "../platform/platform.ts";
import type { EdgePhase, RequestLine } from "./request-line.ts";

const ROUTE_PATHS: ReadonlySet<string> = new Set(ALL_EDGE_ROUTES.map(({ path }) => path));
const METHODS: ReadonlySet<string> = new Set(["GET", "HEAD", "POST", "OPTIONS", "PUT", "PATCH", "DELETE"]);

export class RequestRecord {
  caller: string | undefined;
  /** The problem that the request ends in; null for any other answer. */
  problem: { readonly code: ProblemCode; readonly cause?: Cause | undefined } | null = null;
  requestBytes: number | undefined;
  backend: string | undefined;
  tries: number | undefined;
  failures: readonly AttemptFailure[] = [];
  backendTiming: string | null = null;
  /** To be called when the client leaves; null until somebody wants to know. */
  onLeave: Set<() => void> | null = null;
  readonly milliseconds: Partial<Record<EdgePhase, number>> = {};
  readonly #startedAt = MONOTONIC_CLOCK.now();
  #phaseStartedAt = this.#startedAt;
  #isEnded = false;

  endPhase(phase: EdgePhase): void {
    const now = MONOTONIC_CLOCK.now();
    this.milliseconds[phase] = now - this.#phaseStartedAt;
    this.#phaseStartedAt = now;
  }

  /** The `Server-Timing` of the answer. It is empty if no phase was reached, for example without a token. */
  get serverTiming(): string {
    return joinServerTimings(formatServerTiming(this.milliseconds), this.backendTiming);
  }

  /** Marks the request as ended: answered, or left by its client. @returns whether this is the first call. */
  end(): boolean {
    const isFirst = !this.#isEnded;
    this.#isEnded = true;
    return isFirst;
  }

  toLine({ headers, method }: ClientRequest, path: string, requestId: string, answer: Answer | null): RequestLine {
    const length = answer?.headers["Content-Length"];
    const code: RequestOutcome = this.problem?.code ?? (answer === null ? "client_gone" : "ok");
    return {
      message: "request",
      requestId,
      route: ROUTE_PATHS.has(path) ? path : "none",
      method: METHODS.has(method) ? method : "other",
      status: answer?.status,
      code,
      ...(this.problem !== null && causeFields(this.problem)),
      caller: this.caller,
      requestBytes: this.requestBytes,
      responseBytes: length ? Number(length) : undefined,
      origin: this.backend,
      tries: this.tries,
      failures: this.failures.length > 0 ? this.failures : undefined,
      milliseconds: { ...this.milliseconds, total: MONOTONIC_CLOCK.now() - this.#startedAt },
      traceId: traceIdOf(parseTraceparent(headers.get(TRACEPARENT_HEADER)), requestId),
    };
  }
}

/**
 * What the edge records about a request, and what of it a log line, the `Server-Timing` of the answer, a span and a data point
 * of an Analytics Engine dataset have: no content, token or query, and no path but a route's.
 */
import { formatServerTiming, joinServerTimings } from "../../protocol/headers.ts";
import { ALL_EDGE_ROUTES } from "../../protocol/routes.ts";
import { parseTraceparent, TRACEPARENT_HEADER, traceIdOf } from "../../protocol/trace-context.ts";
import { type AttemptFailure, type Cause, type CauseFields, causeFields } from "../../rules/causes.ts";
import type { ProblemCode, RequestOutcome } from "../../rules/problem.ts";
import type { RequestLogging } from "../settings.ts";

/** The phases of a render request at the edge, in their order. `origin` lasts until a backend's answer begins. */
export type EdgePhase = "receive" | "validate" | "origin";

const ROUTE_PATHS: ReadonlySet<string> = new Set(ALL_EDGE_ROUTES.map(({ path }) => path));
const METHODS: ReadonlySet<string> = new Set(["GET", "HEAD", "POST", "OPTIONS", "PUT", "PATCH", "DELETE"]);

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
  /** The answer that has the header fields of every answer, if one was made with them. */
  complete: Response | null = null;
  readonly milliseconds: Partial<Record<EdgePhase, number>> = {};
  readonly #startedAt = Date.now();
  #phaseStartedAt = this.#startedAt;
  #isEnded = false;

  endPhase(phase: EdgePhase): void {
    const now = Date.now();
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

  toLine(request: Request, path: string, requestId: string, response: Response | null): RequestLine {
    const { headers, method } = request;
    const length = response?.headers.get("Content-Length");
    const code: RequestOutcome = this.problem?.code ?? (response === null ? "client_gone" : "ok");
    return {
      message: "request",
      requestId,
      route: ROUTE_PATHS.has(path) ? path : "none",
      method: METHODS.has(method) ? method : "other",
      status: response?.status,
      code,
      ...(this.problem !== null && causeFields(this.problem)),
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

export function writeLine(logging: RequestLogging, level: "error" | "warn" | "info" | "log", line: object): void {
  console[level](logging === "json" ? JSON.stringify(line) : line);
}

/** By the names in the backend's spans. `render.trace_id` leads to these: the platform does not pass on its trace. */
export function spanAttributes(line: RequestLine) {
  return {
    "http.route": line.route,
    "render.request_id": line.requestId,
    "render.trace_id": line.traceId,
    "render.caller": line.caller,
    "render.outcome": line.code,
    "render.timeout_cause": line.timeoutCause,
    "render.capacity_cause": line.capacityCause,
    "render.unavailable_cause": line.unavailableCause,
    "render.origin": line.origin,
    "render.tries": line.tries,
  };
}

export const ANALYTICS_BINDING = "EDGE_ANALYTICS";

interface AnalyticsDataset {
  writeDataPoint(point: { readonly indexes: string[]; readonly blobs: string[]; readonly doubles: number[] }): void;
}

/** A column. An unknown number is written as -1, an unknown text as "". */
type Field<Value> = readonly [name: string, read: (line: RequestLine) => Value | undefined];

/** `blob1` and so on. Queries name columns by their number, so new ones come last and none is ever removed. */
export const ANALYTICS_BLOBS: readonly Field<string>[] = [
  ["route", ({ route }) => route],
  ["method", ({ method }) => method],
  ["code", ({ code }) => code],
  ["caller", ({ caller }) => caller],
  ["origin", ({ origin }) => origin],
  ["cause", ({ timeoutCause, capacityCause, unavailableCause }) => timeoutCause ?? capacityCause ?? unavailableCause],
  ["failures", ({ failures }) => failures?.join(",")],
];

export const ANALYTICS_DOUBLES: readonly Field<number>[] = [
  ["status", ({ status }) => status],
  ["requestBytes", ({ requestBytes }) => requestBytes],
  ["responseBytes", ({ responseBytes }) => responseBytes],
  ["tries", ({ tries }) => tries],
  ["receive", ({ milliseconds }) => milliseconds.receive],
  ["validate", ({ milliseconds }) => milliseconds.validate],
  ["origin", ({ milliseconds }) => milliseconds.origin],
  ["total", ({ milliseconds }) => milliseconds.total],
];

/** Cloudflare samples each index separately, so one caller with many requests does not blur another's count. */
const indexOf = ({ caller, route }: RequestLine) => caller ?? route;

/** Once per isolate: a dataset that rejects one point rejects all. Without valid settings there is no `Deployment`. */
let hasFailed = false;

/** Never throws: a request must not fail because it is not counted. */
export function writeAnalytics(dataset: unknown, line: RequestLine): void {
  if (!isDataset(dataset)) return;
  try {
    dataset.writeDataPoint({
      indexes: [indexOf(line)],
      blobs: ANALYTICS_BLOBS.map(([, read]) => read(line) ?? ""),
      doubles: ANALYTICS_DOUBLES.map(([, read]) => read(line) ?? -1),
    });
  } catch (error) {
    if (!hasFailed) console.error({ message: `${ANALYTICS_BINDING} rejects data points`, error: String(error) });
    hasFailed = true;
  }
}

function isDataset(binding: unknown): binding is AnalyticsDataset {
  return typeof binding === "object" && binding !== null && "writeDataPoint" in binding;
}

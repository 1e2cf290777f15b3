/**
 * What the edge knows about one request, filled by whoever learns it, and written once as a log line. It holds nothing of
 * the request's content, no token, no query and no path that is not a route.
 */
import { EDGE_ROUTES, PLAYGROUND_ROUTES, REFERENCE_ROUTES, type Route, STATIC_ROUTES } from "../rules/http/routes.ts";
import { joinServerTimings, serverTiming } from "../rules/http/server-timing.ts";
import { parseTraceparent, TRACEPARENT_HEADER, traceIdOf } from "../rules/http/trace-context.ts";
import { PROBLEMS, type ProblemCode } from "../rules/problem.ts";

/** What a render request does at the edge, in this order. `origin` lasts until a backend's answer begins. */
export type EdgePhase = "receive" | "validate" | "origin";

/** `ok`, the code of the problem that was answered, or `client_gone` if the client left before. */
export type RequestCode = "ok" | "client_gone" | ProblemCode;

const ROUTES: readonly Route[] = [...EDGE_ROUTES, ...STATIC_ROUTES, ...PLAYGROUND_ROUTES, ...REFERENCE_ROUTES];
const ROUTE_PATHS: ReadonlySet<string> = new Set(ROUTES.map(({ path }) => path));
const METHODS: ReadonlySet<string> = new Set(["GET", "HEAD", "POST", "OPTIONS", "PUT", "PATCH", "DELETE"]);

/** The fields of a log line. Absent ones are undefined. */
export interface RequestLine {
  readonly message: "request";
  readonly requestId: string;
  /** The path of the route, or `none`: the path that was asked for may be anything. */
  readonly route: string;
  /** `other` for one that HTTP itself does not define. */
  readonly method: string;
  /** Absent if the client did not wait for it. */
  readonly status: number | undefined;
  readonly code: RequestCode;
  readonly caller: string | undefined;
  readonly requestBytes: number | undefined;
  readonly responseBytes: number | undefined;
  readonly origin: string | undefined;
  readonly tries: number | undefined;
  /** Times in milliseconds: of each phase that was reached, and of the whole until the answer begins. */
  readonly milliseconds: Readonly<Partial<Record<EdgePhase, number>>> & { readonly total: number };
  readonly traceId: string;
}

export class RequestRecord {
  /** The caller's name, once its token is validated. */
  caller: string | undefined;
  code: RequestCode = "ok";
  /** The size of the body, once all of it is read. */
  requestBytes: number | undefined;
  /** The origin that answered, or was tried last. */
  origin: string | undefined;
  /** To how many origins the request was sent. */
  tries: number | undefined;
  /** The phases of the backend, as it sent them. */
  originTiming: string | null = null;
  readonly milliseconds: Partial<Record<EdgePhase, number>> = {};
  readonly #startedAt = Date.now();
  #lapStartedAt = this.#startedAt;
  #isEnded = false;

  /** Ends a phase that began where the one before it ended. */
  lap(phase: EdgePhase): void {
    const now = Date.now();
    this.milliseconds[phase] = now - this.#lapStartedAt;
    this.#lapStartedAt = now;
  }

  /** The `Server-Timing` of the answer; empty if no phase was reached, as for whoever has no token. */
  get serverTiming(): string {
    return joinServerTimings(serverTiming(this.milliseconds), this.originTiming);
  }

  /** Whether this is the first call: a request is written once, at its answer or when its client leaves. */
  end(): boolean {
    const isFirst = !this.#isEnded;
    this.#isEnded = true;
    return isFirst;
  }

  /** @param response null if the client left before it. */
  line(request: Request, path: string, requestId: string, response: Response | null): RequestLine {
    const { headers, method } = request;
    const length = response?.headers.get("Content-Length");
    return {
      message: "request",
      requestId,
      route: ROUTE_PATHS.has(path) ? path : "none",
      method: METHODS.has(method) ? method : "other",
      status: response?.status,
      code: response === null && this.code === "ok" ? "client_gone" : this.code,
      caller: this.caller,
      requestBytes: this.requestBytes,
      responseBytes: length ? Number(length) : undefined,
      origin: this.origin,
      tries: this.tries,
      milliseconds: { ...this.milliseconds, total: Date.now() - this.#startedAt },
      traceId: traceIdOf(parseTraceparent(headers.get(TRACEPARENT_HEADER)), requestId),
    };
  }
}

/** The code that a backend names for its problem; null if there is no such code. */
export function problemCodeOf(name: string | null): ProblemCode | null {
  return name !== null && isProblemCode(name) ? name : null;
}

function isProblemCode(name: string): name is ProblemCode {
  return Object.hasOwn(PROBLEMS, name);
}

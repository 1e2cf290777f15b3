/**
 * What the edge needs of whatever runs it. `cloudflare/` and `node/` each have all of it; nothing else in `edge/` knows which of the
 * two it is. The bytes of bodies pass through here, so neither has to offer the other's streams.
 */
import type { BodyReader } from "../../protocol/body-collector.ts";
import type { AccessToken, BackendAddress } from "../backends/backend-address.ts";
import type { SrvAnswer } from "../backends/dns-names.ts";
import type { RequestLine } from "../log/request-line.ts";

export interface HeaderFields {
  get(name: string): string | null;
  has(name: string): boolean;
}

/** A request as its client has sent it. */
export interface ClientRequest {
  readonly method: string;
  /** Scheme, host and target as they were sent: it may be no valid URL. */
  readonly url: string;
  readonly headers: HeaderFields;
  readonly body: BodyReader | null;
  /** Whether the platform has a place for it, which it keeps until it is answered; else it is to be refused. */
  takePlace(): boolean;
  /** Calls back when the client leaves before its answer has begun. On Cloudflare, no code waits for anything after that. */
  whenClientLeaves(callback: () => void): void;
  /** Work that may end after the answer. */
  inBackground(work: Promise<unknown>): void;
}

/** An answer to a client. */
export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Uint8Array | PassedBody | null;
}

/** Bytes that only the platform can pass on: those of a backend's answer or of a static file. */
export interface PassedBody {
  /** The same, broken off after so many bytes. @param report is called if there are more */
  limitTo(maxBytes: number, report: () => void): PassedBody;
  /** The next bytes, for the edge itself; null at the end. Rejects where they break off. */
  next(): Promise<Uint8Array | null>;
  /** To be called for one that is not read to its end: otherwise it keeps a connection. */
  discard(): void;
}

/** What of a body a connection is certain to have taken: something of it, or all. */
export type TakenPart = "some" | "all";

export interface BackendRequest {
  readonly method: "GET" | "POST";
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array<ArrayBuffer> | string | null;
  readonly signal: AbortSignal;
  /** Called when a connection has certainly taken this part of the body. */
  readonly reportTaken?: (part: TakenPart) => void;
}

export interface BackendAnswer {
  readonly status: number;
  readonly headers: HeaderFields;
  readonly body: PassedBody | null;
}

/** A server that renders. What decides only tells it apart from others, and sends nothing. */
export interface Backend {
  readonly name: string;
  /** Follows no redirection. Rejects when no answer begins. */
  send(request: BackendRequest): Promise<BackendAnswer>;
}

export type LogLevel = "error" | "warn" | "info" | "log";

/** What the platform leaves for bodies, and for what is gathered from all backends together. */
export interface MemoryBounds {
  readonly bodyBytes: number;
  readonly largestBodyBytes: number;
  readonly gatheredBytes: number;
}

/** What one deployment has: the same object for all of its requests. */
export interface Platform {
  /** Absent where the machine's memory is the deployment's own. */
  readonly memoryBounds?: MemoryBounds;
  /** How many renders may wait for backends, if that is bounded by more than `SERVICE_MAX_OPEN_RENDERS`. */
  readonly maxOpenRenders?: number;
  /** Whether this program answers all of its requests, so that its own counts are in its `/metrics`. */
  readonly isWholeEdge: boolean;
  /** By their names. What is no text is no setting. */
  readonly settings: Readonly<Record<string, unknown>>;
  /** @throws SettingError when this platform has no such backends. */
  openBackend(address: BackendAddress, accessToken: AccessToken | null): Backend;
  /** Asks DNS for the backends of a service, and never rejects. @throws SettingError when this platform cannot. */
  openLookup(nameServers: readonly string[]): (service: string) => Promise<SrvAnswer>;
  /** A file of `edge/static/`, or 404; 304 if the request says that its client has it. */
  staticFile(path: string, request: ClientRequest): Promise<Answer>;
  /** Whether a caller may send another request now; null where nothing counts them. */
  readonly rateLimiter: { limit(options: { readonly key: string }): Promise<{ readonly success: boolean }> } | null;
  writeLog(level: LogLevel, line: object): void;
  /** What is told of the request under way beside its log line; null if nothing is. */
  requestObserver(): ((line: RequestLine) => void) | null;
}

/**
 * The server in front of workerd, which ends when it runs out of open files and cannot bound its connections. It passes each
 * request on by a connection of its own, holds idle connections itself, and closes the oldest of these when there are too many.
 */
import { randomUUID } from "node:crypto";
import {
  Agent,
  createServer,
  type IncomingMessage,
  request as requestOf,
  type Server,
  type ServerResponse,
} from "node:http";
import type { Socket } from "node:net";
import { COMMON_HEADERS, NOT_STORED_HEADERS, REQUEST_ID_HEADER } from "../protocol/headers.ts";
import {
  PROBLEM_MEDIA_TYPE,
  PROBLEMS,
  type Problem,
  problemDocument,
  problemInstance,
  renderQueueFull,
  serviceUnavailable,
} from "../rules/problem.ts";
import type { Capacity } from "./open-files.ts";

/** workerd's own, for the head of a request and for the time between two of a connection. */
const HEAD_TIMEOUT_MILLISECONDS = 15_000;
const IDLE_TIMEOUT_MILLISECONDS = 5000;
const CHECK_MILLISECONDS = 1000;
/** What workerd takes. */
const MAX_HEAD_BYTES = 64 * 1024;
/** How long a client may send on after the answer, before its connection is closed: it might miss the answer otherwise. */
const LINGER_MILLISECONDS = 1000;
const RETRY_AFTER_SECONDS = 1;

/** Of one connection (RFC 9110, section 7.6.1). Node writes its own. */
const HOP_BY_HOP = new Set(["connection", "keep-alive", "proxy-connection", "te", "trailer", "upgrade"]);

/** What the limit on open files made the gate do. */
export interface Counts {
  readonly idleConnectionsClosed: number;
  readonly connectionsRefused: number;
  readonly requestsRefused: number;
}

const NO_COUNTS: Counts = { idleConnectionsClosed: 0, connectionsRefused: 0, requestsRefused: 0 };

export class Gate {
  readonly #port: number;
  readonly #capacity: Capacity;
  readonly #agent = new Agent({ keepAlive: false, maxSockets: Number.POSITIVE_INFINITY });
  readonly #server: Server;
  /** Without a request under way; those that have been so for longest come first. */
  readonly #idle = new Set<Socket>();
  #connections = 0;
  #requests = 0;
  #counts = NO_COUNTS;

  /** @param port of workerd, on loopback */
  constructor(port: number, capacity: Capacity) {
    this.#port = port;
    this.#capacity = capacity;
    this.#server = createServer({
      headersTimeout: HEAD_TIMEOUT_MILLISECONDS,
      keepAliveTimeout: IDLE_TIMEOUT_MILLISECONDS,
      connectionsCheckingInterval: CHECK_MILLISECONDS,
      // The edge bounds the time for a body.
      requestTimeout: 0,
      maxHeaderSize: MAX_HEAD_BYTES,
      // The edge answers these.
      requireHostHeader: false,
    });
    const relay = (request: IncomingMessage, response: ServerResponse) => this.#relay(request, response);
    for (const event of ["request", "checkContinue", "checkExpectation"] as const) this.#server.on(event, relay);
    this.#server.on("connection", (socket) => this.#admit(socket));
  }

  /** How many connections Node may take before it reads what the others have sent. */
  get #backlog(): number {
    return Math.ceil(this.#capacity.connections / 8);
  }

  get #isCrowded(): boolean {
    return this.#connections > this.#capacity.connections / 2;
  }

  listen(port: number, host: string): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#server.once("error", reject).listen({ port, host, backlog: this.#backlog }, resolve);
    });
  }

  /** @returns what was counted since the last call, or null if it is nothing. */
  takeCounts(): Counts | null {
    const counts = this.#counts;
    this.#counts = NO_COUNTS;
    return counts === NO_COUNTS ? null : counts;
  }

  #count(name: keyof Counts): void {
    this.#counts = { ...this.#counts, [name]: this.#counts[name] + 1 };
  }

  /** Takes no more connections. @returns when everything in flight is answered */
  close(): Promise<void> {
    return new Promise((resolve) => this.#server.close(() => resolve()));
  }

  #admit(socket: Socket): void {
    if (this.#connections >= this.#capacity.connections) {
      const [longestIdle] = this.#idle;
      // All others have a request under way.
      this.#count(longestIdle === undefined ? "connectionsRefused" : "idleConnectionsClosed");
      if (longestIdle === undefined) {
        socket.destroy();
        return;
      }
      this.#idle.delete(longestIdle);
      longestIdle.destroy();
    }
    this.#connections++;
    this.#idle.add(socket);
    socket.once("close", () => {
      this.#connections--;
      this.#idle.delete(socket);
    });
  }

  #relay(request: IncomingMessage, response: ServerResponse): void {
    const { socket } = request;
    this.#idle.delete(socket);
    response.shouldKeepAlive &&= !this.#isCrowded;
    response.once("close", () => {
      if (!socket.destroyed) this.#idle.add(socket);
      // Node has closed only those that were idle when it was told to close.
      if (!this.#server.listening) this.#server.closeIdleConnections();
    });
    const { posts, requests } = this.#capacity;
    if (this.#requests >= (request.method === "POST" ? posts : requests)) {
      this.#count("requestsRefused");
      refuse(request, response, renderQueueFull("open_requests", RETRY_AFTER_SECONDS));
      return;
    }
    this.#requests++;
    this.#send(request, response).once("close", () => this.#requests--);
  }

  #send(request: IncomingMessage, response: ServerResponse) {
    const { method, url: path, rawHeaders } = request;
    const headers = [...forwardedHeaders(rawHeaders), "Connection", "close"];
    const sent = requestOf({
      host: "127.0.0.1",
      port: this.#port,
      agent: this.#agent,
      method,
      path,
      headers,
      setHost: false,
    });
    sent.on("continue", () => response.writeContinue());
    sent.on("response", (answer) => answerWith(answer, request, response));
    sent.on("error", () => {
      if (sent.destroyed && response.headersSent) return;
      refuse(request, response, serviceUnavailable("edge_failure"));
    });
    request.pipe(sent);
    response.once("close", () => {
      // workerd notices that a client has gone only if the connection is reset.
      if (!response.writableFinished) sent.socket?.resetAndDestroy();
      sent.destroy();
    });
    return sent;
  }
}

function answerWith(answer: IncomingMessage, request: IncomingMessage, response: ServerResponse): void {
  // A body that the edge has refused still arrives.
  if (!request.complete) response.shouldKeepAlive = false;
  response.writeHead(answer.statusCode ?? 502, answer.statusMessage, forwardedHeaders(answer.rawHeaders));
  answer.pipe(response, { end: false });
  answer.once("end", () => {
    if (request.complete) {
      response.end();
      return;
    }
    request.unpipe();
    request.resume();
    const timer = setTimeout(() => response.end(), LINGER_MILLISECONDS);
    request.once("close", () => {
      clearTimeout(timer);
      response.end();
    });
  });
  answer.once("close", () => {
    // It broke off, and the client must see that.
    if (!answer.complete) response.destroy();
  });
}

function forwardedHeaders(raw: readonly string[]): string[] {
  const named = new Set(HOP_BY_HOP);
  for (let at = 0; at < raw.length; at += 2) {
    if (raw[at]?.toLowerCase() !== "connection") continue;
    for (const name of (raw[at + 1] ?? "").split(",")) named.add(name.trim().toLowerCase());
  }
  return raw.filter((_text, at) => !named.has((raw[at - (at % 2)] ?? "").toLowerCase()));
}

function refuse(request: IncomingMessage, response: ServerResponse, problem: Problem): void {
  if (response.headersSent) return void response.destroy();
  const requestId = randomUUID();
  const scheme = request.headers["x-forwarded-proto"] === "https" ? "https" : "http";
  const url = `${scheme}://${request.headers.host ?? ""}${request.url ?? "/"}`;
  const text = JSON.stringify(problemDocument(problem, problemInstance(url, requestId)));
  if (problem.code === "render_queue_full") response.setHeader("Retry-After", problem.context.retry_after);
  response.shouldKeepAlive = false;
  response.writeHead(PROBLEMS[problem.code].status, {
    ...NOT_STORED_HEADERS,
    ...COMMON_HEADERS,
    "Content-Type": PROBLEM_MEDIA_TYPE,
    "Content-Length": Buffer.byteLength(text),
    [REQUEST_ID_HEADER]: requestId,
  });
  response.end(text);
}

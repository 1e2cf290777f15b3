/**
 * The server in front of workerd, which ends when it runs out of open files and cannot bound its connections. It passes one request
 * of a connection at a time on, holds idle connections itself, and closes the oldest of these when there are too many.
 */
import {
  Agent,
  createServer,
  type IncomingMessage,
  request as requestOf,
  type Server,
  type ServerResponse,
} from "node:http";
import type { Socket } from "node:net";
import { REQUEST_ID_HEADER } from "../protocol/headers.ts";
import { renderQueueFull, serviceUnavailable } from "../rules/problem.ts";
import type { Capacity } from "./open-files.ts";
import { endAnswer, INCOMPLETE_BODY, INVALID_HTTP, refuse, refuseConnection } from "./refusal.ts";

/** workerd's own, for the head of a request and for the time between two of a connection. */
const HEAD_TIMEOUT_MILLISECONDS = 15_000;
const IDLE_TIMEOUT_MILLISECONDS = 5000;
const CHECK_MILLISECONDS = 1000;
/** workerd takes twice as much, no proxy in front of it does. */
const MAX_HEAD_BYTES = 64 * 1024;
/** Requests that a client sends on a connection before the first is answered. With more it is closed. */
const MAX_PIPELINED = 64;
/** How long a client may read nothing of its answer. A backend gives it 20 s, and there are buffers between. */
const MAX_DELIVERY_SILENCE_MILLISECONDS = 30_000;
/** How long a head waits for the first byte of its body, to be sent with it. */
const HEAD_ALONE_MILLISECONDS = 10;
/** More than a reset takes to arrive. */
const NUDGE_MILLISECONDS = 1000;
/** How long a client may send on after an answer of the edge, which has waited before it. */
const LINGER_MILLISECONDS = 1000;
const RETRY_AFTER_SECONDS = 1;

/** Of one connection (RFC 9110, section 7.6.1). Node writes its own. The edge ignores others that `Connection` names. */
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
  readonly #deliverySilence: number;
  readonly #agent = new Agent({ keepAlive: false, maxSockets: Number.POSITIVE_INFINITY });
  readonly #server: Server;
  /** What is to be answered on each connection, in its order. The first is with workerd. */
  readonly #queues = new Map<Socket, ServerResponse[]>();
  /** The connections without any; those that have been so for longest come first. */
  readonly #idle = new Set<Socket>();
  #requests = 0;
  #counts = NO_COUNTS;

  /** @param port of workerd, on loopback */
  constructor(port: number, capacity: Capacity, deliverySilence = MAX_DELIVERY_SILENCE_MILLISECONDS) {
    this.#port = port;
    this.#capacity = capacity;
    this.#deliverySilence = deliverySilence;
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
    // A client that has sent everything may say so, and is answered (RFC 9112, section 9.6).
    Object.assign(this.#server, { httpAllowHalfOpen: true });
    const receive = (request: IncomingMessage, response: ServerResponse) => this.#receive(request, response);
    for (const event of ["request", "checkContinue", "checkExpectation"] as const) this.#server.on(event, receive);
    this.#server.on("connection", (socket) => this.#admit(socket));
    this.#server.on("connect", (_request, socket: Socket) => this.#refuseRest(socket));
    this.#server.on("clientError", (error: NodeJS.ErrnoException, socket: Socket) => {
      if (error.code?.startsWith("HPE_")) this.#refuseRest(socket);
      else socket.destroy();
    });
  }

  /** How many connections Node may take before it reads what the others have sent. */
  get #backlog(): number {
    return Math.ceil(this.#capacity.connections / 8);
  }

  /** Whether connections are closed once they are answered: there are many, or this is the end. */
  get #isClosing(): boolean {
    return this.#queues.size > this.#capacity.connections / 2 || !this.#server.listening;
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

  /** Of clients. */
  countOpen(): number {
    return this.#queues.size;
  }

  /** Takes no more connections. @returns when everything in flight is answered */
  close(): Promise<void> {
    return new Promise((resolve) => this.#server.close(() => resolve()));
  }

  #admit(socket: Socket): void {
    if (this.#queues.size >= this.#capacity.connections) {
      const [longestIdle] = this.#idle;
      // All others have a request under way.
      this.#count(longestIdle === undefined ? "connectionsRefused" : "idleConnectionsClosed");
      if (longestIdle === undefined) {
        socket.destroy();
        return;
      }
      this.#forget(longestIdle);
      longestIdle.destroy();
    }
    this.#queues.set(socket, []);
    this.#idle.add(socket);
    socket.once("close", () => this.#forget(socket));
    socket.once("end", () => this.#nudge(socket));
  }

  /**
   * A client that has closed its connection, and not only its half, resets it when it gets something, and the next write fails. One
   * that still reads must ignore an interim answer (RFC 9110, section 15.2).
   */
  #nudge(socket: Socket, isFirst = true): void {
    const [first] = this.#queues.get(socket) ?? [];
    if (first === undefined || first.headersSent || first.req.httpVersion !== "1.1") return;
    first.writeContinue();
    if (!isFirst) return;
    const again = setTimeout(() => this.#nudge(socket, false), NUDGE_MILLISECONDS);
    socket.once("close", () => clearTimeout(again));
  }

  #forget(socket: Socket): void {
    this.#queues.delete(socket);
    this.#idle.delete(socket);
  }

  #receive(request: IncomingMessage, response: ServerResponse): void {
    const { socket } = request;
    const queue = this.#queues.get(socket);
    if (queue === undefined || queue.length === MAX_PIPELINED) {
      socket.destroy();
      return;
    }
    this.#idle.delete(socket);
    queue.push(response);
    response.once("close", () => {
      queue.shift();
      const [next] = queue;
      if (next === undefined && this.#queues.has(socket)) this.#idle.add(socket);
      if (next !== undefined && !socket.destroyed && !next.headersSent) this.#relay(next.req, next);
      // Node has closed only those that were idle when it was told to close.
      if (!this.#server.listening) this.#server.closeIdleConnections();
    });
    if (queue.length === 1) this.#relay(request, response);
  }

  /** For what cannot be read. What came before it on the connection is answered. */
  #refuseRest(socket: Socket): void {
    const last = this.#queues.get(socket)?.at(-1);
    if (last === undefined) {
      refuseConnection(socket);
      return;
    }
    last.shouldKeepAlive = false;
    if (!last.req.complete && !last.headersSent) refuse(last.req, last, INCOMPLETE_BODY);
  }

  #relay(request: IncomingMessage, response: ServerResponse): void {
    if (!hasClearEnd(request)) {
      refuse(request, response, INVALID_HTTP);
      return;
    }
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
    const { method, url: path, rawHeaders, httpVersion } = request;
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
    sent.on("continue", () => {
      if (httpVersion === "1.1" && !response.headersSent) response.writeContinue();
    });
    sent.on("response", (answer) => this.#answer(answer, request, response));
    sent.on("error", () => {
      if (sent.destroyed && response.headersSent) return;
      refuse(request, response, serviceUnavailable("edge_failure"));
    });
    request.pipe(sent);
    // The edge may refuse a body before a byte of it has come. A head on its own makes the body slower.
    const headAlone = setTimeout(() => sent.flushHeaders(), HEAD_ALONE_MILLISECONDS);
    request.once("data", () => clearTimeout(headAlone));
    response.once("close", () => {
      clearTimeout(headAlone);
      // workerd notices that a client has gone only if the connection is reset.
      if (!response.writableFinished) sent.socket?.resetAndDestroy();
      sent.destroy();
    });
    return sent;
  }

  #answer(answer: IncomingMessage, request: IncomingMessage, response: ServerResponse): void {
    const { statusCode = 502, statusMessage, rawHeaders } = answer;
    if (response.headersSent) return void answer.destroy();
    // The edge gives each answer an id. This one is workerd's own, and no problem.
    if (statusCode >= 400 && answer.headers[REQUEST_ID_HEADER.toLowerCase()] === undefined) {
      answer.resume();
      const isInvalid = statusCode < 500 || statusCode === 501;
      refuse(request, response, isInvalid ? INVALID_HTTP : serviceUnavailable("edge_failure"));
      return;
    }
    // A body that the edge has refused still arrives.
    if (!request.complete || this.#isClosing) response.shouldKeepAlive = false;
    response.setTimeout(this.#deliverySilence, () => response.destroy());
    response.writeHead(statusCode, statusMessage, forwardedHeaders(rawHeaders, "transfer-encoding"));
    answer.pipe(response, { end: false });
    answer.once("end", () => endAnswer(request, response, LINGER_MILLISECONDS));
    answer.once("close", () => {
      // It broke off, and the client must see that.
      if (!answer.complete) response.destroy();
    });
  }
}

/** With another coding than chunks, or in HTTP/1.0, whoever is in front may see another end of the body (RFC 9112, section 6.1). */
function hasClearEnd({ httpVersion, headers }: IncomingMessage): boolean {
  const coding = headers["transfer-encoding"];
  return httpVersion === "1.1" ? /^(?:chunked)?$/i.test(coding ?? "") : httpVersion === "1.0" && coding === undefined;
}

/** @param own what Node decides by itself: an HTTP/1.0 client knows no chunks */
function forwardedHeaders(raw: readonly string[], own = ""): string[] {
  return raw.filter((_text, at) => {
    const name = (raw[at - (at % 2)] ?? "").toLowerCase();
    return name !== own && !HOP_BY_HOP.has(name);
  });
}

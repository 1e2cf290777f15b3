/**
 * The server of the edge in Node. It bounds connections and requests by what there are of open files, takes one request of a
 * connection at a time, and lets no client hold its place without end.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { Connections } from "../../../protocol/node/connections.ts";
import { answerMalformed, hasClearEnd, INCOMPLETE_BODY, MALFORMED } from "../../../protocol/node/malformed.ts";
import { FILE_ROUTES } from "../../../protocol/routes.ts";
import type { Problem } from "../../../rules/problem.ts";
import type { Answer, ClientRequest } from "../platform.ts";
import { valuesOf } from "./backend.ts";
import { Exchange } from "./exchange.ts";
import type { Capacity, RequestKind } from "./open-files.ts";

const HEAD_TIMEOUT_MILLISECONDS = 15_000;
const CHECK_MILLISECONDS = 1000;
/** How much longer an idle connection is kept than its last answer has said: a client may use it until then. */
const REQUEST_ON_ITS_WAY_MILLISECONDS = 2000;
const MAX_HEAD_BYTES = 64 * 1024;
/** Requests that a client sends on a connection before the first is answered. With more it is closed. */
const MAX_PIPELINED = 64;
/** The heads of these together, which no other limit counts: a client may send them while its first answer waits for it. */
const MAX_PIPELINED_HEAD_CHARACTERS = 2 * MAX_HEAD_BYTES;
/** How long a client may read nothing of its answer. */
const MAX_DELIVERY_SILENCE_MILLISECONDS = 30_000;
/** More than a reset takes to arrive. */
const NUDGE_MILLISECONDS = 1000;

const FILE_PATHS: ReadonlySet<string> = new Set(FILE_ROUTES.map(({ path }) => path));

/** What the limit on open files made the server do. */
export interface Counts {
  readonly idleConnectionsClosed: number;
  readonly connectionsRefused: number;
  readonly requestsRefused: number;
}

interface Pending {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly expectsContinue: boolean;
}

interface Delivery {
  bytesWritten: number;
  progressAt: number;
}

export interface ServerOptions {
  readonly capacity: Capacity;
  readonly idleConnectionSeconds: number;
  readonly deliverySilenceMilliseconds?: number;
  answer(request: ClientRequest): Promise<Answer>;
  /** The answer to what the edge cannot be asked. */
  refuse(request: ClientRequest, reason: Problem): Answer;
}

export class EdgeServer {
  readonly #options: ServerOptions;
  readonly #server: Server;
  readonly #connections: Connections;
  /** What is to be answered on each connection, in its order. The first is being answered. */
  readonly #queues = new WeakMap<Socket, Pending[]>();
  readonly #underWay: Record<RequestKind, number> = { render: 0, file: 0, health: 0, document: 0 };
  /** The answers under way, and how far each client has read its own. */
  readonly #deliveries = new Map<ServerResponse, Delivery>();
  #requestsRefused = 0;

  constructor(options: ServerOptions) {
    this.#options = options;
    const { capacity, idleConnectionSeconds } = options;
    this.#server = createServer({
      headersTimeout: HEAD_TIMEOUT_MILLISECONDS,
      keepAliveTimeout: idleConnectionSeconds * 1000,
      keepAliveTimeoutBuffer: REQUEST_ON_ITS_WAY_MILLISECONDS,
      connectionsCheckingInterval: CHECK_MILLISECONDS,
      // The edge bounds the time for a body.
      requestTimeout: 0,
      maxHeaderSize: MAX_HEAD_BYTES,
      // The edge answers these.
      requireHostHeader: false,
    });
    // A client that has sent everything may say so, and is answered (RFC 9112, section 9.6).
    Object.assign(this.#server, { httpAllowHalfOpen: true });
    this.#connections = new Connections(this.#server, capacity.connections);
    this.#server.on("request", (request, response) => this.#receive(request, response, false));
    this.#server.on("checkContinue", (request, response) => this.#receive(request, response, true));
    // An unknown expectation may be ignored (RFC 9110, section 10.1.1).
    this.#server.on("checkExpectation", (request, response) => this.#receive(request, response, false));
    this.#server.on("connection", (socket: Socket) => socket.once("end", () => this.#nudge(socket)));
    this.#server.on("connect", (_request, socket: Socket) => this.#refuseRest(socket));
    this.#server.on("clientError", (error: NodeJS.ErrnoException, socket: Socket) => {
      if (error.code?.startsWith("HPE_")) this.#refuseRest(socket);
      else socket.destroy();
    });
    const checks = setInterval(() => this.#endStalled(), CHECK_MILLISECONDS).unref();
    this.#server.once("close", () => clearInterval(checks));
  }

  listen(port: number, host: string): Promise<void> {
    // How many connections Node may take before it reads what the others have sent.
    const backlog = Math.ceil(this.#options.capacity.connections / 8);
    return new Promise((resolve, reject) => {
      this.#server.once("error", reject).listen({ port, host, backlog }, resolve);
    });
  }

  get openConnections(): number {
    return this.#connections.count;
  }

  /** See `Connections.stop`. */
  stop(deadlineMilliseconds: number): Promise<boolean> {
    return this.#connections.stop(deadlineMilliseconds);
  }

  /** @returns what was counted since the last call, or null if it is nothing. */
  takeCounts(): Counts | null {
    const { idleClosed, refused } = this.#connections.takeCounts();
    const counts = {
      idleConnectionsClosed: idleClosed,
      connectionsRefused: refused,
      requestsRefused: this.#requestsRefused,
    };
    this.#requestsRefused = 0;
    return Object.values(counts).some((count) => count > 0) ? counts : null;
  }

  /**
   * A client that has closed its connection, and not only its half, resets it when it gets something, and the next write fails. One
   * that still reads must ignore an interim answer (RFC 9110, section 15.2).
   */
  #nudge(socket: Socket, isFirst = true): void {
    const response = this.#queues.get(socket)?.[0]?.response;
    if (response === undefined || response.headersSent || response.req.httpVersion !== "1.1") return;
    response.writeContinue();
    if (!isFirst) return;
    const again = setTimeout(() => this.#nudge(socket, false), NUDGE_MILLISECONDS);
    socket.once("close", () => clearTimeout(again));
  }

  #receive(request: IncomingMessage, response: ServerResponse, expectsContinue: boolean): void {
    const { socket } = request;
    const queue = this.#queues.get(socket) ?? [];
    this.#queues.set(socket, queue);
    queue.push({ request, response, expectsContinue });
    if (queue.length > 1 && (queue.length > MAX_PIPELINED || headCharacters(queue) > MAX_PIPELINED_HEAD_CHARACTERS)) {
      socket.destroy();
      return;
    }
    response.once("close", () => {
      queue.shift();
      const [next] = queue;
      if (next !== undefined && !socket.destroyed && !next.response.headersSent) this.#answer(next);
    });
    const [first] = queue;
    if (queue.length === 1 && first !== undefined) this.#answer(first);
  }

  /** For what cannot be read. What came before it on the connection is answered. */
  #refuseRest(socket: Socket): void {
    const last = this.#queues.get(socket)?.at(-1);
    if (last === undefined) {
      answerMalformed(socket);
      return;
    }
    const { request, response } = last;
    response.shouldKeepAlive = false;
    if (!request.complete && !response.headersSent) this.#refuse(last, INCOMPLETE_BODY);
  }

  #answer(pending: Pending): void {
    const { request, response, expectsContinue } = pending;
    // Of two hosts, whoever is in front may take the other one.
    if (!hasClearEnd(request) || valuesOf(request, "host").length > 1) {
      this.#refuse(pending, MALFORMED);
      return;
    }
    const exchange = new Exchange(request, response, () => this.#takePlace(pending), expectsContinue);
    this.#options.answer(exchange).then(
      (answer) => this.#send(exchange, response, answer),
      () => response.destroy(),
    );
  }

  #takePlace({ request, response }: Pending): boolean {
    const kind = kindOf(request);
    if (this.#underWay[kind] >= this.#options.capacity.requests[kind]) {
      this.#requestsRefused++;
      return false;
    }
    this.#underWay[kind]++;
    response.once("close", () => this.#underWay[kind]--);
    return true;
  }

  #refuse({ request, response }: Pending, reason: Problem): void {
    const exchange = new Exchange(request, response, () => false, false);
    this.#send(exchange, response, this.#options.refuse(exchange, reason), true);
  }

  #send(exchange: Exchange, response: ServerResponse, answer: Answer, isLast = this.#connections.isClosing): void {
    if (response.headersSent) return;
    this.#deliveries.set(response, { bytesWritten: 0, progressAt: performance.now() });
    response.once("close", () => this.#deliveries.delete(response));
    exchange.send(answer, isLast);
  }

  /** Unread answers could otherwise take every place. */
  #endStalled(): void {
    const longest = this.#options.deliverySilenceMilliseconds ?? MAX_DELIVERY_SILENCE_MILLISECONDS;
    const now = performance.now();
    for (const [response, delivery] of this.#deliveries) {
      const bytesWritten = response.socket?.bytesWritten ?? 0;
      const waiting = response.socket?.writableLength ?? 0;
      const taken = bytesWritten - waiting;
      if (taken !== delivery.bytesWritten || waiting === 0)
        Object.assign(delivery, { bytesWritten: taken, progressAt: now });
      else if (now - delivery.progressAt >= longest) response.destroy();
    }
  }
}

function headCharacters(queue: readonly Pending[]): number {
  return queue.reduce((sum, { request: { url = "", rawHeaders } }) => sum + url.length + rawHeaders.join("").length, 0);
}

function kindOf({ method, url = "" }: IncomingMessage): RequestKind {
  if (method === "POST") return "render";
  const [path = ""] = url.split("?", 1);
  if (path === "/health") return "health";
  return FILE_PATHS.has(path) ? "file" : "document";
}

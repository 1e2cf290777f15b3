/**
 * The connections of an HTTP server: which are idle, and which ends when there are too many. It also ends them all when the server
 * stops: Node's own `close` ends those that are idle at once, though a request may be on its way, and waits for others without end.
 */
import type { IncomingMessage, Server, ServerResponse } from "node:http";
import { Server as NetServer, type Socket } from "node:net";

/** Longer than a request that was sent before its client could know of the stop may be on its way. */
const LAST_REQUESTS_MILLISECONDS = 500;
const CHECK_MILLISECONDS = 50;

export class Connections {
  readonly #server: Server;
  readonly #max: number;
  /** How many requests of each are not answered. */
  readonly #open = new Map<Socket, number>();
  /** Those without any; those that have been so for longest come first. */
  readonly #idle = new Set<Socket>();
  /** Those that have had a request. The first one of the others may be on its way. */
  readonly #used = new WeakSet<Socket>();
  #isStopping = false;
  #admitted = 0;
  #idleClosed = 0;
  #refused = 0;

  constructor(server: Server, max: number) {
    this.#server = server;
    this.#max = max;
    server.prependListener("connection", (socket: Socket) => this.#admit(socket));
    for (const event of ["request", "checkContinue", "checkExpectation"] as const) {
      server.prependListener(event, (request, response) => this.#begin(request, response));
    }
  }

  get count(): number {
    return this.#open.size;
  }

  /** Those that were ended because there were too many, since the last call. */
  takeCounts() {
    const counts = { idleClosed: this.#idleClosed, refused: this.#refused };
    this.#idleClosed = 0;
    this.#refused = 0;
    return counts;
  }

  /** Whether a connection is closed once it is answered: there are many, or this is the end. */
  get isClosing(): boolean {
    return this.#isStopping || this.#open.size > (this.#max * 3) / 4;
  }

  /**
   * Takes no more connections, answers what has been sent, and closes each as it is answered.
   * @param deadlineMilliseconds after this time those that are left are cut off
   * @returns whether all were answered
   */
  async stop(deadlineMilliseconds: number): Promise<boolean> {
    const deadline = performance.now() + deadlineMilliseconds;
    this.#isStopping = true;
    const lastConnection = performance.now() + Math.min(LAST_REQUESTS_MILLISECONDS, deadlineMilliseconds);
    while (this.#open.size > 0 && performance.now() < lastConnection) await pause();
    await this.#admitWaiting();
    // That of HTTP would also end connections on which nothing has come yet.
    NetServer.prototype.close.call(this.#server);
    const lastRequest = performance.now() + LAST_REQUESTS_MILLISECONDS;
    while (this.#open.size > 0 && performance.now() < deadline) {
      const isLate = performance.now() >= lastRequest;
      for (const socket of this.#idle) if (isLate || this.#used.has(socket)) socket.destroy();
      await pause();
    }
    const isAnswered = this.#open.size === 0;
    for (const socket of this.#open.keys()) socket.destroy();
    return isAnswered;
  }

  /** The kernel resets what waits when the server closes. Node takes one connection in each turn of its loop. */
  async #admitWaiting(): Promise<void> {
    const deadline = performance.now() + LAST_REQUESTS_MILLISECONDS;
    let before: number;
    // The first turn may already have looked for connections.
    await nextTurn();
    do {
      before = this.#admitted;
      await nextTurn();
    } while (this.#admitted > before && performance.now() < deadline);
  }

  #admit(socket: Socket): void {
    this.#admitted++;
    if (this.#open.size >= this.#max) {
      const [longestIdle] = this.#idle;
      if (longestIdle === undefined) {
        // All others have a request under way.
        this.#refused++;
        socket.destroy();
        return;
      }
      this.#idleClosed++;
      this.#forget(longestIdle);
      longestIdle.destroy();
    }
    this.#open.set(socket, 0);
    this.#idle.add(socket);
    socket.once("close", () => this.#forget(socket));
  }

  #begin({ socket }: IncomingMessage, response: ServerResponse): void {
    this.#open.set(socket, (this.#open.get(socket) ?? 0) + 1);
    this.#used.add(socket);
    this.#idle.delete(socket);
    response.once("close", () => {
      const count = this.#open.get(socket);
      if (count === undefined) return;
      this.#open.set(socket, count - 1);
      if (count === 1) this.#idle.add(socket);
    });
  }

  #forget(socket: Socket): void {
    this.#open.delete(socket);
    this.#idle.delete(socket);
  }
}

const nextTurn = () => new Promise((resolve) => setImmediate(resolve));
const pause = () => new Promise((resolve) => setTimeout(resolve, CHECK_MILLISECONDS));

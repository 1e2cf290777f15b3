/**
 * The connections of an HTTP server: which are idle, and which ends when there are too many. It also ends them all when the server
 * stops: Node's own `close` ends those that are idle at once, though a request may be on its way, and waits for others without end.
 */
import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { Socket } from "node:net";

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
  #isStopping = false;
  idleClosed = 0;
  refused = 0;

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
    const lastRequest = performance.now() + Math.min(LAST_REQUESTS_MILLISECONDS, deadlineMilliseconds);
    while (this.#open.size > 0 && performance.now() < lastRequest) await pause();
    this.#server.close();
    while (this.#open.size > 0 && performance.now() < deadline) {
      for (const socket of this.#idle) socket.destroy();
      await pause();
    }
    const isAnswered = this.#open.size === 0;
    for (const socket of this.#open.keys()) socket.destroy();
    return isAnswered;
  }

  #admit(socket: Socket): void {
    if (this.#open.size >= this.#max) {
      const [longestIdle] = this.#idle;
      if (longestIdle === undefined) {
        // All others have a request under way.
        this.refused++;
        socket.destroy();
        return;
      }
      this.idleClosed++;
      this.#forget(longestIdle);
      longestIdle.destroy();
    }
    this.#open.set(socket, 0);
    this.#idle.add(socket);
    socket.once("close", () => this.#forget(socket));
  }

  #begin({ socket }: IncomingMessage, response: ServerResponse): void {
    this.#open.set(socket, (this.#open.get(socket) ?? 0) + 1);
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

const pause = () => new Promise((resolve) => setTimeout(resolve, CHECK_MILLISECONDS));

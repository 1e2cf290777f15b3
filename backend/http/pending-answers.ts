/**
 * The answers that each connection still owes: for whoever has to say something on a connection after them.
 */
import type { IncomingMessage, Server } from "node:http";
import type { Socket } from "node:net";

interface PendingAnswer {
  readonly request: IncomingMessage;
  readonly closed: Promise<void>;
}

export class PendingAnswers {
  readonly #bySocket = new WeakMap<Socket, Set<PendingAnswer>>();

  /** Watches the requests of a server. */
  watch(server: Server): void {
    server.on("request", (request, response) => {
      const pending = this.#bySocket.get(request.socket) ?? new Set();
      const closed = new Promise<void>((resolve) => response.once("close", resolve));
      const answer: PendingAnswer = { request, closed };
      pending.add(answer);
      void closed.then(() => pending.delete(answer));
      this.#bySocket.set(request.socket, pending);
    });
  }

  /**
   * Resolves once the requests that have come whole on a connection are answered, or the connection is gone. Nothing is
   * owed to a request that is cut short.
   */
  async of(socket: Socket): Promise<void> {
    const owed = [...(this.#bySocket.get(socket) ?? [])].filter(({ request }) => request.complete);
    await Promise.all(owed.map(({ closed }) => closed));
  }
}

/**
 * Tracks the answers that are still to come on each connection, for code that must write to the connection after them.
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
   * Resolves once every complete request on a connection is answered, or the connection is closed. An incomplete
   * request gets no answer and is not waited for.
   */
  async of(socket: Socket): Promise<void> {
    const pending = [...(this.#bySocket.get(socket) ?? [])].filter(({ request }) => request.complete);
    await Promise.all(pending.map(({ closed }) => closed));
  }
}

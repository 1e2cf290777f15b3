/**
 * The answers that each connection still owes: for whoever has to say something on a connection beside them.
 */
import { once } from "node:events";
import type { Server } from "node:http";
import type { Socket } from "node:net";

export class PendingAnswers {
  readonly #bySocket = new WeakMap<Socket, Set<Promise<unknown>>>();

  /** Watches the requests of a server. */
  watch(server: Server): void {
    server.on("request", ({ socket }, response) => {
      const pending = this.#bySocket.get(socket) ?? new Set();
      const closed = once(response, "close").finally(() => pending.delete(closed));
      pending.add(closed);
      this.#bySocket.set(socket, pending);
    });
  }

  /** Resolves once every answer to the requests that have come on a connection is complete, or the connection is gone. */
  async of(socket: Socket): Promise<void> {
    await Promise.allSettled(this.#bySocket.get(socket) ?? []);
  }
}

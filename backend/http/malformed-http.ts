/**
 * The answer to bytes that are not valid HTTP, and to requests that are not complete in time. It follows all other
 * answers that are still to come on its connection.
 */
import { randomUUID } from "node:crypto";
import type { IncomingMessage, Server } from "node:http";
import type { Socket } from "node:net";
import { COMMON_HEADERS, NOT_STORED_HEADERS, REQUEST_ID_HEADER } from "../../protocol/headers.ts";
import { PROBLEM_MEDIA_TYPE, problem, problemDocument } from "../../rules/problem.ts";

const LINGER_MILLISECONDS = 1000;

/** Closes the connection, because the start of the next request cannot be found. */
export function answerMalformedHttp(socket: Socket, pendingAnswers: Promise<unknown>): void {
  void pendingAnswers.then(() => closeWithProblem(socket));
}

function closeWithProblem(socket: Socket): void {
  if (!socket.writable) return;
  const requestId = randomUUID();
  const malformed = problem("invalid_request", "The request is not valid HTTP, or did not arrive in time.", {});
  const body = JSON.stringify(problemDocument(malformed, `#${requestId}`));
  const headers = {
    ...COMMON_HEADERS,
    ...NOT_STORED_HEADERS,
    "Content-Type": PROBLEM_MEDIA_TYPE,
    "Content-Length": Buffer.byteLength(body),
    [REQUEST_ID_HEADER]: requestId,
    Connection: "close",
  };
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.end(`HTTP/1.1 400 Bad Request\r\n${lines.join("")}\r\n${body}`);
  // The client may never close its side.
  setTimeout(() => socket.destroy(), LINGER_MILLISECONDS).unref();
}

interface PendingAnswer {
  readonly request: IncomingMessage;
  readonly closed: Promise<void>;
}

export class PendingAnswers {
  readonly #bySocket = new WeakMap<Socket, Set<PendingAnswer>>();

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

/** What cannot be read as HTTP, or could be read in two ways: how it is told, and the problem that answers it. */
import { randomUUID } from "node:crypto";
import type { IncomingMessage } from "node:http";
import type { Socket } from "node:net";
import { problem } from "../../rules/problem.ts";
import { MAX_DISCARD_MILLISECONDS } from "../body-collector.ts";
import { COMMON_HEADERS, REQUEST_ID_HEADER } from "../headers.ts";
import { answerProblem } from "../problem-answer.ts";

export const MALFORMED = problem(
  "invalid_request",
  "The request is not valid HTTP/1.1, its head is too long, or it did not arrive in time.",
  {},
);
export const INCOMPLETE_BODY = problem("invalid_request", "The body did not arrive completely.", {});

/** With another coding than chunks, or in HTTP/1.0, whoever is in front may see another end of the body (RFC 9112, section 6.1). */
export function hasClearEnd({ httpVersion, headers }: IncomingMessage): boolean {
  const coding = headers["transfer-encoding"];
  return httpVersion === "1.1" ? /^(?:chunked)?$/i.test(coding ?? "") : httpVersion === "1.0" && coding === undefined;
}

/** Answers, and closes the connection: the start of a next request cannot be found. */
export function answerMalformed(socket: Socket): void {
  // The client has been refused, and still sends.
  if (!socket.writable) return;
  const requestId = randomUUID();
  const { headers, body } = answerProblem(MALFORMED, null, requestId, null);
  const fields = {
    ...COMMON_HEADERS,
    ...headers,
    "Content-Length": Buffer.byteLength(body),
    [REQUEST_ID_HEADER]: requestId,
    Connection: "close",
  };
  const lines = Object.entries(fields).map(([name, value]) => `${name}: ${value}\r\n`);
  // After CONNECT, Node no longer handles errors or data of this socket.
  socket.on("error", () => {}).resume();
  socket.end(`HTTP/1.1 400 Bad Request\r\n${lines.join("")}\r\n${body}`);
  // The client may never close its side.
  const timer = setTimeout(() => socket.destroy(), MAX_DISCARD_MILLISECONDS);
  socket.once("close", () => clearTimeout(timer));
}

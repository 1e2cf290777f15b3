/** Answers that the gate gives itself: problems, as the edge's own. */
import { randomUUID } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { MAX_DISCARD_MILLISECONDS } from "../protocol/body-collector.ts";
import { COMMON_HEADERS, NOT_STORED_HEADERS, REQUEST_ID_HEADER } from "../protocol/headers.ts";
import {
  PROBLEM_MEDIA_TYPE,
  PROBLEMS,
  type Problem,
  problem,
  problemDocument,
  problemInstance,
} from "../rules/problem.ts";

export const INVALID_HTTP = problem(
  "invalid_request",
  "The request is not valid HTTP/1.1, or its head is too long.",
  {},
);
export const INCOMPLETE_BODY = problem("invalid_request", "The body did not arrive completely.", {});

/** Answers, and closes the connection. */
export function refuse(request: IncomingMessage, response: ServerResponse, reason: Problem): void {
  if (response.headersSent) return void response.destroy();
  const { url = "/", headers } = request;
  const scheme = headers["x-forwarded-proto"] === "https" ? "https" : "http";
  const { status, fields, text } = answerOf(reason, `${scheme}://${headers.host ?? ""}${url}`);
  response.shouldKeepAlive = false;
  response.writeHead(status, fields).write(text);
  endAnswer(request, response, MAX_DISCARD_MILLISECONDS);
}

/** The same on a connection whose request cannot be read. */
export function refuseConnection(socket: Socket): void {
  // It has been refused, and still sends.
  if (!socket.writable) return;
  const { status, fields, text } = answerOf(INVALID_HTTP, "");
  const lines = Object.entries({ ...fields, Connection: "close" }).map(([name, value]) => `${name}: ${value}\r\n`);
  // It is in the hands of nobody else after CONNECT.
  socket.on("error", () => {}).resume();
  socket.end(`HTTP/1.1 ${status} Bad Request\r\n${lines.join("")}\r\n${text}`);
  const timer = setTimeout(() => socket.destroy(), MAX_DISCARD_MILLISECONDS);
  socket.once("close", () => clearTimeout(timer));
}

/** Ends an answer, though not while its client still sends: it might miss the answer when its connection is closed. */
export function endAnswer(request: IncomingMessage, response: ServerResponse, lingerMilliseconds: number): void {
  const { socket } = request;
  if (request.complete || socket.readableEnded) {
    response.end();
    return;
  }
  request.unpipe();
  request.resume();
  const end = () => {
    clearTimeout(timer);
    response.end();
  };
  const timer = setTimeout(end, lingerMilliseconds);
  request.once("close", end);
  socket.once("end", end);
}

function answerOf(reason: Problem, url: string) {
  const requestId = randomUUID();
  const text = JSON.stringify(problemDocument(reason, problemInstance(url, requestId)));
  const fields = {
    ...NOT_STORED_HEADERS,
    ...COMMON_HEADERS,
    "Content-Type": PROBLEM_MEDIA_TYPE,
    "Content-Length": Buffer.byteLength(text),
    [REQUEST_ID_HEADER]: requestId,
    ...(reason.code === "render_queue_full" && { "Retry-After": reason.context.retry_after }),
  };
  return { status: PROBLEMS[reason.code].status, fields, text };
}

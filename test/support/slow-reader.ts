/**
 * Clients that send a render request and do not read the answer, or read it as slowly as they are told.
 */
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { BACKEND_TOKEN } from "./tokens.ts";

export interface SlowReader {
  readonly socket: Socket;
  /** Reads the rest of the answer, to the end of the connection; its bytes without the head. */
  readRest(): Promise<Buffer>;
}

/** Sends a request for a caller and reads nothing of the answer. */
export function sendWithoutReading(url: URL, body: object, caller = "slow"): SlowReader {
  const socket = connect(Number(url.port), url.hostname);
  socket.pause();
  // A server that gives up resets the connection.
  socket.on("error", () => {});
  const text = JSON.stringify(body);
  const head = [
    "POST /v1/render HTTP/1.1",
    `Host: ${url.host}`,
    `X-Service-Backend-Token: ${BACKEND_TOKEN}`,
    `X-Service-Caller: ${caller}`,
    "Content-Type: application/json",
    `Content-Length: ${Buffer.byteLength(text)}`,
    "Connection: close",
  ];
  socket.write(`${head.join("\r\n")}\r\n\r\n${text}`);
  return {
    socket,
    readRest: async () => {
      const pieces: Buffer[] = [];
      socket.on("data", (piece: Buffer) => pieces.push(piece));
      socket.resume();
      if (!socket.closed) await once(socket, "close");
      const answer = Buffer.concat(pieces);
      return answer.subarray(answer.indexOf("\r\n\r\n") + 4);
    },
  };
}

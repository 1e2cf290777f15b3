/** A backend that a test controls: it reads bodies, answers when the test tells it to, and counts. */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { closeServer, listenOnLoopback } from "../loopback-server.ts";

export interface StandInBackend {
  readonly url: URL;
  /** The number of renders with an open connection and no answer yet. */
  readonly openRenders: () => number;
  /** The heads of all renders so far. */
  readonly renders: IncomingMessage[];
  /** Whether renders are answered as soon as their body has arrived; otherwise they wait. */
  answersAtOnce: boolean;
  /** Answers a render with a small PDF. */
  answer: (response: ServerResponse) => void;
  scrapes: number;
  /** Answers `/metrics`. */
  metrics: (response: ServerResponse) => void;
  stop(): Promise<void>;
}

export function answerWithFile(response: ServerResponse): void {
  response.writeHead(200, { "Content-Type": "application/pdf", "Content-Length": "5" }).end("%PDF-");
}

export async function startStandInBackend(): Promise<StandInBackend> {
  const open = new Set<ServerResponse>();
  const server = createServer((request, response) => {
    if (request.url === "/metrics") {
      backend.scrapes++;
      backend.metrics(response);
      return;
    }
    backend.renders.push(request);
    open.add(response);
    response.once("close", () => open.delete(response));
    request.on("error", () => {});
    request.resume().once("end", () => {
      if (backend.answersAtOnce) backend.answer(response);
    });
  });
  const backend: StandInBackend = {
    url: await listenOnLoopback(server),
    openRenders: () => open.size,
    renders: [],
    answersAtOnce: true,
    answer: answerWithFile,
    scrapes: 0,
    metrics: (response) => response.end("# HELP up Up.\n# TYPE up gauge\nup 1\n"),
    stop: () => closeServer(server),
  };
  return backend;
}

/**
 * A service that answers what a test tells it to: for answers that the real one gives only under load or when it is
 * broken.
 */
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { onTestFinished } from "vitest";
import { CAPABILITIES_PATH } from "../../../protocol/capabilities.ts";
import { constraintsDocument } from "../../../rules/constraints.ts";
import { DEFAULT_LIMITS, type Limits } from "../../../rules/limits.ts";
import { type Problem, problemDocument } from "../../../rules/problem.ts";
import { closeServer, listenOnLoopback } from "../loopback-server.ts";

export interface ScriptedService {
  readonly url: string;
  readonly requests: IncomingMessage[];
  /** Of the render requests, in the order in which they were complete. */
  readonly bodies: SentRequest[];
  /** What has been written to all connections, heads included. */
  sentBytes(): number;
  /** Resolves when no connection is open. */
  closed(): Promise<void>;
}

/** What a render request carries, as far as tests look at it. */
export interface SentRequest {
  readonly source: string;
  readonly files: Readonly<Record<string, { readonly encoding: string; readonly content: string }>>;
  readonly data?: unknown;
}

const ETAG = '"of-a-test"';

/** Starts a service that publishes the constraints and leaves renders to `answer`. It ends with its test. */
export async function startScriptedService(
  answer: (response: ServerResponse, count: number) => void,
  limits: Limits = DEFAULT_LIMITS,
): Promise<ScriptedService> {
  const { output_rules: rules, ...published } = constraintsDocument(limits);
  // Without vectors: the client for Python compares each of them.
  const constraints = JSON.stringify({
    ...published,
    conformance_vectors: [],
    output_rules: { ...rules, conformance_vectors: [] },
  });
  const requests: IncomingMessage[] = [];
  const bodies: SentRequest[] = [];
  let renders = 0;
  const server = createServer((request, response) => {
    // As a service of a version that does not say what it has.
    if (request.url === CAPABILITIES_PATH) return void response.writeHead(404).end();
    requests.push(request);
    if (request.url === "/v1/constraints") {
      if (request.headers["if-none-match"] === ETAG) response.writeHead(304).end();
      else {
        response.writeHead(200, { "Content-Type": "application/json", ETag: ETAG });
        response.end(constraints);
      }
      return;
    }
    request.on("error", () => {});
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.once("end", () => {
      if (request.method === "POST") bodies.push(JSON.parse(Buffer.concat(chunks).toString("utf8")));
      answer(response, ++renders);
    });
  });
  const sockets: Socket[] = [];
  server.on("connection", (socket) => sockets.push(socket));
  const { origin } = await listenOnLoopback(server);
  onTestFinished(() => closeServer(server));
  return {
    url: origin,
    requests,
    bodies,
    sentBytes: () => sockets.reduce((sum, { bytesWritten }) => sum + bytesWritten, 0),
    closed: async () => {
      await Promise.all(sockets.map((socket) => socket.destroyed || once(socket, "close")));
    },
  };
}

export function sendPdf(response: ServerResponse): void {
  response.writeHead(200, { "Content-Type": "application/pdf" }).end("%PDF-");
}

export function sendProblem(response: ServerResponse, status: number, problem: Problem, headers = {}): void {
  response.writeHead(status, { "Content-Type": "application/problem+json", ...headers });
  response.end(JSON.stringify(problemDocument(problem, "http://127.0.0.1/v1/render#id-of-a-test")));
}

/** A service that answers what a test tells it to: what the real one does only under load, when broken, or never. */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { text } from "node:stream/consumers";
import { onTestFinished } from "vitest";
import { CAPABILITIES_PATH } from "../../../protocol/capabilities.ts";
import { constraintsDocument } from "../../../rules/constraints.ts";
import { DEFAULT_LIMITS, type Limits } from "../../../rules/limits.ts";
import { PROBLEMS, type Problem, problem, problemDocument } from "../../../rules/problem.ts";
import { closeServer, listenOnLoopback } from "../loopback-server.ts";

export type Behaviour = (response: ServerResponse) => void;

export type ScriptedService = Awaited<ReturnType<typeof startScriptedService>>;

/** What a render request carries, as far as tests look at it. */
interface SentRequest {
  readonly source: string;
  readonly files: Readonly<Record<string, { readonly encoding: string; readonly content: string }>>;
  readonly data?: unknown;
}

const ETAG = '"of-a-test"';

/**
 * Starts a service that publishes the constraints and leaves renders to `answer`, or leaves all requests to it if there
 * are no limits to publish. It ends with its test.
 */
export async function startScriptedService(
  answer: (response: ServerResponse, count: number) => void,
  limits: Limits | null = DEFAULT_LIMITS,
  /** By default as a service of a version that does not say what it has. */
  capabilities: Behaviour = (response) => void response.writeHead(404).end(),
  /** That of the test's context, in a test that runs beside others. */
  onFinished = onTestFinished,
) {
  const constraints = limits === null ? null : constraintsWithoutVectors(limits);
  const requests: IncomingMessage[] = [];
  /** Of the render requests, in the order in which they were complete. */
  const bodies: SentRequest[] = [];
  /** The same as they were sent: JavaScript puts members that are whole numbers first. */
  const texts: string[] = [];
  let answered = 0;
  const server = createServer((request, response) => {
    if (request.url === CAPABILITIES_PATH) return capabilities(response);
    requests.push(request);
    if (request.url === "/v1/constraints" && constraints !== null) {
      if (request.headers["if-none-match"] === ETAG) response.writeHead(304).end();
      else {
        response.writeHead(200, { "Content-Type": "application/json", ETag: ETAG });
        response.end(constraints);
      }
      return;
    }
    const receive = (body: string) => {
      if (request.method === "POST") {
        bodies.push(JSON.parse(body));
        texts.push(body);
      }
      answer(response, ++answered);
    };
    // What a client breaks off is not answered.
    text(request).then(receive, () => {});
  });
  const sockets: Socket[] = [];
  server.on("connection", (socket) => sockets.push(socket));
  const { origin } = await listenOnLoopback(server);
  onFinished(() => closeServer(server));
  /** What has been written to all connections, heads included. */
  const sentBytes = () => sockets.reduce((sum, { bytesWritten }) => sum + bytesWritten, 0);
  return { url: origin, requests, bodies, texts, sentBytes };
}

/** Starts a server that answers each request, whatever it asks, with the next behaviour; the last one is repeated. */
export const startScript = (...behaviours: readonly Behaviour[]) =>
  startScriptedService((response, count) => (behaviours[count - 1] ?? behaviours.at(-1))?.(response), null);

/** The client for Python would compare each vector. */
function constraintsWithoutVectors(limits: Limits): string {
  const { output_rules: rules, ...published } = constraintsDocument(limits);
  return JSON.stringify({
    ...published,
    conformance_vectors: [],
    output_rules: { ...rules, conformance_vectors: [] },
  });
}

export const PDF = { "Content-Type": "application/pdf" };
export const PROBLEM = { "Content-Type": "application/problem+json" };
export const INSTANCE = "http://127.0.0.1/v1/render#id";

export function answer(status: number, headers: Record<string, string>, body: string | Uint8Array = ""): Behaviour {
  return (response) => void response.writeHead(status, headers).end(body);
}

/** The shortest file that is whole. */
export const WHOLE_PDF = "%PDF-1.7\n%%EOF";
export const sendPdf = answer(200, PDF, WHOLE_PDF);
export const breakConnection: Behaviour = (response) => void response.destroy();

/** The rejection of a service, with the status of the problem's code. */
export function reject(problem: Problem, headers: object = {}): Behaviour {
  const document = JSON.stringify(problemDocument(problem, INSTANCE));
  return answer(PROBLEMS[problem.code].status, { ...PROBLEM, ...headers }, document);
}

/** Writes until the other side hangs up. */
export function endlessAnswer(status: number, headers: Record<string, string>, start = ""): Behaviour {
  return (response) => {
    const chunk = Buffer.alloc(64 * 1024, " ");
    const writeMore = () => {
      while (!response.destroyed && response.write(chunk));
      response.once("drain", writeMore);
    };
    response.writeHead(status, headers).write(start);
    writeMore();
  };
}

/** The rejection of a service without a free slot; a proxy may have removed its header. */
export function full(retryAfter: number, headers: object = { "Retry-After": String(retryAfter) }): Behaviour {
  return reject(problem("render_queue_full", "Full.", { retry_after: retryAfter }), headers);
}

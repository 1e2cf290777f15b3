/** A backend that a test scripts: what it does with a render once the whole body is there. */
import { createServer, type IncomingHttpHeaders, type Server, type ServerResponse } from "node:http";
import { CALLER_HEADER, PROBE_CALLER } from "../../../protocol/headers.ts";
import { PROBLEMS, type ProblemCode } from "../../../rules/problem.ts";
import { LOOPBACK } from "../../../scripts/start/local-service.ts";
import { closeServer, listenOnLoopback } from "../loopback-server.ts";

export interface BackendRequest {
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

export type Behaviour = (response: ServerResponse, request: BackendRequest) => void;

/** The body of an answer with status 200. It names the backend. */
const fileOf = (name: string) => `%PDF by ${name}`;

export class ScriptedBackend {
  readonly name: string;
  /** The renders of callers that arrived completely. */
  readonly requests: BackendRequest[] = [];
  /** The number of renders whose connection was closed before their answer. */
  abandoned = 0;
  /** The number of renders by which the edge probed it. */
  probes = 0;
  behaviour: Behaviour = (response) => this.answer(response);
  /**
   * The same, unless the test says otherwise. Whatever happens to renders, `/health` and `/ready` are answered with
   * 200.
   */
  probeBehaviour: Behaviour = (response, request) => this.behaviour(response, request);
  /** Called for each request that is no render, before its answer. */
  elsewhere: () => void = () => {};
  #server: Server | null = null;
  #port = 0;

  constructor(name: string) {
    this.name = name;
  }

  get url(): URL {
    return new URL(`http://${LOOPBACK}:${this.#port}`);
  }

  /** The backend as an entry of `SERVICE_BACKEND_URLS`. */
  get entry(): string {
    return `${this.name}=${this.url.origin}`;
  }

  /** Starts listening, on the same port as before if it has been stopped. */
  async start(): Promise<this> {
    this.#server = createServer((request, response) => {
      if (request.url !== "/v1/render") {
        this.elsewhere();
        response.end('{"status":"ok"}');
        return;
      }
      const chunks: Buffer[] = [];
      request.on("error", () => {});
      response.once("close", () => {
        if (!response.writableFinished) this.abandoned++;
      });
      request
        .on("data", (chunk: Buffer) => chunks.push(chunk))
        .once("end", () => {
          const received = { headers: request.headers, body: Buffer.concat(chunks) };
          if (request.headers[CALLER_HEADER.toLowerCase()] === PROBE_CALLER) {
            this.probes++;
            this.probeBehaviour(response, received);
            return;
          }
          this.requests.push(received);
          this.behaviour(response, received);
        });
    });
    this.#port = Number((await listenOnLoopback(this.#server, this.#port)).port);
    return this;
  }

  /** Answers with a file that names this backend. */
  answer(response: ServerResponse, headers: Readonly<Record<string, string>> = {}): void {
    const file = fileOf(this.name);
    response.writeHead(200, { "Content-Type": "application/pdf", "Content-Length": file.length, ...headers }).end(file);
  }

  /** Closes all connections and the port. */
  async stop(): Promise<void> {
    const server = this.#server;
    if (server === null) return;
    this.#server = null;
    await closeServer(server);
  }
}

/** A behaviour that answers with a problem as a backend does. */
export function problemAnswer(code: ProblemCode, headers: Readonly<Record<string, string>> = {}): Behaviour {
  const own = { "Content-Type": "application/problem+json", "X-Service-Problem-Code": code };
  return (response) => {
    response.writeHead(PROBLEMS[code].status, { ...own, ...headers }).end("{}");
  };
}

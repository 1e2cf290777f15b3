/** A backend that a test scripts: what it does with a render once the body is there, and how often it was asked. */
import { createServer, type IncomingHttpHeaders, type Server, type ServerResponse } from "node:http";
import { buffer } from "node:stream/consumers";
import { CALLER_HEADER, PROBE_CALLER } from "../../../protocol/headers.ts";
import { PROBLEMS, type ProblemCode } from "../../../rules/problem.ts";
import { LOOPBACK } from "../../../scripts/start/local-service.ts";
import { closeServer, listenOnLoopback } from "../loopback-server.ts";

export type Behaviour = (
  response: ServerResponse,
  request: { readonly headers: IncomingHttpHeaders; readonly body: Buffer },
) => void;

export class ScriptedBackend {
  readonly name: string;
  /** The header fields of the renders of callers that arrived completely. */
  readonly renders: IncomingHttpHeaders[] = [];
  /** The number of renders whose connection was closed before their answer. */
  abandoned = 0;
  /** The number of renders by which the edge probed it. */
  probes = 0;
  /** The number of requests that are no renders, and how they are answered. */
  askedElsewhere = 0;
  elsewhere: (response: ServerResponse) => void = (response) => response.end("{}");
  behaviour: Behaviour = (response) => this.answer(response);
  /** The same, unless the test says otherwise. */
  probeBehaviour: Behaviour = (response, request) => this.behaviour(response, request);
  readonly #open = new Set<ServerResponse>();
  #server: Server | null = null;
  #port = 0;

  constructor(name = "a") {
    this.name = name;
  }

  get url(): URL {
    return new URL(`http://${LOOPBACK}:${this.#port}`);
  }

  /** The backend as an entry of `SERVICE_BACKEND_URLS`. */
  get entry(): string {
    return `${this.name}=${this.url.origin}`;
  }

  /** The number of requests with an open connection. */
  readonly countOpen = () => this.#open.size;

  /** Starts listening, on the same port as before if it has been stopped. */
  async start(): Promise<this> {
    this.#server = createServer((request, response) => {
      this.#open.add(response);
      response.once("close", () => this.#open.delete(response));
      if (request.url !== "/v1/render") {
        this.askedElsewhere++;
        this.elsewhere(response);
        return;
      }
      response.once("close", () => {
        if (!response.writableFinished) this.abandoned++;
      });
      const { headers } = request;
      const receive = (body: Buffer) => {
        const isProbe = headers[CALLER_HEADER.toLowerCase()] === PROBE_CALLER;
        if (isProbe) this.probes++;
        else this.renders.push(headers);
        const behave = isProbe ? this.probeBehaviour : this.behaviour;
        behave(response, { headers, body });
      };
      buffer(request).then(receive, () => {});
    });
    this.#port = Number((await listenOnLoopback(this.#server, this.#port)).port);
    return this;
  }

  answer(response: ServerResponse, headers: Readonly<Record<string, string>> = {}): void {
    const file = `%PDF by ${this.name}`;
    response.writeHead(200, { "Content-Type": "application/pdf", "Content-Length": file.length, ...headers }).end(file);
  }

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

/**
 * A server that gives the answers of a script: what the real service does only under load, when it is broken, or never.
 */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { problem, problemDocument } from "../../../rules/problem.ts";
import { closeServer, listenOnLoopback } from "../loopback-server.ts";

export type Behaviour = (response: ServerResponse, request: IncomingMessage) => void;

export class ScriptedAnswers {
  /** What the server does with the first request, the second and so on; the last one is repeated. */
  behaviours: Behaviour[] = [];
  requests: IncomingMessage[] = [];
  readonly #server = createServer((request, response) => {
    request.on("error", () => {});
    this.requests.push(request);
    const behave = this.behaviours.length > 1 ? this.behaviours.shift() : this.behaviours[0];
    request.resume().once("end", () => behave?.(response, request));
  });

  /** Begins a new script. @returns the address */
  start(): Promise<URL> {
    this.requests = [];
    return listenOnLoopback(this.#server);
  }

  stop(): Promise<unknown> {
    return closeServer(this.#server);
  }
}

export const PDF = { "Content-Type": "application/pdf" };
export const PROBLEM = { "Content-Type": "application/problem+json" };
const INSTANCE = "http://127.0.0.1/v1/render#id";

export const rendered: Behaviour = (response) => void response.writeHead(200, PDF).end("%PDF-");
export const broken: Behaviour = (response) => void response.destroy();

export function answer(status: number, headers: Record<string, string>, body = ""): Behaviour {
  return (response) => void response.writeHead(status, headers).end(body);
}

const endless = endlessAnswer(200, { "Content-Type": "application/json" });

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

export function fullDocument(retryAfter: number): string {
  const full = problem("render_queue_full", "Full.", { retry_after: retryAfter });
  return JSON.stringify(problemDocument(full, INSTANCE));
}

export function full(retryAfter: number): Behaviour {
  return answer(429, { ...PROBLEM, "Retry-After": String(retryAfter) }, fullDocument(retryAfter));
}

export function failed(code: "render_failed" | "service_unavailable", status: number): Behaviour {
  return answer(status, PROBLEM, JSON.stringify(problemDocument(problem(code, "Failed.", {}), INSTANCE)));
}

/** A problem of a code that no version of the client knows, of the origin that is given. */
export function unknownProblem(origin: string): object {
  return {
    ...problemDocument(problem("forbidden", "No.", {}), INSTANCE),
    code: "brand_new",
    context: { colour: "red" },
    extra: 1,
    origin,
  };
}

/** What answers at the address of a service but is not one. */
export const NOT_THE_SERVICE: readonly (readonly [what: string, behaviour: Behaviour, status: number])[] = [
  ["a page", answer(200, { "Content-Type": "text/html" }, "<h1>Log in</h1>"), 200],
  ["JSON", answer(200, { "Content-Type": "application/json" }, "{}"), 200],
  ["JSON without end", endless, 200],
  ["nothing", answer(204, {}), 204],
  ["a page that is not found", answer(404, { "Content-Type": "text/html" }), 404],
  ["a problem of another service", answer(400, PROBLEM, '{"title":"x"}'), 400],
  ["a problem of an unknown origin", answer(403, PROBLEM, JSON.stringify(unknownProblem("elsewhere"))), 403],
  ["a problem that is not JSON", answer(400, PROBLEM, "{"), 400],
  ["a redirect", answer(307, { Location: "/elsewhere" }), 307],
];

/** Values of `Content-Disposition`, with the name of the file that a client takes from each. */
export const FILE_NAMES: readonly (readonly [field: string, name: string])[] = [
  ['inline; filename="a.pdf"', "a.pdf"],
  ["inline; filename=a.pdf", "a.pdf"],
  ["attachment; filename=\"?.pdf\"; filename*=UTF-8''%E2%82%AC.pdf", "€.pdf"],
  ['inline; filename="../../etc/passwd"', "passwd"],
  ['inline; filename="C:\\\\temp\\\\a.pdf"', "a.pdf"],
  ['inline; filename=".."', "document.pdf"],
  ['inline; filename="a/"', "document.pdf"],
  ["inline; filename*=UTF-8''a%00.pdf", "document.pdf"],
  ["inline; filename*=UTF-8''%1b%5b2J.pdf", "document.pdf"],
  ["inline", "document.pdf"],
  ["", "document.pdf"],
];

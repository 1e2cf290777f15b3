/**
 * A server that the doctor asks: the edge, or a backend directly. Not by `fetch`: the doctor sees every header field and
 * the certificate. Redirects are never followed, because the token would go along.
 */
import { once } from "node:events";
import { Agent as HttpAgent, type IncomingMessage, request as requestByHttp } from "node:http";
import { Agent as HttpsAgent, request as requestByHttps } from "node:https";
import { TLSSocket } from "node:tls";
import { PROBLEM_MEDIA_TYPE } from "../../../rules/problem.ts";
import { connectionFaultOf } from "../../typescript/connection-faults.ts";
import { asServiceProblem } from "../../typescript/service-problem.ts";
import { mediaType, parseJson } from "../../typescript/transport.ts";
import { proxyEnvironment, proxyOf } from "../proxy.ts";
import type { Answer, AnswerFault, Exchange, NoAnswer } from "./answers.ts";

/** As much as the largest document of a deployment may have: its capabilities. */
const MAX_ANSWER_BYTES = 4 * 1024 * 1024;
const DAY_MILLISECONDS = 24 * 60 * 60 * 1000;

export interface Bounds {
  readonly requestMilliseconds: number;
  /** Aborted when the time of the whole examination is over. */
  readonly end: AbortSignal;
  readonly interruption: AbortSignal;
  requestsLeft: number;
}

type HeaderFields = Readonly<Record<string, string>>;

interface ServerRequest {
  readonly method: "GET" | "POST";
  /** Relative to the URL of the server. */
  readonly path: string;
  readonly headers: HeaderFields;
  readonly body?: string;
}

/** An answer whose body is not kept. */
export type SeenAnswer = Omit<Answer, "body">;

export class Server {
  /** Null for the edge. */
  readonly name: string | null;
  /** Its path ends with a slash. */
  readonly url: URL;
  readonly credentials: HeaderFields;
  /** All answers so far, except a gateway's own 413, whose header fields say nothing about the service. */
  readonly answers: SeenAnswer[] = [];
  readonly #bounds: Bounds;

  constructor(name: string | null, url: URL, credentials: HeaderFields, bounds: Bounds) {
    this.name = name;
    this.url = url;
    this.credentials = credentials;
    this.#bounds = bounds;
  }

  get(path: string, headers: HeaderFields = {}): Promise<Exchange> {
    return this.#send({ method: "GET", path, headers });
  }

  render(body: object, credentials = this.credentials): Promise<Exchange> {
    const headers = { "Content-Type": "application/json", ...credentials };
    return this.#send({ method: "POST", path: "v1/render", headers, body: JSON.stringify(body) });
  }

  /** @throws the reason of the interruption */
  async #send(request: ServerRequest): Promise<Exchange> {
    const { end, interruption, requestMilliseconds } = this.#bounds;
    interruption.throwIfAborted();
    if (end.aborted || this.#bounds.requestsLeft === 0) return noAnswer("out-of-bounds", "nothing more is sent");
    this.#bounds.requestsLeft--;
    const timeout = AbortSignal.any([AbortSignal.timeout(requestMilliseconds), end]);
    try {
      const exchange = await this.#exchange(request, AbortSignal.any([timeout, interruption]));
      if (exchange.kind === "answer" && (exchange.status !== 413 || exchange.problem !== null)) {
        const { body, ...seen } = exchange;
        this.answers.push(seen);
      }
      return exchange;
    } catch (error) {
      interruption.throwIfAborted();
      return timeout.aborted ? noAnswer("timed-out", "no complete response in time") : connectionFault(error);
    }
  }

  async #exchange({ method, path, headers, body }: ServerRequest, signal: AbortSignal): Promise<Exchange> {
    const url = new URL(path, this.url);
    const startedAt = performance.now();
    const [requestBy, Agent] = url.protocol === "https:" ? [requestByHttps, HttpsAgent] : [requestByHttp, HttpAgent];
    const proxyEnv = proxyEnvironment(url.href);
    const request = requestBy(url, {
      method,
      // Without one, each request has a connection of its own, too.
      agent: proxyEnv === null ? false : new Agent({ proxyEnv }),
      signal,
      // Otherwise a proxy might compress the answer, whose bytes are examined.
      headers: { "Accept-Encoding": "identity", "User-Agent": "document-rendering-doctor", ...headers },
    });
    // Errors after the answer has begun also reach the loop that reads it.
    request.on("error", () => {});
    request.end(body);
    const [response]: IncomingMessage[] = await once(request, "response");
    if (response === undefined) throw new Error("the response event has no response");
    const { statusCode: status = 0, socket } = response;
    const certificate = socket instanceof TLSSocket ? datesOf(socket) : null;
    const proxy = proxyEnv === null ? null : proxyOf(url.href);
    const address = proxy === null ? (socket.remoteAddress ?? url.hostname) : `through the proxy ${proxy.url}`;
    const bytes = await bytesOf(response);
    if (bytes === null) return noAnswer("not-the-service", `status ${status}, and over ${MAX_ANSWER_BYTES} bytes`);
    const milliseconds = Math.round(performance.now() - startedAt);
    const received = headersOf(response);
    const isProblem = status >= 400 && mediaType(received) === PROBLEM_MEDIA_TYPE;
    const problem = isProblem ? asServiceProblem(parseJson(bytes.toString("utf8"))) : null;
    const answer = { status, headers: received, body: bytes, problem, milliseconds, address, certificate };
    return { kind: "answer", request: `${method} /${path}`, ...answer };
  }
}

function datesOf(socket: TLSSocket): Answer["certificate"] {
  const { valid_from, valid_to } = socket.getPeerCertificate();
  const [startsAt, endsAt] = [Date.parse(valid_from), Date.parse(valid_to)];
  return {
    daysLeft: Math.floor((endsAt - Date.now()) / DAY_MILLISECONDS),
    lifeDays: (endsAt - startsAt) / DAY_MILLISECONDS,
  };
}

function connectionFault(error: unknown): NoAnswer {
  const name = error instanceof Error ? error.name : String(error);
  const code = error instanceof Error && "code" in error ? String(error.code) : name;
  // `Headers` throws a TypeError for fields that are not valid.
  return noAnswer(code === "TypeError" ? "wrong-protocol" : connectionFaultOf(code).id, code);
}

/** Null if the body is too long. */
async function bytesOf(response: AsyncIterable<Buffer>): Promise<Buffer | null> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of response) {
    size += chunk.length;
    if (size > MAX_ANSWER_BYTES) return null;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

function headersOf({ headersDistinct }: IncomingMessage): Headers {
  const fields = Object.entries(headersDistinct).map(([name, values = []]) => [name, values.join(", ")]);
  return new Headers(Object.fromEntries(fields));
}

function noAnswer(fault: AnswerFault, seen: string): NoAnswer {
  return { kind: "no-answer", fault, seen };
}

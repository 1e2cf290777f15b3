/**
 * A server that the doctor asks: the edge, or a backend directly. It sends one request at a time, each within a time
 * limit, and reads at most a bounded part of each answer.
 *
 * Not `fetch`: the doctor must send a head without its body, see every header field, and tell a refused port from a bad
 * certificate. Redirects are never followed, because the token would go along.
 */
import { once } from "node:events";
import { Agent as HttpAgent, type IncomingMessage, type RequestOptions, request as requestByHttp } from "node:http";
import { Agent as HttpsAgent, request as requestByHttps } from "node:https";
import { PROBLEM_MEDIA_TYPE } from "../../../rules/problem.ts";
import { asServiceProblem } from "../../typescript/service-problem.ts";
import { mediaType, parseJson } from "../../typescript/transport.ts";
import { type Allowance, codeOf } from "./allowance.ts";
import { type Answer, type AnswerFault, type Exchange, type NoAnswer, outcomeOf } from "./answers.ts";

/** More than any answer that the doctor asks for: the largest is the interface description, about 100 KiB. */
const MAX_ANSWER_BYTES = 4 * 1024 * 1024;

type HeaderFields = Readonly<Record<string, string>>;

interface ServerRequest {
  readonly method: "GET" | "POST";
  /** Relative to the URL of the server. */
  readonly path: string;
  readonly headers: HeaderFields;
  readonly body?: string;
  /** Sends only the head, with this `Content-Length`. */
  readonly declaredBytes?: number | undefined;
}

/** An answer whose body is not kept. */
export type SeenAnswer = Omit<Answer, "body">;

export class Server {
  /** Null for the edge. */
  readonly name: string | null;
  /** Its path ends with a slash. */
  readonly url: URL;
  /** The header fields that authenticate this program to the server. */
  readonly credentials: HeaderFields;
  /** All answers so far, except a gateway's own 413. The allowance bounds their number. */
  readonly answers: SeenAnswer[] = [];
  /** If set, further renders would only wait in vain. */
  hasRenderTimedOut = false;
  readonly #allowance: Allowance;
  readonly #agent: HttpAgent;

  constructor(name: string | null, url: URL, credentials: HeaderFields, allowance: Allowance) {
    this.name = name;
    this.url = url;
    this.credentials = credentials;
    this.#allowance = allowance;
    const options = { keepAlive: true, maxSockets: 1 };
    this.#agent = url.protocol === "https:" ? new HttpsAgent(options) : new HttpAgent(options);
  }

  /** Asks for a path, without credentials unless they are given. */
  get(path: string, headers: HeaderFields = {}): Promise<Exchange> {
    return this.#send({ method: "GET", path, headers });
  }

  /** Sends a render request, or only its head if a length is declared. */
  async render(body: object, credentials = this.credentials, declaredBytes?: number): Promise<Exchange> {
    const headers = { "Content-Type": "application/json", ...credentials };
    const request = { method: "POST", path: "v1/render", headers, body: JSON.stringify(body), declaredBytes } as const;
    const exchange = await this.#send(request);
    if (declaredBytes === undefined && outcomeOf(exchange) === "timed-out") this.hasRenderTimedOut = true;
    return exchange;
  }

  close(): void {
    this.#agent.destroy();
  }

  async #send(request: ServerRequest): Promise<Exchange> {
    while (this.#allowance.takeRequest()) {
      const attempt = await this.#allowance.attempt((signal) => this.#exchange(request, signal));
      if (!attempt.isDone) return connectionFault(attempt.code);
      const exchange = attempt.value;
      // The next attempt is made on a new connection.
      if (exchange === "stale") continue;
      // A 413 without a problem is a gateway's own, because of its limit: its header fields say nothing about the
      // service.
      if (exchange.kind === "answer" && (exchange.status !== 413 || exchange.problem !== null)) {
        const { body, ...seen } = exchange;
        this.answers.push(seen);
      }
      return exchange;
    }
    return noAnswer("out-of-bounds", "the doctor's own requests or time are used up");
  }

  /** @returns `stale` if the connection had been kept from an earlier request and broke */
  async #exchange(
    { method, path, headers, body, declaredBytes }: ServerRequest,
    signal: AbortSignal,
  ): Promise<Exchange | "stale"> {
    const options: RequestOptions = {
      method,
      // A connection with half a request on it is of no use afterwards.
      agent: declaredBytes === undefined ? this.#agent : false,
      signal,
      // Otherwise a proxy might compress the answer, and its bytes are compared.
      headers: { "Accept-Encoding": "identity", "User-Agent": "document-rendering-doctor", ...headers },
    };
    const url = new URL(path, this.url);
    const startedAt = performance.now();
    const request = url.protocol === "https:" ? requestByHttps(url, options) : requestByHttp(url, options);
    // Errors after the answer has begun also reach the loop that reads it.
    request.on("error", () => {});
    if (declaredBytes === undefined) request.end(body);
    else request.setHeader("Content-Length", declaredBytes).flushHeaders();
    try {
      const [response]: IncomingMessage[] = await once(request, "response");
      if (response === undefined) throw new Error("the response event has no response");
      const receivedAt = Date.now();
      const bytes = await bytesOf(response);
      const { statusCode: status = 0 } = response;
      if (bytes === null) return noAnswer("endless", `status ${status}, and more than ${MAX_ANSWER_BYTES} bytes`);
      const milliseconds = Math.round(performance.now() - startedAt);
      const received = headersOf(response);
      const isProblem = status >= 400 && mediaType(received) === PROBLEM_MEDIA_TYPE;
      const problem = isProblem ? asServiceProblem(parseJson(bytes.toString("utf8"))) : null;
      const asked = { request: `${method} /${path}`, url };
      return { kind: "answer", ...asked, status, headers: received, body: bytes, problem, milliseconds, receivedAt };
    } catch (error) {
      if (request.reusedSocket && /^(?:ECONNRESET|EPIPE)$/.test(codeOf(error))) return "stale";
      throw error;
    } finally {
      if (declaredBytes !== undefined) request.destroy();
    }
  }
}

function connectionFault(code: string): NoAnswer {
  if (code === "ETIMEDOUT") return noAnswer("timed-out", "no complete response in time");
  // Node's parser reports HPE_… for everything that is not HTTP.
  if (code.startsWith("HPE_")) return noAnswer("not-http", `bytes that are not HTTP (${code})`);
  if (/^(?:ERR_TLS|ERR_SSL|EPROTO|CERT_|DEPTH_|SELF_|UNABLE_)/.test(code)) return noAnswer("tls-failed", code);
  // `Headers` throws it for header fields that are not valid, such as one with a control character.
  if (code === "TypeError") return noAnswer("not-http", "header fields that are not valid");
  return noAnswer("connection-failed", code);
}

/** The body of a response; null if it is too long. */
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

/**
 * Sends requests one at a time, each within a time limit, and reads a bounded part of each answer.
 *
 * Not `fetch`: the doctor must send a head without its body, see every header field, and tell a refused port from a bad
 * certificate. Redirects are never followed, because the token would go along.
 */
import { Agent as HttpAgent, type IncomingMessage, type RequestOptions, request as requestByHttp } from "node:http";
import { Agent as HttpsAgent, request as requestByHttps } from "node:https";
import type { AnswerFault } from "./answer-faults.ts";

/** More than any answer that the doctor asks for: the largest is the interface description, of some 100 KiB. */
export const MAX_ANSWER_BYTES = 4 * 1024 * 1024;

export interface ProbeRequest {
  readonly method?: "GET" | "POST";
  /** Relative to the URL of the deployment. */
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  /** Sends only the head, with this `Content-Length`. */
  readonly declaredBytes?: number;
}

export interface Answer {
  readonly kind: "answer";
  readonly status: number;
  readonly headers: Headers;
  readonly body: Buffer;
  /** From the request to the last byte of the answer. */
  readonly milliseconds: number;
  /** When the answer began, by the clock of this machine. */
  readonly receivedAt: number;
}

export type Exchange = Answer | { readonly kind: "no-answer"; readonly fault: AnswerFault; readonly seen: string };

/** What all requests of one examination share. */
export class Allowance {
  readonly maxRequests: number;
  readonly requestMilliseconds: number;
  readonly signal: AbortSignal;
  readonly #endsAt: number;
  #requests = 0;

  constructor(bounds: {
    readonly maxRequests: number;
    readonly requestMilliseconds: number;
    readonly totalMilliseconds: number;
    readonly signal: AbortSignal;
  }) {
    this.maxRequests = bounds.maxRequests;
    this.requestMilliseconds = bounds.requestMilliseconds;
    this.signal = bounds.signal;
    this.#endsAt = performance.now() + bounds.totalMilliseconds;
  }

  get requests(): number {
    return this.#requests;
  }

  /** Whether nothing may be sent any more. */
  isUsedUp(): boolean {
    return this.#requests >= this.maxRequests || performance.now() >= this.#endsAt;
  }

  /** The time that one more step may take. */
  milliseconds(): number {
    return Math.max(1, Math.ceil(Math.min(this.requestMilliseconds, this.#endsAt - performance.now())));
  }

  countRequest(): void {
    this.#requests++;
  }
}

export class Probe {
  readonly url: URL;
  readonly #allowance: Allowance;
  readonly #agent: HttpAgent | HttpsAgent;

  /** @param url the base address; its path ends with a slash */
  constructor(url: URL, allowance: Allowance) {
    this.url = url;
    this.#allowance = allowance;
    const options = { keepAlive: true, maxSockets: 1 };
    this.#agent = url.protocol === "https:" ? new HttpsAgent(options) : new HttpAgent(options);
  }

  /** @throws the reason of the allowance's signal when it is aborted */
  async send(request: ProbeRequest): Promise<Exchange> {
    const first = await this.#sendOnce(request);
    // The server may close an idle connection in the very moment in which it is used again.
    const last = first === "stale" ? await this.#sendOnce(request) : first;
    return last === "stale" ? noAnswer("connection-failed", "the connection was closed before an answer") : last;
  }

  close(): void {
    this.#agent.destroy();
  }

  async #sendOnce(request: ProbeRequest): Promise<Exchange | "stale"> {
    const allowance = this.#allowance;
    allowance.signal.throwIfAborted();
    if (allowance.isUsedUp()) return noAnswer("out-of-bounds", "the doctor's own requests or time are used up");
    allowance.countRequest();
    const limitMilliseconds = allowance.milliseconds();
    const timeout = AbortSignal.timeout(limitMilliseconds);
    const startedAt = performance.now();
    try {
      return await exchange(this.url, this.#agent, request, AbortSignal.any([timeout, allowance.signal]), startedAt);
    } catch (error) {
      allowance.signal.throwIfAborted();
      if (timeout.aborted) return noAnswer("timed-out", `no whole answer within ${inSeconds(limitMilliseconds)}`);
      if (error instanceof StaleConnection) return "stale";
      return connectionFault(error);
    }
  }
}

/** A connection that was kept from an earlier request, and broke before an answer began. */
class StaleConnection extends Error {}

function exchange(
  base: URL,
  agent: HttpAgent | HttpsAgent,
  { method = "GET", path, headers = {}, body, declaredBytes }: ProbeRequest,
  signal: AbortSignal,
  startedAt: number,
): Promise<Exchange> {
  const isHeadOnly = declaredBytes !== undefined;
  const length = declaredBytes ?? (body === undefined ? undefined : Buffer.byteLength(body));
  const options: RequestOptions = {
    method,
    // A connection with half a request on it is of no use afterwards.
    agent: isHeadOnly ? false : agent,
    signal,
    headers: {
      // As a proxy may compress an answer, whose bytes are to be compared.
      "Accept-Encoding": "identity",
      "User-Agent": "document-rendering-doctor",
      ...(length !== undefined && { "Content-Length": length }),
      ...headers,
    },
  };
  const url = new URL(path, base);
  const { promise, resolve, reject } = Promise.withResolvers<Exchange>();
  const request = url.protocol === "https:" ? requestByHttps(url, options) : requestByHttp(url, options);
  let hasAnswered = false;
  request.once("response", (response) => {
    hasAnswered = true;
    readAnswer(response, startedAt).then(resolve, reject);
  });
  request.on("error", (error: NodeJS.ErrnoException) => {
    const isStale = request.reusedSocket && !hasAnswered && (error.code === "ECONNRESET" || error.code === "EPIPE");
    reject(isStale ? new StaleConnection() : error);
  });
  if (isHeadOnly) {
    request.flushHeaders();
    promise.finally(() => request.destroy()).catch(() => {});
  } else request.end(body);
  return promise;
}

async function readAnswer(response: IncomingMessage, startedAt: number): Promise<Exchange> {
  const receivedAt = Date.now();
  const pieces: Buffer[] = [];
  let size = 0;
  for await (const piece of response as AsyncIterable<Buffer>) {
    size += piece.length;
    if (size > MAX_ANSWER_BYTES) {
      response.destroy();
      return noAnswer("endless", `status ${response.statusCode}, and more than ${MAX_ANSWER_BYTES} bytes`);
    }
    pieces.push(piece);
  }
  const headers = new Headers();
  for (const [name, values] of Object.entries(response.headersDistinct)) {
    for (const value of values ?? []) headers.append(name, value);
  }
  return {
    kind: "answer",
    status: response.statusCode ?? 0,
    headers,
    body: Buffer.concat(pieces),
    milliseconds: performance.now() - startedAt,
    receivedAt,
  };
}

function connectionFault(error: unknown): Exchange {
  const code = error instanceof Error && "code" in error ? String(error.code) : "";
  // The parser of Node says HPE_… for everything that is not HTTP.
  if (code.startsWith("HPE_")) return noAnswer("not-http", `bytes that are not HTTP (${code})`);
  if (/^(?:ERR_TLS|ERR_SSL|EPROTO|CERT_|DEPTH_|SELF_|UNABLE_)/.test(code)) return noAnswer("tls-failed", code);
  // Headers that `fetch` would reject as well, such as one with a control character.
  if (error instanceof TypeError) return noAnswer("not-http", "header fields that are not valid");
  return noAnswer("connection-failed", code === "" ? "the connection failed" : code);
}

function noAnswer(fault: AnswerFault, seen: string): Exchange {
  return { kind: "no-answer", fault, seen };
}

export function inSeconds(milliseconds: number): string {
  return `${Math.round(milliseconds / 100) / 10} s`;
}

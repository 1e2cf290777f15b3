/**
 * A server that the doctor asks: the edge, or a backend directly. Each request has a connection of its own. Redirects are never
 * followed, because the token would go along.
 */
import { PROBLEM_MEDIA_TYPE } from "../../../rules/problem.ts";
import { connectionFaultOf } from "../../typescript/connection-faults.ts";
import { innermostCause } from "../../typescript/errors.ts";
import { asServiceProblem } from "../../typescript/service-problem.ts";
import { mediaType, parseJson, readBytes } from "../../typescript/transport.ts";
import { useProxy } from "../proxy.ts";
import type { Answer, AnswerFault, Exchange, NoAnswer } from "./answers.ts";

/** As much as the largest document of a deployment may have: its capabilities. */
const MAX_ANSWER_BYTES = 4 * 1024 * 1024;

export interface Bounds {
  readonly requestMilliseconds: number;
  /** Aborted when the time of the whole examination is over. */
  readonly end: AbortSignal;
  readonly interruption: AbortSignal;
  /** How many have been sent to all servers. */
  requests: number;
}

type HeaderFields = Readonly<Record<string, string>>;

export class Server {
  /** Null for the edge. */
  readonly name: string | null;
  /** Its path ends with a slash. */
  readonly url: URL;
  readonly credentials: HeaderFields;
  /** All answers so far, except a gateway's own 413, whose header fields say nothing about the service. */
  readonly answers: Answer[] = [];
  readonly #bounds: Bounds;

  constructor(name: string | null, url: URL, credentials: HeaderFields, bounds: Bounds) {
    this.name = name;
    this.url = url;
    this.credentials = credentials;
    this.#bounds = bounds;
  }

  /** @param path relative to the URL of the server */
  get(path: string, headers: HeaderFields = {}): Promise<Exchange> {
    return this.#send(path, { method: "GET", headers });
  }

  render(body: object, credentials = this.credentials): Promise<Exchange> {
    const headers = { "Content-Type": "application/json", ...credentials };
    return this.#send("v1/render", { method: "POST", headers, body: JSON.stringify(body) });
  }

  /** @throws the reason of the interruption */
  async #send(path: string, request: RequestInit & { readonly headers: HeaderFields }): Promise<Exchange> {
    const { end, interruption, requestMilliseconds } = this.#bounds;
    interruption.throwIfAborted();
    if (end.aborted) return noAnswer("out-of-bounds", "nothing more is sent");
    this.#bounds.requests++;
    const timeout = AbortSignal.any([AbortSignal.timeout(requestMilliseconds), end]);
    // Edge and origins may need different proxies: only one request is under way at a time.
    const leaveProxy = useProxy(this.url.href);
    const startedAt = performance.now();
    try {
      const response = await fetch(new URL(path, this.url), {
        ...request,
        headers: { ...ALWAYS_SENT, ...request.headers },
        redirect: "manual",
        signal: AbortSignal.any([timeout, interruption]),
      });
      const { status, headers } = response;
      const bytes = await readBytes(response, MAX_ANSWER_BYTES);
      if (bytes === null) return noAnswer("not-the-service", `status ${status}, and over ${MAX_ANSWER_BYTES} bytes`);
      const milliseconds = Math.round(performance.now() - startedAt);
      const body = Buffer.from(bytes.buffer);
      const isProblem = status >= 400 && mediaType(headers) === PROBLEM_MEDIA_TYPE;
      const problem = isProblem ? asServiceProblem(parseJson(body.toString("utf8"))) : null;
      const about = { request: `${request.method} /${path}`, milliseconds };
      const answer: Answer = { kind: "answer", ...about, status, headers, body, problem };
      if (status !== 413 || problem !== null) this.answers.push(answer);
      return answer;
    } catch (error) {
      interruption.throwIfAborted();
      return timeout.aborted ? noAnswer("timed-out", "no complete response in time") : connectionFault(error);
    } finally {
      leaveProxy();
    }
  }
}

/** Otherwise a proxy might compress the answer, whose bytes are examined. */
const ALWAYS_SENT = { "Accept-Encoding": "identity", "User-Agent": "document-rendering-doctor", Connection: "close" };

function connectionFault(thrown: unknown): NoAnswer {
  const { code, error } = innermostCause(thrown);
  const { name, message } = error ?? { name: "", message: String(thrown) };
  return noAnswer(connectionFaultOf(code === "" ? name : code).id, code === "" ? message : code);
}

function noAnswer(fault: AnswerFault, seen: string): NoAnswer {
  return { kind: "no-answer", fault, seen };
}

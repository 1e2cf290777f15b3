/** One exchange with the service: the request out, and the answer sorted into a success, a problem or a failure. */
import { API_TOKEN_HEADER } from "../../protocol/headers.ts";
import { PROBLEM_MEDIA_TYPE } from "../../rules/problem.ts";
import {
  makeBrokenTransferError,
  makeConnectionError,
  makeGatewayError,
  ServiceUnreachableError,
  UnexpectedResponseError,
} from "./errors.ts";
import { joinBytes } from "./join-bytes.ts";
import { type Failure, readRetryAfter } from "./retry.ts";
import { asServiceProblem } from "./service-problem.ts";
import { type SilencePolicy, SilenceWatch } from "./silence.ts";

/** `fetch` of any platform, or what takes its place: a service binding of a Worker, a test. */
export type Fetch = typeof globalThis.fetch;

export interface ServiceRequest<Value> {
  readonly method: "GET" | "POST";
  /** Relative to the URL of the service. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: Uint8Array<ArrayBuffer>;
  /** Reads a response that is neither a problem nor a failure. */
  readonly read: (response: Response, url: URL, silence: SilenceWatch) => Promise<Value>;
}

export type SendResult<Value> =
  | { readonly kind: "answer"; readonly value: Value }
  | { readonly kind: "failure"; readonly failure: Failure };

/** The statuses by which a server in front of the service says that it could not pass the request on: 524 is Cloudflare's. */
function isGatewayStatus(status: number): boolean {
  return status === 408 || status === 429 || status >= 500;
}

/** A problem of the service has a few KiB. */
const MAX_PROBLEM_BYTES = 1024 * 1024;
/** What the service answers is nested less than ten levels deep. */
const MAX_JSON_DEPTH = 64;

export class Transport {
  readonly #url: URL;
  readonly #token: string;
  readonly #fetch: Fetch;
  readonly #silence: SilencePolicy;

  /** @throws TypeError when `url` is not an HTTP URL or a header cannot hold `token`; it quotes neither */
  constructor(url: string | URL, token: string | undefined, fetch: Fetch | undefined, silence: SilencePolicy) {
    this.#url = normaliseUrl(url);
    // A program in JavaScript can pass anything, such as a variable of the environment that is not set.
    if (token === undefined || token === "") {
      throw new TypeError("There is no token: pass the one that the operator has given you, as in SERVICE_API_TOKEN.");
    }
    if (!/^[!-~]+$/.test(token)) throw new TypeError("token must hold visible ASCII characters.");
    this.#token = token;
    this.#silence = silence;
    // Called as a plain function: browsers and Workers reject `fetch` as the method of another object.
    this.#fetch = (input, init) => (fetch ?? globalThis.fetch)(input, init);
  }

  /** @throws UnexpectedResponseError when something else has answered, or the reason of `signal` */
  async send<Value>(request: ServiceRequest<Value>, signal: AbortSignal | undefined): Promise<SendResult<Value>> {
    const { method, path, headers, body, read } = request;
    const silence = new SilenceWatch(this.#url, method === "POST", this.#silence, signal);
    try {
      const send = this.#fetch;
      const sent = send(new URL(path, this.#url), {
        method,
        headers: { ...headers, [API_TOKEN_HEADER]: this.#token },
        // `fetch` would follow a redirect to another origin with the token.
        redirect: "manual",
        ...(body !== undefined && { body }),
        signal: silence.signal,
      });
      const response = await silence.during(sent);
      if (response.ok || response.status === 304) {
        return { kind: "answer", value: await read(response, this.#url, silence) };
      }
      return await silence.during(sort(response, this.#url));
    } catch (cause) {
      signal?.throwIfAborted();
      if (cause instanceof UnexpectedResponseError) throw cause;
      const failure = cause instanceof ServiceUnreachableError ? cause : makeConnectionError(this.#url, cause);
      return { kind: "failure", failure };
    }
  }
}

/** What an answer is that is no success. @throws ServiceUnreachableError if it breaks off */
async function sort(response: Response, url: URL): Promise<Exclude<SendResult<never>, { readonly kind: "answer" }>> {
  const { headers, status } = response;
  const isProblem = mediaType(headers) === PROBLEM_MEDIA_TYPE;
  if (isProblem) {
    const document = await readJson(response, url, MAX_PROBLEM_BYTES);
    const problem = asServiceProblem(document);
    if (problem !== null) return { kind: "failure", failure: problem };
    // Gateways have problems of their own, which have no code.
    if (!isGatewayStatus(status) || typeof document !== "object" || document === null || "code" in document) {
      throw new UnexpectedResponseError("The response is a problem from another service.", status);
    }
  } else await response.body?.cancel();
  if (isGatewayStatus(status))
    return { kind: "failure", failure: makeGatewayError(url, status, readRetryAfter(headers)) };
  const isRedirect = response.type === "opaqueredirect" || (status >= 300 && status < 400);
  throw new UnexpectedResponseError(
    isRedirect
      ? "The URL redirects: use the URL that it redirects to."
      : `The ${status} response did not come from this service.`,
    status,
  );
}

/** Undefined if the body is not JSON, or too long. @throws ServiceUnreachableError if it breaks off */
export async function readJson(response: Response, url: URL, maxBytes: number): Promise<unknown> {
  const bytes = await readBytes(response, maxBytes);
  if (bytes === null) return undefined;
  const text = new TextDecoder().decode(bytes);
  if (isCutOff(text)) throw makeBrokenTransferError(url);
  return parseJson(text);
}

/** The bytes of a response; null if there are more than these, which ends the transfer. */
export async function readBytes({ body }: Response, maxBytes: number): Promise<Uint8Array<ArrayBuffer> | null> {
  const parts: Uint8Array[] = [];
  let size = 0;
  // Not every browser iterates over a stream.
  const reader = body?.getReader();
  for (let part = await reader?.read(); part?.value !== undefined; part = await reader?.read()) {
    size += part.value.length;
    if (size > maxBytes) {
      await reader?.cancel();
      return null;
    }
    parts.push(part.value);
  }
  return joinBytes(parts);
}

export function mediaType(headers: Headers): string {
  return headers.get("Content-Type")?.split(";")[0]?.trim().toLowerCase() ?? "";
}

/** Undefined if the text is not JSON, or is nested so deep that a function which walks through it could fail. */
export function parseJson(text: string): unknown {
  try {
    return nestingOf(text).deepest > MAX_JSON_DEPTH ? undefined : JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Whether a text may be the beginning of a JSON object, or is nothing at all: the connection broke, if all was sent. */
function isCutOff(text: string): boolean {
  return /^\s*(?:\{|$)/.test(text) && (text.trim() === "" || nestingOf(text).isOpen);
}

function nestingOf(text: string): { readonly deepest: number; readonly isOpen: boolean } {
  let [depth, deepest] = [0, 0];
  let isInString = false;
  for (let at = 0; at < text.length && deepest <= MAX_JSON_DEPTH; at++) {
    const character = text[at];
    if (character === '"') isInString = !isInString;
    else if (character === "\\" && isInString) at++;
    else if (isInString) continue;
    else if (character === "[" || character === "{") deepest = Math.max(deepest, ++depth);
    else if (character === "]" || character === "}") depth--;
  }
  return { deepest, isOpen: deepest <= MAX_JSON_DEPTH && (depth > 0 || isInString) };
}

/** With a slash at its end, so that the routes are below its path. @throws TypeError for what is no URL of a service */
export function normaliseUrl(url: string | URL): URL {
  const base = URL.canParse(String(url)) ? new URL(url) : null;
  if (base === null || !/^https?:$/.test(base.protocol) || base.username !== "" || base.password !== "") {
    throw new TypeError("url must be an absolute http or https URL without a user name.");
  }
  if (!base.pathname.endsWith("/")) base.pathname += "/";
  base.search = "";
  base.hash = "";
  return base;
}

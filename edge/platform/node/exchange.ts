/** A request of `node:http` and its answer, as the edge sees them. */
import type { IncomingMessage, ServerResponse } from "node:http";
import { IncomingBody } from "../../../protocol/node/incoming-body.ts";
import type { Answer, ClientRequest, HeaderFields } from "../platform.ts";
import { fieldOf } from "./backend.ts";
import { ReadableBody } from "./readable-body.ts";

/** How long we keep reading a request body after the edge has answered. (The edge itself has already read on before.) */
const LINGER_MILLISECONDS = 1000;
const MAX_LINGER_BYTES = 16 * 1024 ** 2;
const WITHOUT_PATH = /^https?:\/\/[^/?#]*$/i;
const HAS_SCHEME = /^https?:\/\//i;
const STATUS_WITHOUT_BODY = /^(?:1..|204|304)$/;

export class Exchange implements ClientRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: HeaderFields;
  readonly body: IncomingBody | null;
  readonly takePlace: () => boolean;
  readonly #request: IncomingMessage;
  readonly #response: ServerResponse;
  #isAnswered = false;

  /** @param expectsContinue whether the client waits to be asked for its body */
  constructor(request: IncomingMessage, response: ServerResponse, takePlace: () => boolean, expectsContinue: boolean) {
    this.#request = request;
    this.#response = response;
    this.takePlace = takePlace;
    this.method = request.method ?? "";
    this.url = urlOf(request);
    this.headers = { get: (name) => fieldOf(request, name), has: (name) => fieldOf(request, name) !== null };
    const { "content-length": length, "transfer-encoding": coding } = request.headers;
    const hasBody = coding !== undefined || (length !== undefined && length !== "0");
    const begin = () => {
      if (expectsContinue) response.writeContinue();
    };
    this.body = hasBody ? new IncomingBody(request, begin) : null;
  }

  whenClientLeaves(callback: () => void): void {
    this.#response.once("close", () => {
      // A refusal of the rest of its body is the answer of another exchange.
      if (!this.#isAnswered) callback();
    });
  }

  inBackground(_work: Promise<unknown>): void {
    // In Node the work goes on by itself.
  }

  /** @param isClosing whether the connection ends with this answer */
  send({ status, headers, body }: Answer, isClosing: boolean): void {
    const response = this.#response;
    if (response.destroyed) {
      if (body instanceof ReadableBody) body.discard();
      return;
    }
    this.#isAnswered = true;
    // What is left of a body would be taken for the next request.
    // Behind a request for an upgrade, which is not granted, Node reads no other one.
    // Chromium sends a POST again by itself after a 408, unless the connection is new.
    const { origin, upgrade } = this.#request.headers;
    const isLast = isClosing || !this.#request.complete || upgrade !== undefined || origin !== undefined;
    if (isLast) response.shouldKeepAlive = false;
    if (body === null || typeof body === "string" || body instanceof Uint8Array) {
      const isBare = STATUS_WITHOUT_BODY.test(String(status)) || this.method === "HEAD";
      const length = isBare ? {} : { "Content-Length": Buffer.byteLength(body ?? "") };
      response.writeHead(status, { ...headers, ...length });
      if (!isBare && body !== null) response.write(body);
      this.#end();
      return;
    }
    if (!(body instanceof ReadableBody)) throw new TypeError("a body of another platform");
    response.writeHead(status, headers);
    body.sendTo(response, Number(headers["Content-Length"] ?? Number.POSITIVE_INFINITY), () => this.#end());
  }

  /** Ends the answer, though not while the client still sends: it might miss it when its connection is closed. */
  #end(): void {
    const request = this.#request;
    const response = this.#response;
    if (request.complete || request.socket.readableEnded) {
      response.end();
      return;
    }
    const end = () => {
      clearTimeout(timer);
      response.end();
      // Node would read all that still comes.
      if (!request.complete) request.socket.destroySoon();
    };
    // A body that nobody has begun to read is not read now either: the number of bodies being read is bounded.
    if (this.body?.isBegun) {
      let bytes = 0;
      const count = ({ length }: Buffer) => {
        bytes += length;
        if (bytes <= MAX_LINGER_BYTES) return;
        request.removeAllListeners("data");
        end();
      };
      request.removeAllListeners("data").on("data", count).resume();
    }
    const timer = setTimeout(end, LINGER_MILLISECONDS);
    request.once("close", end);
    request.socket.once("end", end);
  }
}

/** The scheme is that of the proxy that terminates TLS, if it says so. It appears in the `instance` of problems. */
function urlOf({ url = "", headers }: IncomingMessage): string {
  if (HAS_SCHEME.test(url)) return WITHOUT_PATH.test(url) ? `${url}/` : url;
  return `${headers["x-forwarded-proto"] ?? "http"}://${headers.host ?? ""}${url}`;
}

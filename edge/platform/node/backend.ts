/** Sends to backends by `node:http`, over connections that are kept for the next request. */

import type { ClientRequest } from "node:http";
import { Agent as HttpAgent, request as httpRequest, type IncomingMessage } from "node:http";
import { Agent as HttpsAgent, request as httpsRequest } from "node:https";
import { SettingError } from "../../../rules/settings.ts";
import type { AccessToken, BackendAddress } from "../../backends/backend-address.ts";
import type { Backend, BackendAnswer, BackendRequest } from "../platform.ts";
import type { Capacity } from "./open-files.ts";
import { ReadableBody } from "./readable-body.ts";

/** A body is written in pieces of this size, so that it is known how far it has come. */
const PIECE_BYTES = 256 * 1024;
/** Up to here, a body is one piece of its own. */
const SMALL_BYTES = 64 * 1024;
/** Memory of pieces is kept for the next ones: 800 bodies of 1 MB took 87 garbage collections without it (2026-11-29). */
const MAX_SPARE_PIECES = 16;
/** What nobody wants of an answer is read to its end if it is short, which saves the connection. */
const MAX_DISCARDED_BYTES = 64 * 1024;

export class BackendConnections {
  readonly #agents: { readonly "http:": HttpAgent; readonly "https:": HttpsAgent };

  constructor({ idleToBackends, toBackends }: Pick<Capacity, "idleToBackends" | "toBackends">) {
    const options = { keepAlive: true, maxTotalSockets: toBackends, scheduling: "lifo" } as const;
    this.#agents = { "http:": new HttpAgent(options), "https:": new HttpsAgent(options) };
    for (const agent of Object.values(this.#agents)) keepAtMost(agent, idleToBackends);
  }

  /** @throws SettingError for what only Cloudflare has */
  open(address: BackendAddress, accessToken: AccessToken | null): Backend {
    if (address.kind !== "url") {
      throw new SettingError(`SERVICE_BACKEND_URLS may name ${address.kind}:${address.binding} only on Cloudflare.`);
    }
    const { name, url } = address;
    const own = ["Host", url.host, ...(accessToken === null ? [] : accessFields(accessToken))];
    const target = {
      // `URL` writes an IPv6 address in brackets, and an address for connections has none.
      hostname: url.hostname.replace(/^\[(.*)\]$/, "$1"),
      port: url.port,
      agent: url.protocol === "https:" ? this.#agents["https:"] : this.#agents["http:"],
    };
    const start = url.protocol === "https:" ? httpsRequest : httpRequest;
    return {
      name,
      send: ({ method, path, headers, ...rest }) =>
        // Node writes a list as it is; fields with names it would keep one by one first.
        exchange(
          start({
            ...target,
            method,
            path,
            headers: [...own, ...lengthOf(rest.body), ...Object.entries(headers).flat()],
          }),
          rest,
        ),
    };
  }

  close(): void {
    for (const agent of Object.values(this.#agents)) agent.destroy();
  }
}

/** Node bounds the idle connections of each backend, and there may be many backends. */
function keepAtMost(agent: HttpAgent, count: number): void {
  const keep = agent.keepSocketAlive.bind(agent);
  agent.keepSocketAlive = (socket) => {
    const idle = Object.values(agent.freeSockets).reduce((sum, sockets) => sum + (sockets?.length ?? 0), 0);
    return idle < count && keep(socket);
  };
}

function accessFields({ clientId, clientSecret }: AccessToken): string[] {
  return ["CF-Access-Client-Id", clientId, "CF-Access-Client-Secret", clientSecret];
}

function lengthOf(body: BackendRequest["body"]): string[] {
  return body === null ? [] : ["Content-Length", String(Buffer.byteLength(body))];
}

function exchange(
  request: ClientRequest,
  { body, signal, reportTaken }: Pick<BackendRequest, "body" | "signal" | "reportTaken">,
): Promise<BackendAnswer> {
  const { promise, resolve, reject } = Promise.withResolvers<BackendAnswer>();
  const abort = () => request.destroy(new Error("no answer was waited for any longer"));
  request.on("error", reject);
  request.once("response", (answer) => {
    signal.removeEventListener("abort", abort);
    if (answer.headers["content-encoding"] === undefined) return resolve(toBackendAnswer(answer));
    answer.destroy();
    reject(new Error("the answer has a Content-Encoding, which nobody asked for"));
  });
  if (signal.aborted) abort();
  else signal.addEventListener("abort", abort, { once: true });
  request.once("finish", () => reportTaken?.("all"));
  if (body instanceof Uint8Array) writePieces(request, body, () => reportTaken?.("some"));
  else request.end(body ?? undefined);
  return promise;
}

const sparePieces: Buffer[] = [];

/**
 * A callback of `write` comes once the kernel has the piece, which a connection then has. Pieces are copies: the memory of the body
 * may be given back while the kernel reads them.
 */
function writePieces(request: ClientRequest, body: Uint8Array, reportSome: () => void): void {
  const { length } = body;
  if (length <= SMALL_BYTES) {
    request.end(Buffer.from(body));
    return;
  }
  const memory = sparePieces.pop() ?? Buffer.allocUnsafeSlow(PIECE_BYTES);
  request.once("finish", () => {
    if (sparePieces.length < MAX_SPARE_PIECES) sparePieces.push(memory);
  });
  let at = 0;
  const writeNext = (error?: Error | null): void => {
    if (error != null || request.destroyed) return;
    if (at > 0) reportSome();
    // Whoever gave the memory back waits for no answer.
    if (body.length < length) {
      request.destroy();
      return;
    }
    const piece = memory.subarray(0, Math.min(PIECE_BYTES, length - at));
    piece.set(body.subarray(at, at + piece.length));
    at += piece.length;
    if (at < length) request.write(piece, writeNext);
    else request.end(piece);
  };
  writeNext();
}

function toBackendAnswer(message: IncomingMessage): BackendAnswer {
  // The answer may break off before anybody reads it.
  message.on("error", () => {});
  return {
    status: message.statusCode ?? 0,
    headers: {
      get: (name) => fieldOf(message, name),
      has: (name) => fieldOf(message, name) !== null,
    },
    body: new ReadableBody(
      () => message,
      () => discard(message),
    ),
  };
}

/** Header fields of which Node keeps only the first: others of the same name would be passed over in silence. */
const KEPT_ONCE: ReadonlySet<string> = new Set(["content-type", "authorization"]);

export function fieldOf(message: IncomingMessage, field: string): string | null {
  const name = field.toLowerCase();
  const value = message.headers[name];
  if (value === undefined) return null;
  return KEPT_ONCE.has(name) ? valuesOf(message, name).join(", ") : String(value);
}

/** All values of a field, as they were sent. @param name in lower case */
export function valuesOf({ rawHeaders }: IncomingMessage, name: string): string[] {
  const isOfName = (text = "") => text.length === name.length && text.toLowerCase() === name;
  return rawHeaders.filter((_text, at) => at % 2 === 1 && isOfName(rawHeaders[at - 1]));
}

function discard(message: IncomingMessage): void {
  if (Number(message.headers["content-length"] ?? Number.POSITIVE_INFINITY) <= MAX_DISCARDED_BYTES) message.resume();
  else message.destroy();
}

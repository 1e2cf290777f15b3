/**
 * One connection to the edge, byte by byte: for clients that stop in the middle, say nothing, or read late.
 */
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { API_TOKEN } from "./tokens.ts";

export interface ClientAnswer {
  readonly status: number;
  readonly headers: Headers;
  readonly body: string;
}

/** The head of a render request; a token, media type and framing by default, each replaced by what is given. */
export function renderHead(fields: Readonly<Record<string, string>>): string {
  const all = { "X-Service-Api-Token": API_TOKEN, "Content-Type": "application/json", ...fields };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}`);
  return ["POST /v1/render HTTP/1.1", "Host: edge.example", ...lines, "", ""].join("\r\n");
}

export const CHUNKED = { "Transfer-Encoding": "chunked" };
export const declared = (bytes: number) => ({ "Content-Length": String(bytes) });

/** A piece of a chunked body. */
export function chunk(piece: Uint8Array | string): Buffer {
  const bytes = Buffer.from(piece);
  return Buffer.concat([Buffer.from(`${bytes.length.toString(16)}\r\n`), bytes, Buffer.from("\r\n")]);
}

export class RawClient {
  readonly socket: Socket;
  #received = Buffer.alloc(0);

  private constructor(socket: Socket) {
    this.socket = socket;
    // A connection that the other side resets is an outcome here, not a failure of the test.
    socket.on("error", () => {});
  }

  static async open(url: URL): Promise<RawClient> {
    const socket = connect(Number(url.port), url.hostname);
    const client = new RawClient(socket);
    socket.pause();
    await once(socket, "connect");
    return client;
  }

  /** Writes and waits until the kernel has it all; false where the connection broke before. */
  write(bytes: Uint8Array | string): Promise<boolean> {
    return new Promise((resolve) => {
      this.socket.write(bytes, (error) => resolve(error === null || error === undefined));
    });
  }

  /** Drops the connection with a reset. */
  reset(): void {
    this.socket.resetAndDestroy();
  }

  /** Reads one answer with `Content-Length`, or what came until the connection ended; null where nothing came. */
  async answer(timeoutMilliseconds = 30_000): Promise<ClientAnswer | null> {
    const timeout = AbortSignal.timeout(timeoutMilliseconds);
    let isOver = false;
    this.socket.on("data", (bytes: Buffer) => {
      this.#received = Buffer.concat([this.#received, bytes]);
    });
    this.socket.once("close", () => {
      isOver = true;
    });
    this.socket.resume();
    while (!isOver && !timeout.aborted && !this.#isWhole()) await delay(5);
    return this.#parse();
  }

  /** Waits until the other side has closed the connection; false where it did not in time. */
  async closed(timeoutMilliseconds = 30_000): Promise<boolean> {
    this.socket.resume();
    if (this.socket.closed) return true;
    const { promise, resolve } = Promise.withResolvers<boolean>();
    // Not by `once`, which fails for a connection that is reset before it is closed.
    this.socket.once("close", () => resolve(true));
    return Promise.race([promise, delay(timeoutMilliseconds, false, { ref: false })]);
  }

  #isWhole(): boolean {
    const answer = this.#parse();
    return answer !== null && Buffer.byteLength(answer.body, "latin1") >= Number(answer.headers.get("content-length"));
  }

  #parse(): ClientAnswer | null {
    const text = this.#received.toString("latin1");
    const headEnd = text.indexOf("\r\n\r\n");
    if (headEnd < 0) return null;
    const [statusLine = "", ...fields] = text.slice(0, headEnd).split("\r\n");
    const headers = new Headers(
      fields.map((field): [string, string] => {
        const colon = field.indexOf(":");
        return [field.slice(0, colon), field.slice(colon + 1).trim()];
      }),
    );
    return { status: Number(statusLine.split(" ")[1]), headers, body: text.slice(headEnd + 4) };
  }
}

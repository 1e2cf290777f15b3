/**
 * HTTP byte by byte on one connection, for requests that no HTTP client would send, and for clients that stop in the
 * middle, stay silent or read late.
 */
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { onTestFinished } from "vitest";
import { type ContractCode, expectProblem, type ReceivedProblem } from "../problems.ts";
import { API_TOKEN, BACKEND_TOKEN } from "../tokens.ts";

export interface RawAnswer {
  readonly status: number;
  readonly headers: Headers;
  /** One character per byte. */
  readonly body: string;
}

const ANSWER_TIMEOUT_MILLISECONDS = 300_000;
const HEAD_END = "\r\n\r\n";

type Fields = Readonly<Record<string, string>>;

function headOf(requestLine: string, fields: Fields): string {
  return [requestLine, ...Object.entries(fields).map(([name, value]) => `${name}: ${value}`), "", ""].join("\r\n");
}

const RENDER = "POST /v1/render HTTP/1.1";
const JSON_TYPE = { "Content-Type": "application/json" };

/** The head of a render request to the edge. The fields are added to a token and a media type, or replace them. */
export function renderHead(fields: Fields): string {
  return headOf(RENDER, { Host: "edge.example", "X-Service-Api-Token": API_TOKEN, ...JSON_TYPE, ...fields });
}

/** The same, as the edge sends it to a backend. */
export function backendRenderHead(fields: Fields): string {
  return headOf(RENDER, { Host: "backend.example", "X-Service-Backend-Token": BACKEND_TOKEN, ...JSON_TYPE, ...fields });
}

export const CHUNKED = { "Transfer-Encoding": "chunked" };
export const declared = (bytes: number) => ({ "Content-Length": String(bytes) });

/** A whole render request to the edge, with a body in ASCII. */
export const renderRequest = (body: string, fields: Fields = {}) =>
  renderHead({ ...declared(body.length), ...fields }) + body;

/** A chunk of a body with `Transfer-Encoding: chunked`. */
export function chunk(piece: Uint8Array | string): Buffer {
  const bytes = Buffer.from(piece);
  return Buffer.concat([Buffer.from(`${bytes.length.toString(16)}\r\n`), bytes, Buffer.from("\r\n")]);
}

export class RawConnection {
  readonly socket: Socket;
  #received: Buffer[] = [];
  #isReading = false;

  /** Connects. Earlier writes are sent once it is connected. Nothing is read before a method asks for it. */
  constructor(url: URL) {
    this.socket = connect(Number(url.port), url.hostname);
    this.socket.pause();
    // A connection that the other side resets is an outcome here, not a failure of the test.
    this.socket.on("error", () => {});
  }

  /** Opens a connection and writes this. It is reset when the test has finished. */
  static async open(url: URL, ...writes: readonly (Uint8Array | string)[]): Promise<RawConnection> {
    const connection = new RawConnection(url);
    onTestFinished(() => connection.reset());
    await once(connection.socket, "connect");
    for (const bytes of writes) await connection.write(bytes);
    return connection;
  }

  /** Writes and waits until the kernel has accepted everything; false if the connection broke first. */
  write(bytes: Uint8Array | string): Promise<boolean> {
    return new Promise((resolve) => {
      this.socket.write(bytes, (error) => resolve(error === null || error === undefined));
    });
  }

  reset(): void {
    this.socket.resetAndDestroy();
  }

  /** Reads one answer with `Content-Length`, or everything until the connection ended; null if nothing came. */
  async answer(): Promise<RawAnswer | null> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, ANSWER_TIMEOUT_MILLISECONDS);
    const look = () => {
      if (this.socket.closed || this.#isWhole()) resolve();
    };
    this.#read();
    this.socket.on("data", look).on("close", look);
    look();
    await promise;
    clearTimeout(timer);
    this.socket.off("data", look).off("close", look);
    return parseAnswer(this.#bytes());
  }

  /** Everything until the other side closes the connection, including heads. */
  async readToEnd(): Promise<Buffer> {
    this.#read();
    if (!this.socket.closed) await once(this.socket, "close");
    return this.#bytes();
  }

  /** The body of the only answer before the other side closes the connection. */
  async readBody(): Promise<Buffer> {
    const bytes = await this.readToEnd();
    return bytes.subarray(bytes.indexOf(HEAD_END) + HEAD_END.length);
  }

  /** Waits until the other side has closed the connection. */
  async expectClosed(): Promise<void> {
    const closed = new Promise((resolve) => this.socket.once("close", resolve));
    if (!this.socket.resume().closed) await closed;
  }

  /** The same for one of several, all with `Content-Length`. */
  async nextAnswer(): Promise<RawAnswer | null> {
    const answer = await this.answer();
    if (answer === null) return null;
    const length = Number(answer.headers.get("content-length"));
    this.#received = [this.#bytes().subarray(this.#bytes().indexOf(HEAD_END) + HEAD_END.length + length)];
    return { ...answer, body: answer.body.slice(0, length) };
  }

  #read(): void {
    if (!this.#isReading) this.socket.on("data", (bytes: Buffer) => this.#received.push(bytes));
    this.#isReading = true;
    this.socket.resume();
  }

  #bytes(): Buffer {
    const bytes = Buffer.concat(this.#received);
    this.#received = [bytes];
    return bytes;
  }

  #isWhole(): boolean {
    const answer = parseAnswer(this.#bytes());
    return answer !== null && answer.body.length >= Number(answer.headers.get("content-length"));
  }
}

/** Interim answers come before it. */
const INTERIM = /^(?:HTTP\/1\.1 1[0-9]{2} [\s\S]*?\r\n\r\n)+/;

function parseAnswer(bytes: Buffer): RawAnswer | null {
  const text = bytes.toString("latin1").replace(INTERIM, "");
  const headEnd = text.indexOf(HEAD_END);
  if (headEnd < 0) return null;
  const [statusLine = "", ...fields] = text.slice(0, headEnd).split("\r\n");
  const headers = new Headers(
    fields.map((field): [string, string] => {
      const colon = field.indexOf(":");
      return [field.slice(0, colon), field.slice(colon + 1).trim()];
    }),
  );
  return { status: Number(statusLine.split(" ")[1]), headers, body: text.slice(headEnd + HEAD_END.length) };
}

/**
 * Sends a request and reads the answer; null if none came.
 *
 * @param head the request line and all fields but `Host` and `Connection`
 */
export async function sendRaw(url: URL, head: readonly string[], body = ""): Promise<RawAnswer | null> {
  const lines = [...head, `Host: ${url.host}`, "Connection: close"];
  return (await RawConnection.open(url, `${lines.join("\r\n")}${HEAD_END}${body}`)).answer();
}

/** Sends a render request to a backend, and does not read the answer yet. */
export function sendWithoutReading(url: URL, body: object): RawConnection {
  const connection = new RawConnection(url);
  const text = JSON.stringify(body);
  const fields = { "X-Service-Caller": "slow", ...declared(Buffer.byteLength(text)), Connection: "close" };
  void connection.write(`${backendRenderHead(fields)}${text}`);
  return connection;
}

/** Expects that an answer has come and is a problem with this code. */
export function expectRawProblem(answer: RawAnswer | null, code: ContractCode): Promise<ReceivedProblem> {
  if (answer === null) throw new Error("the connection ended without an answer");
  const { status, headers, body } = answer;
  return expectProblem(new Response(body, { status, headers }), code);
}

/**
 * HTTP requests byte by byte, for what no HTTP client would send.
 */
import { once } from "node:events";
import { connect } from "node:net";

export interface RawAnswer {
  readonly status: number;
  /** The header fields by their names in lower case. */
  readonly headers: Headers;
  readonly body: string;
}

export interface RawRequest {
  readonly url: URL;
  /** Everything above the blank line but `Host` and `Connection`. */
  readonly head: readonly string[];
  /** What is sent of the body, as it is. */
  readonly body?: string;
  /** Whether the connection is dropped once the body has been sent. */
  readonly leavesAfterBody?: boolean;
}

const ANSWER_TIMEOUT_MILLISECONDS = 30_000;

/** Sends a request and reads the answer until the server closes the connection; null where none came. */
export async function sendRaw({
  url,
  head,
  body = "",
  leavesAfterBody = false,
}: RawRequest): Promise<RawAnswer | null> {
  const socket = connect(Number(url.port), url.hostname);
  let received = "";
  socket.setEncoding("latin1").on("data", (text: string) => {
    received += text;
  });
  // A server that has answered may reset the connection instead of reading on.
  socket.on("error", () => {});
  socket.setTimeout(ANSWER_TIMEOUT_MILLISECONDS, () => socket.destroy());
  const message = `${[...head, `Host: ${url.host}`, "Connection: close"].join("\r\n")}\r\n\r\n${body}`;
  socket.write(message, () => {
    if (leavesAfterBody) socket.destroy();
  });
  await once(socket, "close");
  return received === "" ? null : parseAnswer(received);
}

function parseAnswer(text: string): RawAnswer {
  const headEnd = text.indexOf("\r\n\r\n");
  const [statusLine = "", ...fields] = text.slice(0, headEnd).split("\r\n");
  const headers = new Headers(
    fields.map((field): [string, string] => {
      const colon = field.indexOf(":");
      return [field.slice(0, colon), field.slice(colon + 1).trim()];
    }),
  );
  return { status: Number(statusLine.split(" ")[1]), headers, body: text.slice(headEnd + 4) };
}

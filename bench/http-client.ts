/** The HTTP client of the benchmarks, a bare socket: after a pause, node:http takes half a ms more (2026-11-23). */
import { connect, type Socket } from "node:net";

const HEAD_END = "\r\n\r\n";
const LAST_CHUNK = "0\r\n\r\n";

const idle = new Map<string, Socket[]>();

/** Sends a request and reads the whole answer. Any status but 200 is an error. */
export async function post(url: URL, headers: Readonly<Record<string, string>>, body: string): Promise<void> {
  const kept = idle.getOrInsert(url.origin, []);
  let socket = kept.pop();
  while (socket?.destroyed) socket = kept.pop();
  // An error closes the connection, which is reported.
  socket ??= connect({ host: url.hostname, port: Number(url.port), noDelay: true }).on("error", () => {});
  const fields = { Host: url.host, "Content-Length": String(Buffer.byteLength(body)), ...headers };
  const lines = Object.entries(fields).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.write(`POST ${url.pathname} HTTP/1.1\r\n${lines.join("")}\r\n${body}`);
  const head = await readAnswer(socket);
  kept.push(socket);
  if (!head.startsWith("HTTP/1.1 200 ")) throw new Error(`${url.pathname}: ${head.slice(0, head.indexOf("\r"))}`);
}

/** Reads one answer to its end. @returns its head. */
function readAnswer(socket: Socket): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  let head = "";
  /** Infinite if the answer comes in chunks. */
  let missingBytes = Number.POSITIVE_INFINITY;
  const take = (bytes: Buffer) => {
    if (head.includes(HEAD_END)) missingBytes -= bytes.length;
    else {
      head += bytes.toString("latin1");
      const bodyStart = head.indexOf(HEAD_END) + HEAD_END.length;
      const [, length] = /^content-length: (\d+)/im.exec(head.slice(0, bodyStart)) ?? [];
      if (head.includes(HEAD_END)) missingBytes = Number(length ?? missingBytes) - (head.length - bodyStart);
    }
    const isLastChunk = () => bytes.subarray(-LAST_CHUNK.length).toString("latin1") === LAST_CHUNK;
    if (missingBytes === 0 || (missingBytes === Number.POSITIVE_INFINITY && isLastChunk())) resolve(head);
  };
  const fail = () => reject(new Error("the connection was closed before the end of the answer"));
  socket.on("data", take).on("close", fail);
  return promise.finally(() => socket.off("data", take).off("close", fail));
}

export function closeConnections(): void {
  for (const socket of [...idle.values()].flat()) socket.destroy();
  idle.clear();
}

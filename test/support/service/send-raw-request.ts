/** Sends a request of `raw-requests.ts` to a port, and says what came back, without what differs from time to time. */
import { once } from "node:events";
import { setTimeout as delay } from "node:timers/promises";
import { RawConnection } from "./raw-connection.ts";
import { FOLLOWING, type RawRequest } from "./raw-requests.ts";

export interface RawOutcome {
  /** Status and code of each answer. */
  readonly answers: string;
  /** The answers byte by byte, but for ids, dates, times, and the framing of bodies. */
  readonly bytes: string;
}

/** What comes later is a separate piece for the server. A server that is slower takes them as one, which is no fault. */
const PAUSE_MILLISECONDS = 30;
/** Differ from time to time, or say how a body or a connection ends, which each server may do as it likes. */
const LEFT_OUT = /^(?:date|x-request-id|server-timing|connection|keep-alive|content-length|transfer-encoding|vary):/i;

export async function sendRawRequest(url: URL, { parts, then }: RawRequest): Promise<RawOutcome> {
  const connection = new RawConnection(url);
  await once(connection.socket, "connect");
  const received = connection.readToEnd();
  const writes = then === "next" ? [...parts.slice(0, -1), joined(parts.at(-1) ?? "", FOLLOWING)] : parts;
  for (const [index, part] of writes.entries()) {
    if (index > 0) await delay(PAUSE_MILLISECONDS);
    await connection.write(part);
  }
  if (then === "ends") connection.socket.end();
  if (then === "leaves") {
    connection.reset();
    return { answers: "", bytes: "" };
  }
  const answers = readAnswers(await received, parts.join("").startsWith("HEAD "));
  return {
    answers: answers.map(({ summary }) => summary).join(", "),
    bytes: answers.map(({ text }) => text).join("\n"),
  };
}

function joined(...pieces: readonly (string | Buffer)[]): Buffer {
  return Buffer.concat(pieces.map((piece) => Buffer.from(piece)));
}

interface ReadAnswer {
  readonly summary: string;
  readonly text: string;
}

/** @param isHead whether the first answer has no body, whatever length it says */
function readAnswers(bytes: Buffer, isHead: boolean): ReadAnswer[] {
  const answers: ReadAnswer[] = [];
  let rest = bytes.toString("latin1");
  let hasBody = !isHead;
  while (rest !== "") {
    const end = rest.indexOf("\r\n\r\n");
    if (end < 0) return [...answers, { summary: "half a head", text: rest }];
    const [line = "", ...fields] = rest.slice(0, end).split("\r\n");
    const status = Number(line.split(" ")[1]);
    const isInterim = status < 200;
    const taken =
      hasBody && !isInterim && status !== 204 && status !== 304 ? takeBody(rest.slice(end + 4), fields) : null;
    const body = taken?.body ?? "";
    rest = taken?.rest ?? rest.slice(end + 4);
    if (!isInterim) hasBody = true;
    const code = status < 400 ? undefined : /"code": ?"([a-z_]+)"/.exec(body)?.[1];
    const kept = fields
      .filter((field) => !LEFT_OUT.test(field))
      .map((field) => field.replace(/^[^:]+/, (name) => name.toLowerCase()));
    answers.push({
      summary: code === undefined ? String(status) : `${status} ${code}`,
      text: [status, ...kept.sort(), "", body.replaceAll(/#[0-9a-f-]{36}/g, "#ID")].join("\n"),
    });
  }
  return answers;
}

function takeBody(text: string, fields: readonly string[]): { readonly body: string; readonly rest: string } {
  const fieldOf = (name: string) => fields.find((field) => field.toLowerCase().startsWith(`${name}:`))?.split(": ")[1];
  const length = fieldOf("content-length");
  if (length !== undefined) return { body: text.slice(0, Number(length)), rest: text.slice(Number(length)) };
  if (fieldOf("transfer-encoding") !== "chunked") return { body: text, rest: "" };
  let body = "";
  for (let at = 0; ; ) {
    const lineEnd = text.indexOf("\r\n", at);
    const size = Number.parseInt(text.slice(at, lineEnd), 16);
    if (lineEnd < 0 || Number.isNaN(size)) return { body: `${body} BROKEN`, rest: "" };
    body += text.slice(lineEnd + 2, lineEnd + 2 + size);
    at = lineEnd + 2 + size + 2;
    if (size === 0) return { body, rest: text.slice(at) };
  }
}

/**
 * The render request from a project. `data` is sent as the caller wrote it, so that no number is rounded on its way through
 * a JavaScript value.
 */
import { isUtf8 } from "node:buffer";
import {
  binaryFile,
  jsonText,
  type OutputOptions,
  type RenderRequest,
  type RequestFile,
  textFile,
} from "../../client/render-request.ts";
import { JsonCursor } from "../../rules/json/cursor.ts";
import { CommandError } from "../exit-codes.ts";
import { printableLine } from "../terminal.ts";
import { readNamed } from "./folder.ts";
import type { Project } from "./project.ts";

const BYTE_ORDER_MARK = "\ufeff";
/** The name of the data that means standard input. */
export const STANDARD_INPUT = "-";

/** The JSON text of `data`, and where it comes from, for messages. */
export interface DataText {
  readonly text: string;
  readonly name: string;
}

/**
 * Reads the data of a project.
 *
 * @param path the file that the caller names, `-` for standard input; null for what the project itself has.
 * @returns null if there is none.
 * @throws CommandError when it is not JSON.
 */
export async function readData(project: Project, path: string | null): Promise<DataText | null> {
  const name = path ?? project.dataPath;
  if (name === null) return null;
  const bytes = name === STANDARD_INPUT ? await readStandardInput() : await readNamed(name, name, project.root);
  return { text: validJson(bytes, name === STANDARD_INPUT ? "standard input" : printableLine(name)), name };
}

/**
 * JSON text without its byte order mark.
 *
 * @param firstLine of the text in its file
 * @throws CommandError that says where the mistake is, by line and column
 */
export function validJson(bytes: Buffer, name: string, firstLine = 1): string {
  if (!isUtf8(bytes)) throw new CommandError(`${name} is not UTF-8.`);
  const decoded = bytes.toString("utf8");
  const text = decoded.startsWith(BYTE_ORDER_MARK) ? decoded.slice(1) : decoded;
  // The service's own reader: messages of JSON.parse often have no position.
  const body = Buffer.from(text);
  const cursor = new JsonCursor(body);
  cursor.skipWhitespace();
  cursor.skipValue(null);
  cursor.expectEnd();
  if (!cursor.isMalformed) return text;
  const before = body.subarray(0, cursor.malformedAt).toString("utf8").split("\n");
  throw new CommandError(`${name}:${firstLine + before.length - 1}:${(before.at(-1)?.length ?? 0) + 1} is not JSON.`);
}

/** The request that renders a project. */
export function requestOf(project: Project, data: DataText | null, output: OutputOptions): RenderRequest {
  return {
    source: sourceText(project),
    files: Object.fromEntries(project.files.map(({ key, bytes }) => [key, requestFile(bytes)])),
    ...(data !== null && { data: jsonText(data.text) }),
    output,
  };
}

/** Text if it can be: it is shorter than Base64, unless most of it has to be escaped. */
function requestFile(bytes: Buffer): RequestFile {
  return isUtf8(bytes) && !bytes.includes(0) ? textFile(bytes.toString("utf8")) : binaryFile(bytes);
}

function sourceText({ source, sourceName }: Project): string {
  if (!isUtf8(source)) throw new CommandError(`${printableLine(sourceName)} is not UTF-8: save it as UTF-8.`);
  return source.toString("utf8");
}

async function readStandardInput(): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of process.stdin) chunks.push(Buffer.from(chunk));
  return Buffer.concat(chunks);
}

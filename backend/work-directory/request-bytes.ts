/** The bytes that a request brings, as its spans point to them, and what they take on disk. */
import type { StringSpan } from "../../rules/json/string.ts";
import type { RenderFile, RenderRequest } from "../../rules/render-request.ts";
import { neededDirectoryBytes } from "./paths.ts";

/** The data of a request that brings none. */
export const EMPTY_DATA = Buffer.from("{}");

/** The most that a render directory takes on disk. */
export function projectBytes({ data, files }: RenderRequest): number {
  const dataBytes = data === null ? EMPTY_DATA.length : data.end - data.start;
  const filesBytes = files.reduce((sum, { size }) => sum + size, 0);
  return dataBytes + filesBytes + neededDirectoryBytes(files.map(({ key }) => key));
}

export function fileBytes(body: Uint8Array, { encoding, content }: RenderFile): Uint8Array {
  const text = stringBytes(body, content);
  return encoding === "text" ? text : Buffer.from(text.toString("latin1"), "base64");
}

/** The UTF-8 bytes of a JSON string. If it has no escapes, they are a view of the body. */
export function stringBytes(body: Uint8Array, span: StringSpan): Buffer {
  const bytes = Buffer.from(body.buffer, body.byteOffset + span.start, span.end - span.start);
  if (!span.hasEscapes) return bytes;
  const text: unknown = JSON.parse(`"${bytes.toString("utf8")}"`);
  return Buffer.from(String(text), "utf8");
}

/** The bytes and directories that a request brings, as its spans and keys say, and what they take on disk. */
import { dirname } from "node:path";
import type { StringSpan } from "../../rules/json/string.ts";
import type { RenderFile, RenderRequest } from "../../rules/render-request.ts";

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

/** All directories that contain these relative paths, parents first. */
export function directoriesOf(files: readonly string[]): string[] {
  const directories = new Set<string>();
  for (const file of files) {
    const added: string[] = [];
    for (let path = dirname(file); path !== "." && !directories.has(path); path = dirname(path)) added.push(path);
    for (const path of added.reverse()) directories.add(path);
  }
  return [...directories];
}

const DIRECTORY_BYTES = 4096;
/** For 16,000 of them, which 64 of the longest keys name. */
export const MAX_DIRECTORY_BYTES = 64 * 1024 ** 2;

/** What the directories of these files need on disk, at most `MAX_DIRECTORY_BYTES`. */
export function neededDirectoryBytes(files: readonly string[]): number {
  return Math.min(MAX_DIRECTORY_BYTES, countNamedDirectories(files) * DIRECTORY_BYTES);
}

/** Shared ones are counted for each path, so it is an upper bound. */
export function countNamedDirectories(files: readonly string[]): number {
  let count = 0;
  for (const file of files) for (const character of file) if (character === "/") count++;
  return count;
}

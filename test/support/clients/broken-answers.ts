/** Answers that break off at a byte, in each way in which a connection, or a proxy in front of the service, lets that happen. */
import { constants, gunzipSync, gzipSync } from "node:zlib";
import { FILE_MEDIA_TYPES, type FileExtension } from "../../../protocol/file-types.ts";
import type { Behaviour } from "./scripted-service.ts";

/** What tells the other side where a body ends. A proxy that reads an answer to its broken end may write it anew as whole. */
export const FRAMINGS = ["its length", "chunks", "the end of the connection", "a new length", "new chunks"] as const;

export type Framing = (typeof FRAMINGS)[number];

/** A body as it is sent, and how many bytes of it are less than all that it says. */
export interface SentBody {
  readonly bytes: Uint8Array;
  readonly headers: Readonly<Record<string, string>>;
  readonly leastBytes: number;
}

export function sentBody(bytes: Uint8Array, contentType: string, isCompressed: boolean): SentBody {
  const headers = { "Content-Type": contentType };
  if (!isCompressed) return { bytes, headers, leastBytes: bytes.length };
  const compressed = gzipSync(bytes);
  // The last bytes say only that there are no more, and their checksum (RFC 1952, section 2.3.1).
  let leastBytes = compressed.length;
  while (unpackedBytes(compressed.subarray(0, leastBytes - 1)) === bytes.length) leastBytes--;
  return { bytes: compressed, headers: { ...headers, "Content-Encoding": "gzip" }, leastBytes };
}

function unpackedBytes(compressed: Uint8Array): number {
  return gunzipSync(compressed, { finishFlush: constants.Z_SYNC_FLUSH }).length;
}

export function sentFile(bytes: Uint8Array, extension: FileExtension, isCompressed: boolean): SentBody {
  return sentBody(bytes, FILE_MEDIA_TYPES[extension], isCompressed);
}

/** Sends this many bytes of a body, and no more. */
export function breakOff({ bytes, headers }: SentBody, sentBytes: number, framing: Framing): Behaviour {
  const part = bytes.subarray(0, sentBytes);
  return (response) => {
    switch (framing) {
      case "its length":
        response.writeHead(200, { ...headers, "Content-Length": bytes.length });
        return void response.write(part, () => response.destroy());
      case "chunks":
        response.writeHead(200, headers).flushHeaders();
        return void response.write(part, () => response.destroy());
      case "the end of the connection": {
        const fields = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
        const head = `HTTP/1.1 200 OK\r\n${fields.join("")}Connection: close\r\n\r\n`;
        return void response.socket?.end(Buffer.concat([Buffer.from(head), part]));
      }
      case "a new length":
        return void response.writeHead(200, { ...headers, "Content-Length": part.length }).end(part);
      case "new chunks":
        response.writeHead(200, headers).flushHeaders();
        return void response.end(part);
    }
  };
}

/** The first places, the last ones, and some between. */
export function placesToBreak({ leastBytes }: SentBody): number[] {
  const between = [3, 7, 9, leastBytes * 0.1, leastBytes * 0.37, leastBytes * 0.71, leastBytes - 9, leastBytes - 1];
  return [...new Set([0, 1, ...between.map(Math.floor)])].filter((at) => at >= 0 && at < leastBytes);
}

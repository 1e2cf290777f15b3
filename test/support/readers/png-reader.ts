/** Reads and writes the chunks of a PNG, by the rules of its specification; it shares no code with the service. */
import { crc32 } from "node:zlib";

export interface PngChunk {
  readonly type: string;
  readonly data: Buffer;
}

export const PNG_SIGNATURE = Buffer.from("89504e470d0a1a0a", "hex");

export function pngChunk(type: string, data: Uint8Array): Buffer {
  const typed = Buffer.concat([Buffer.from(type, "latin1"), data]);
  const [length, checksum] = [Buffer.alloc(4), Buffer.alloc(4)];
  length.writeUInt32BE(data.length);
  checksum.writeUInt32BE(crc32(typed));
  return Buffer.concat([length, typed, checksum]);
}

/** Throws if a checksum is wrong, if IHDR is not the first chunk or IEND not the last, or if pHYs follows image data. */
export function readPng(png: Buffer): PngChunk[] {
  if (!png.subarray(0, 8).equals(PNG_SIGNATURE)) throw new Error("this is no PNG");
  const chunks: PngChunk[] = [];
  for (let start = 8; start < png.length; ) {
    const dataEnd = start + 8 + png.readUInt32BE(start);
    if (crc32(png.subarray(start + 4, dataEnd)) !== png.readUInt32BE(dataEnd)) throw new Error("a checksum is wrong");
    chunks.push({ type: png.toString("latin1", start + 4, start + 8), data: png.subarray(start + 8, dataEnd) });
    start = dataEnd + 4;
  }
  const order = chunks.map(({ type }) => type).join(" ");
  if (!/^IHDR( (?!IDAT)\w{4})*( IDAT)+( (?!IDAT|pHYs)\w{4})* IEND$/.test(order))
    throw new Error(`wrong order: ${order}`);
  return chunks;
}

/** Pixels per metre of each pHYs of a PNG: horizontally and vertically. */
export function readPixelsPerMetre(png: Buffer): number[][] {
  const all = readPng(png).filter(({ type }) => type === "pHYs");
  return all.map(({ data }) => {
    if (data.length !== 9 || data[8] !== 1) throw new Error("the unit of pHYs is not the metre");
    return [data.readUInt32BE(0), data.readUInt32BE(4)];
  });
}

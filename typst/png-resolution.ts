/**
 * Says in a PNG how large it is: Typst 0.15.1 does not, and programs that place a picture then assume 72 or 96 pixels per
 * inch. All other bytes stay as they are, and none are copied.
 */
import { crc32 } from "node:zlib";

const METRES_PER_INCH = 0.0254;
/** PNG, section 11.3.4.3: pixels per unit in both directions, and the unit. */
const UNIT_METRE = 1;

/** PNG, sections 5.2 and 5.3: what is before the first chunk, and of each chunk its length, its type and its CRC. */
const SIGNATURE_BYTES = 8;
const HEADER_BYTES = 8;
const CRC_BYTES = 4;

/** Inserts `pHYs` into one PNG that comes in chunks, wherever they are cut. */
export class PngResolution {
  readonly #physical: Buffer;
  /** From `#held` on, what is left before the header of the next chunk. */
  #bytesToHeader = SIGNATURE_BYTES;
  /** The last bytes, if they are less than a header. */
  #held: Buffer = Buffer.alloc(0);
  #isDecided = false;

  constructor(ppi: number) {
    this.#physical = physicalDimensions(ppi);
  }

  /** Returns what is ready, in pieces. `pHYs` goes before the first `IDAT`; one that Typst has written stays alone. */
  push(chunk: Buffer): readonly Buffer[] {
    if (this.#isDecided) return [chunk];
    const bytes = this.#held.length === 0 ? chunk : Buffer.concat([this.#held, chunk]);
    let header = this.#bytesToHeader;
    while (header + HEADER_BYTES <= bytes.length) {
      const type = bytes.toString("latin1", header + 4, header + HEADER_BYTES);
      this.#isDecided = type === "IDAT" || type === "pHYs";
      if (type === "IDAT") return [bytes.subarray(0, header), this.#physical, bytes.subarray(header)];
      if (this.#isDecided) return [bytes];
      header += HEADER_BYTES + bytes.readUInt32BE(header) + CRC_BYTES;
    }
    const ready = Math.min(header, bytes.length);
    // A copy: who reads a file may reuse the buffer.
    this.#held = Buffer.from(bytes.subarray(ready));
    this.#bytesToHeader = header - ready;
    return [bytes.subarray(0, ready)];
  }

  end(): readonly Buffer[] {
    return this.#isDecided ? [] : [this.#held];
  }
}

function physicalDimensions(ppi: number): Buffer {
  // Up: CUPS cuts what it computes from this, and others round. At 203, both find 203 in 7993, and CUPS 202 in 7992.
  const pixelsPerMetre = Math.ceil(ppi / METRES_PER_INCH);
  const chunk = Buffer.alloc(HEADER_BYTES + 9 + CRC_BYTES);
  chunk.writeUInt32BE(9);
  chunk.write("pHYs", 4, "latin1");
  chunk.writeUInt32BE(pixelsPerMetre, HEADER_BYTES);
  chunk.writeUInt32BE(pixelsPerMetre, HEADER_BYTES + 4);
  chunk.writeUInt8(UNIT_METRE, HEADER_BYTES + 8);
  chunk.writeUInt32BE(crc32(chunk.subarray(4, -CRC_BYTES)), HEADER_BYTES + 9);
  return chunk;
}

/** Templates and files that are small when sent, and large or endless when processed. */
import { deflateSync, gzipSync } from "node:zlib";
import { PNG_SIGNATURE, pngChunk } from "../readers/png-reader.ts";

/** Runs longer than any test, in constant memory (79 MB after 2 s and after 8 s). */
export const ENDLESS = "#for a in range(1000000) { for b in range(1000000) { let c = a + b } }";

/** Time limits that no test reaches, so that only the test itself ends `ENDLESS`. */
export const NO_TIME_LIMIT = { SERVICE_RENDER_TIMEOUT_SECONDS: "600", SERVICE_RENDER_CPU_SECONDS: "3600" };

/** A PNG with this size in its header and `raw` as its uncompressed pixel data. */
export function png(width: number, height: number, raw: Uint8Array): Buffer {
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  // Eight bits per channel: red, green and blue.
  header.set([8, 2], 8);
  const pixels = deflateSync(raw, { level: 1 });
  const chunks = [pngChunk("IHDR", header), pngChunk("IDAT", pixels), pngChunk("IEND", Buffer.alloc(0))];
  return Buffer.concat([PNG_SIGNATURE, ...chunks]);
}

/** A PNG of noise, so that a page with it is as large as the PNG, even compressed. */
export function noisePng(side: number): Buffer {
  const rowBytes = side * 3 + 1;
  const raw = Buffer.alloc(side * rowBytes);
  let state = 1;
  for (let index = 0; index < raw.length; index++) {
    state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fffffff;
    // The first byte of a row is its filter: none.
    raw[index] = index % rowBytes === 0 ? 0 : state >> 16;
  }
  return png(side, side, raw);
}

export function svg(content: string): string {
  return `<svg xmlns="http://www.w3.org/2000/svg" width="10" height="10">${content}</svg>`;
}

/** An SVG in which each group shows the previous one ten times: 10^depth rectangles. */
export function referenceBomb(depth: number): string {
  const group = (level: number) => `<g id="g${level}">${`<use href="#g${level - 1}"/>`.repeat(10)}</g>`;
  const groups = Array.from({ length: depth }, (_, index) => group(index + 1)).join("");
  return svg(`<defs><rect id="g0" width="1" height="1"/>${groups}</defs><use href="#g${depth}"/>`);
}

/** An SVG in which each entity contains the previous one ten times. */
export function entityBomb(depth: number): string {
  const entity = (level: number) => `<!ENTITY e${level} "${`&e${level - 1};`.repeat(10)}">`;
  const entities = Array.from({ length: depth }, (_, index) => entity(index + 1)).join("");
  return `<!DOCTYPE svg [<!ENTITY e0 "ha">${entities}]>${svg(`<text>&e${depth};</text>`)}`;
}

/** YAML in which each anchor contains the previous one nine times. */
export function anchorBomb(depth: number): string {
  const line = (level: number) =>
    `a${level}: &a${level} [${Array(9)
      .fill(`*a${level - 1}`)
      .join(",")}]`;
  return ["a0: &a0 [x]", ...Array.from({ length: depth }, (_, index) => line(index + 1))].join("\n");
}

export function compressedSvg(rectangles: number): Buffer {
  return gzipSync(svg('<rect width="1" height="1"/>'.repeat(rectangles)));
}

/** A valid SVG with this many spaces, compressed. */
export function compressedSpaces(bytes: number): Buffer {
  const [start = "", end = ""] = svg("|").split("|");
  return gzipSync(Buffer.concat([Buffer.from(start), Buffer.alloc(bytes, " "), Buffer.from(end)]));
}

/**
 * WASM plugins, byte by byte: the smallest modules that Typst loads, with one function `run` that never returns. The
 * opcodes and value types of the WebAssembly core specification.
 */
const I32 = 0x7f;
const VOID = 0x40;
const LOOP = 0x03;
const END = 0x0b;
const BRANCH = 0x0c;
const UNREACHABLE = 0x00;
const DROP = 0x1a;
const CONSTANT = 0x41;
const STORE_BYTE = 0x3a;
const SUBTRACT = 0x6b;
const SHIFT_LEFT = 0x74;
const MEMORY_SIZE = 0x3f;
const MEMORY_GROW = 0x40;

const REPEAT = [BRANCH, 0x00, END, UNREACHABLE, END];

export function loopingPlugin(): Buffer {
  return pluginOf([LOOP, VOID, ...REPEAT]);
}

/** A plugin that allocates 1 MiB again and again and writes to its last page, and goes on if it gets none. */
export function growingPlugin(): Buffer {
  const grow = [CONSTANT, 0x10, MEMORY_GROW, 0x00, DROP];
  const lastPage = [MEMORY_SIZE, 0x00, CONSTANT, 0x01, SUBTRACT, CONSTANT, 0x10, SHIFT_LEFT];
  return pluginOf([LOOP, VOID, ...grow, ...lastPage, CONSTANT, 0x01, STORE_BYTE, 0x00, 0x00, ...REPEAT]);
}

/** A module with one function without parameters, after Typst's protocol: it returns 0 for success. */
function pluginOf(code: readonly number[]): Buffer {
  const body = [0x00, ...code];
  return Buffer.from([
    ...[...Buffer.from("\0asm"), 1, 0, 0, 0],
    // The types of the two functions that the protocol imports and of ours.
    ...section(1, [3, 0x60, 1, I32, 0, 0x60, 2, I32, I32, 0, 0x60, 0, 1, I32]),
    ...section(2, [
      ...[2, ...name("typst_env"), ...name("wasm_minimal_protocol_write_args_to_buffer"), 0x00, 0],
      ...[...name("typst_env"), ...name("wasm_minimal_protocol_send_result_to_host"), 0x00, 1],
    ]),
    ...section(3, [1, 2]),
    ...section(5, [1, 0x00, 1]),
    ...section(7, [2, ...name("memory"), 0x02, 0, ...name("run"), 0x00, 2]),
    ...section(10, [1, body.length, ...body]),
  ]);
}

function section(id: number, content: readonly number[]): number[] {
  // LEB128 in two bytes, enough for these sections.
  return [id, (content.length & 0x7f) | 0x80, content.length >> 7, ...content];
}

function name(text: string): number[] {
  return [text.length, ...Buffer.from(text)];
}

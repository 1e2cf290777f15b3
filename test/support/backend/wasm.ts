/** WASM plugins, byte by byte: the smallest modules that Typst loads, with one function `run` that never returns. */

/** Opcodes and value types of the WebAssembly core specification. */
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

/** A plugin that loops for ever. */
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

/** The bodies on which validation is measured: the largest requests of each kind, and one of everyday size. */
const MEBIBYTE = 1024 * 1024;
const BODY_BYTES = 20 * MEBIBYTE - 4096;

/** Each body is made on demand: several bodies of 20 MiB would fill a small isolate. */
export const BODIES: Readonly<Record<string, () => Uint8Array<ArrayBuffer>>> = {
  "20 MiB of Base64 files": base64Files,
  "20 MiB of numbers": numbers,
  "20 MiB of escaped strings": escapedStrings,
  "20 MiB of Korean text": koreanFiles,
  "1 KiB request": smallRequest,
};

function encode(request: unknown): Uint8Array<ArrayBuffer> {
  return new TextEncoder().encode(JSON.stringify(request));
}

/** A pseudorandom sequence that is the same in every run (a linear congruential generator). */
function makeRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}

function base64Files(): Uint8Array<ArrayBuffer> {
  const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  const random = makeRandom(1);
  const size = Math.floor(MEBIBYTE / 3) * 4;
  const content = Array.from({ length: size }, () => alphabet[Math.floor(random() * 64)]).join("");
  const names = Array.from(
    { length: Math.floor(BODY_BYTES / (size + 100)) },
    (_, index) => `assets/image-${index}.png`,
  );
  const files = Object.fromEntries(names.map((name) => [name, { encoding: "base64", content }]));
  return encode({ source: "= Images", files });
}

function numbers(): Uint8Array<ArrayBuffer> {
  const random = makeRandom(2);
  const rows: string[] = [];
  for (let size = 0; size < BODY_BYTES - 200; ) {
    const row = `[${Math.floor(random() * 1e6)},${(random() * 1e4).toFixed(2)},${(random() * 1e-3).toPrecision(6)},-${Math.floor(random() * 100)}]`;
    rows.push(row);
    size += row.length + 1;
  }
  return new TextEncoder().encode(`{"source":"= Numbers","data":{"rows":[${rows.join(",")}]}}`);
}

function escapedStrings(): Uint8Array<ArrayBuffer> {
  const text = 'She said: "quotes", back\\slashes,\ttabs,\nlines and \u00e9\u00e8 accents. ';
  const escaped = JSON.stringify(text.repeat(12)).replaceAll("\u00e9", "\\u00e9");
  const count = Math.floor((BODY_BYTES - 200) / (Buffer.byteLength(escaped) + 12));
  const items = Array.from({ length: count }, (_, index) => `"k${index}":${escaped}`);
  return new TextEncoder().encode(`{"source":"= Strings","data":{${items.join(",")}}}`);
}

/** Files of 1 MiB of random words: the processor would learn the branches of a repeated paragraph. */
function koreanFiles(): Uint8Array<ArrayBuffer> {
  const words = ["문서는", "하나의", "페이지", "서명했다", "계약서", "금액", "조직", "그리고", "있는", "합계를"];
  const separators = [" ", " ", " ", " ", ". "];
  const random = makeRandom(3);
  const pick = (choices: readonly string[]) => choices[Math.floor(random() * choices.length)] ?? "";
  const files: Record<string, { encoding: "text"; content: string }> = {};
  for (let index = 0; index < 20; index++) {
    const lines: string[] = [];
    for (let size = 0; size < BODY_BYTES / 20 - 2048; ) {
      const line = `${Array.from({ length: 15 }, () => pick(words) + pick(separators)).join("")}\n`;
      lines.push(line);
      // With the line break written as an escape.
      size += Buffer.byteLength(line) + 1;
    }
    files[`text/chapter-${index}.typ`] = { encoding: "text", content: lines.join("") };
  }
  return encode({ source: "= Text", files });
}

function smallRequest(): Uint8Array<ArrayBuffer> {
  const heading = '#set page(paper: "a5")\n= Invoice #data.number\n';
  const table = "#table(columns: 2, ..data.lines.map(l => (l.name, l.price)).flatten())\n";
  const lines = Array.from({ length: 12 }, (_, index) => ({ name: `Item ${index}`, price: index * 1.25 }));
  return encode({
    source: (heading + table).repeat(3),
    data: { number: "2026-0417", lines },
    output: { format: "pdf", filename: "invoice.pdf", standards: ["a-2b"] },
  });
}

/**
 * The bodies on which the validation is measured: the largest requests of each kind that the default limits allow, one
 * of everyday size, and one of numbers.
 */
const MEBIBYTE = 1024 * 1024;
const BODY_BYTES = 20 * MEBIBYTE - 4096;

/** Makes each body when asked: six of 20 MiB at once would crowd a small isolate. */
export const BODIES: Readonly<Record<string, () => Uint8Array<ArrayBuffer>>> = {
  "20 MiB of Base64 files": base64Files,
  "20 MiB of numbers": numbers,
  "20 MiB of escaped strings": escapedStrings,
  "64 files of 300 KiB text": textFiles,
  "500 KiB source": source,
  "1 KiB request": smallRequest,
};

function encode(request: unknown): Uint8Array<ArrayBuffer> {
  return new TextEncoder().encode(JSON.stringify(request));
}

/** A sequence without a pattern that is the same in every run (a linear congruential generator). */
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

function textFiles(): Uint8Array<ArrayBuffer> {
  const line =
    "#let total = rows.map(row => row.amount).sum() // the sum of all amounts, in cents and without rounding\n";
  const content = line.repeat(Math.ceil((300 * 1024) / line.length)).slice(0, 300 * 1024);
  const files = Object.fromEntries(
    Array.from({ length: 64 }, (_, index) => [`lib/part-${index}.typ`, { encoding: "text", content }]),
  );
  return encode({ source: "= Parts", files });
}

function source(): Uint8Array<ArrayBuffer> {
  const paragraph = "Lorem ipsum dolor sit amet, consectetur adipiscing elit, sed do eiusmod tempor incididunt. ";
  return encode({ source: paragraph.repeat(Math.floor((500 * 1024) / paragraph.length)) });
}

function smallRequest(): Uint8Array<ArrayBuffer> {
  return encode({
    source:
      '#set page(paper: "a5")\n= Invoice #data.number\n#table(columns: 2, ..data.lines.map(l => (l.name, l.price)).flatten())\n'.repeat(
        3,
      ),
    data: {
      number: "2026-0417",
      lines: Array.from({ length: 12 }, (_, i) => ({ name: `Item ${i}`, price: i * 1.25 })),
    },
    output: { format: "pdf", filename: "invoice.pdf", standards: ["a-2b"] },
  });
}

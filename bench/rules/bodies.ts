/**
 * The bodies on which validation is measured: the largest requests of each kind that the default limits allow, and one
 * of everyday size.
 */
const MEBIBYTE = 1024 * 1024;
const BODY_BYTES = 20 * MEBIBYTE - 4096;

/** Each body is made on demand: several bodies of 20 MiB would fill a small isolate. */
export const BODIES: Readonly<Record<string, () => Uint8Array<ArrayBuffer>>> = {
  "20 MiB of Base64 files": () => base64Files(BODY_BYTES),
  "20 MiB of numbers": () => numbers(BODY_BYTES),
  "20 MiB of escaped strings": escapedStrings,
  "20 MiB of Chinese text": () => proseFiles("Chinese", BODY_BYTES),
  "20 MiB of Russian text": () => proseFiles("Russian", BODY_BYTES),
  "20 MiB of Korean text": () => proseFiles("Korean", BODY_BYTES),
  "20 MiB of Hindi and emoji": () => proseFiles("Hindi and emoji", BODY_BYTES),
  "64 files of 300 KiB text": textFiles,
  "500 KiB source": source,
  "1 KiB request": smallRequest,
};

/** The bodies whose CPU time is measured against the limits of a platform. */
export const BODIES_BY_SIZE: Readonly<Record<string, () => Uint8Array<ArrayBuffer>>> = {
  "1 KiB request": smallRequest,
  "1 MiB of Base64": () => base64Files(MEBIBYTE),
  "1 MiB of numbers": () => numbers(MEBIBYTE),
  "1 MiB of Chinese text": () => proseFiles("Chinese", MEBIBYTE),
  "20 MiB of Base64": () => base64Files(BODY_BYTES),
  "20 MiB of numbers": () => numbers(BODY_BYTES),
  "20 MiB of Chinese text": () => proseFiles("Chinese", BODY_BYTES),
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

/** Files of up to 1 MiB. */
function base64Files(bodyBytes: number): Uint8Array<ArrayBuffer> {
  const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  const random = makeRandom(1);
  const size = Math.floor(Math.min(MEBIBYTE, 0.74 * bodyBytes) / 3) * 4;
  const content = Array.from({ length: size }, () => alphabet[Math.floor(random() * 64)]).join("");
  const names = Array.from({ length: Math.floor(bodyBytes / (size + 100)) }, (_, index) => `assets/image-${index}.png`);
  const files = Object.fromEntries(names.map((name) => [name, { encoding: "base64", content }]));
  return encode({ source: "= Images", files });
}

function numbers(bodyBytes: number): Uint8Array<ArrayBuffer> {
  const random = makeRandom(2);
  const rows: string[] = [];
  for (let size = 0; size < bodyBytes - 200; ) {
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

/** Words of prose, and what may follow a word. A line has about 80 columns. */
const PROSE = {
  Chinese: {
    words: [
      ..."的一是在不了有和人这中大为上个国我以要他时来用们生到作地于出就分对成会可主发年动同工也能下过子说产种面而方后多定行学法所民得经",
    ],
    separators: ["", "", "", "", "", "", "", "，"],
    wordsALine: 40,
  },
  Russian: {
    words: "и в не на что документ страница таблица подпись сумма договор организация".split(" "),
    separators: [" ", " ", " ", " ", " ", ", ", ". "],
    wordsALine: 12,
  },
  Korean: {
    words: ["문서는", "하나의", "페이지", "서명했다", "계약서", "금액", "조직", "그리고", "있는", "합계를"],
    separators: [" ", " ", " ", " ", ". "],
    wordsALine: 15,
  },
  "Hindi and emoji": {
    words: ["दस्तावेज़", "पृष्ठ", "हस्ताक्षर", "राशि", "और", "का", "\u{1f4c4}", "\u{1f469}\u200d\u{1f4bb}"],
    separators: [" ", " ", " ", " ", ". "],
    wordsALine: 15,
  },
} as const;

/**
 * Text files of 1 MiB each. The text is random, because the processor would learn the branches of a repeated paragraph.
 */
function proseFiles(language: keyof typeof PROSE, bodyBytes: number): Uint8Array<ArrayBuffer> {
  const { words, separators, wordsALine } = PROSE[language];
  const random = makeRandom(3);
  const pick = (choices: readonly string[]) => choices[Math.floor(random() * choices.length)] ?? "";
  const files: Record<string, { encoding: "text"; content: string }> = {};
  const fileCount = Math.ceil(bodyBytes / MEBIBYTE);
  const maxFileBytes = Math.floor(bodyBytes / fileCount) - 1024;
  for (let index = 0; index < fileCount; index++) {
    const lines: string[] = [];
    for (let size = 0; size < maxFileBytes - 1024; ) {
      const line = `${Array.from({ length: wordsALine }, () => pick(words) + pick(separators)).join("")}\n`;
      lines.push(line);
      // With the line break written as an escape.
      size += Buffer.byteLength(line) + 1;
    }
    files[`text/chapter-${index}.typ`] = { encoding: "text", content: lines.join("") };
  }
  return encode({ source: "= Text", files });
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

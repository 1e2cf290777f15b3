/** What is said of a file by its name and its bytes alone, compared with what Typst does with the same file. */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { execa } from "execa";
import { PNG } from "pngjs";
import { describe, expect, it } from "vitest";
import { findUnusableFiles } from "../../../clients/typescript/unusable-files.ts";
import { typstPath } from "../../support/backend/typst-path.ts";
import { collectionOf, liberation } from "../../support/fonts.ts";
import { makeTemporaryFolder } from "../../support/temporary-folder.ts";

const PNG_IMAGE = PNG.sync.write(new PNG({ width: 1, height: 1 }));
/** One grey pixel: quantisation, frame, two Huffman tables of one code each, and scan. */
const JPEG_IMAGE = Buffer.from(
  `ffd8ffdb004300${"01".repeat(64)}ffc0000b080001000101011100${["00", "10"]
    .map((table) => `ffc40014${table}01${"00".repeat(16)}`)
    .join("")}ffda0008010100003f003fffd9`,
  "hex",
);
const GIF_IMAGE = Buffer.from("R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7", "base64");
const WEBP_IMAGE = Buffer.from("UklGRiIAAABXRUJQVlA4IBYAAAAwAQCdASoBAAEADsD+JaQAA3AAAAAA", "base64");
const SVG_IMAGE = Buffer.from('<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"/>');
const SVG_WITH_LONG_HEAD = Buffer.from(`<!-- ${"-".repeat(4000).replaceAll("--", "- ")} -->${SVG_IMAGE.toString()}`);
const TIFF_IMAGE = Buffer.from("II*\0\x08\0\0\0", "latin1");
const HEIC_IMAGE = Buffer.from("\0\0\0\x18ftypheic\0\0\0\0mif1heic", "latin1");
const MARK = "\ufeff";
const LATIN_1 = Buffer.from("name\nGr\xfc\xdfe\n", "latin1");

function saidOf(key: string, bytes: Uint8Array): string | null {
  return findUnusableFiles([{ key, bytes }])[0]?.message ?? null;
}

async function compile(source: string, key: string, bytes: Uint8Array) {
  const folder = await makeTemporaryFolder("unusable-files-test-");
  await writeFile(join(folder, "main.typ"), source);
  await writeFile(join(folder, key), bytes);
  return execa(typstPath(), ["compile", "main.typ", "out.pdf"], { cwd: folder, reject: false });
}

const IMAGES: readonly (readonly [string, Uint8Array, string | null])[] = [
  ["a.png", PNG_IMAGE, null],
  ["A.PNG", PNG_IMAGE, null],
  ["a.jpg", JPEG_IMAGE, null],
  ["a.jpeg", JPEG_IMAGE, null],
  ["a.gif", GIF_IMAGE, null],
  ["a.webp", WEBP_IMAGE, null],
  ["a.svg", SVG_IMAGE, null],
  ["a.svg", SVG_WITH_LONG_HEAD, null],
  ["a.tiff", PNG_IMAGE, null],
  ["a.heic", JPEG_IMAGE, null],
  ["a.png", WEBP_IMAGE, "is WebP, which is not read by this name: let the name end in .webp."],
  ["a.svg", PNG_IMAGE, "is PNG, which is not read by this name: let the name end in .png."],
  ["a.jpg", HEIC_IMAGE, "is HEIC, which Typst does not read: convert it to PNG, JPEG or SVG."],
  ["a.heic", HEIC_IMAGE, "is HEIC, which Typst does not read: convert it to PNG, JPEG or SVG."],
  ["a.tif", TIFF_IMAGE, "is TIFF, which Typst does not read: convert it to PNG, JPEG or SVG."],
  ["a.psd", Buffer.from("8BPS"), "is PSD, which Typst does not read: convert it to PNG, JPEG or SVG."],
  ["a.png", Buffer.from("<!doctype html>"), "is not PNG."],
  ["a.pdf", Buffer.from("<!doctype html>"), "is not PDF."],
];

describe("an image", () => {
  it.each(IMAGES)("named %s is said to be unusable if Typst does not read it (%#)", async (key, bytes, message) => {
    expect(saidOf(key, bytes)).toBe(message);
    const { exitCode } = await compile(`#image("${key}")`, key, bytes);
    expect(exitCode === 0).toBe(message === null);
  });

  it("is whatever the template makes of it where its name promises none", () => {
    for (const key of ["a.bin", "a", ".png/a", "a.wasm"]) expect(saidOf(key, TIFF_IMAGE)).toBeNull();
  });
});

describe("text", () => {
  it.each([
    ["a.csv", LATIN_1, "csv", "is not UTF-8: save it as UTF-8."],
    ["a.csv", Buffer.from("a,b", "utf16le"), "csv", null],
    ["a.csv", Buffer.from(`${MARK}ä,b`), "csv", null],
    ["a.txt", LATIN_1, "read", "is not UTF-8: save it as UTF-8."],
    ["a.json", Buffer.from('"ä"'), "json", null],
    [
      "a.json",
      Buffer.from(`${MARK}1`),
      "json",
      "begins with a byte order mark, which json() refuses: save it without one.",
    ],
    ["a.toml", Buffer.from(`${MARK}a = 1`), "toml", null],
    ["a.yaml", Buffer.from(`${MARK}a: 1`), "yaml", null],
    ["a.xml", Buffer.from(`${MARK}<a/>`), "xml", null],
    [
      "a.xml",
      Buffer.from('<?xml version="1.0" encoding="ISO-8859-1"?><a>\xfc</a>', "latin1"),
      "xml",
      "is not UTF-8: save it as UTF-8.",
    ],
  ] as const)("in %s is said to be unusable if Typst does not read it (%#)", async (key, bytes, reader, message) => {
    expect(saidOf(key, bytes)).toBe(message);
    const { exitCode } = await compile(`#${reader}("${key}")`, key, bytes);
    expect(exitCode === 0).toBe(message === null);
  });

  it("keeps a byte order mark that read() reads, and loses one that csv() reads", async () => {
    const bytes = Buffer.from(`${MARK}a`);
    expect(saidOf("a.txt", bytes)).toBe("begins with a byte order mark, which read() keeps: save it without one.");
    const source = '#assert(read("a.txt").starts-with("\\u{feff}"))\n#assert(csv("a.txt") == (("a",),))';
    expect(await compile(source, "a.txt", bytes)).toMatchObject({ exitCode: 0 });
  });
});

describe("a font", () => {
  it.each([
    ["a.ttf", "regular", null],
    ["a.ttc", "collection", null],
    ["a.woff2", "wOF2", "is WOFF2, which Typst does not read: convert it to TTF or OTF."],
    ["a.woff", "wOFF", "is WOFF, which Typst does not read: convert it to TTF or OTF."],
    ["a.ttf", "wOF2", "is WOFF2, which Typst does not read: convert it to TTF or OTF."],
    ["a.otf", "<!doctype html>", "is not a font that Typst reads."],
  ] as const)("named %s is said to be unusable if Typst does not list it (%#)", async (key, content, message) => {
    const regular = await liberation("Regular");
    const fonts = new Map([
      ["regular", regular],
      ["collection", collectionOf([regular])],
    ]);
    const bytes = fonts.get(content) ?? Buffer.from(content);
    expect(saidOf(key, bytes)).toBe(message);
    const folder = await makeTemporaryFolder("unusable-files-test-");
    await writeFile(join(folder, key), bytes);
    const { stdout } = await execa(typstPath(), ["fonts", "--ignore-system-fonts", "--font-path", folder]);
    expect(stdout.includes("Liberation Sans")).toBe(message === null);
  });
});

/** What is said of a file by its name and its bytes alone, compared with what Typst does with the same file. */
import { execa } from "execa";
import { PNG } from "pngjs";
import { describe, expect, it } from "vitest";
import { findUnusableFiles } from "../../../clients/document/unusable-files.ts";
import { typstPath } from "../../support/backend/typst-path.ts";
import { typstPdf } from "../../support/backend/typst-pdf.ts";
import { writeProject } from "../../support/clients/command-line.ts";
import { collectionOf, liberation } from "../../support/fonts.ts";
import { GREY_JPEG } from "../../support/grey-jpeg.ts";
import { makeTemporaryFolder } from "../../support/temporary-folder.ts";

const PNG_IMAGE = PNG.sync.write(new PNG({ width: 1, height: 1 }));
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

type Row = readonly [key: string, bytes: Uint8Array, reader: string, message: string | null];

/** Compiles a document that reads each of these files. */
async function compile(rows: readonly Row[]) {
  const folder = await makeTemporaryFolder("unusable-files-test-");
  const calls = rows.map(
    ([key, , reader], index) => `#let read-${index} = [#${reader}("${index}/${key}")]\n#read-${index}`,
  );
  await writeProject(folder, { "main.typ": calls.join("\n") });
  await writeProject(folder, Object.fromEntries(rows.map(([key, bytes], index) => [`${index}/${key}`, bytes])));
  return execa(typstPath(), ["compile", "main.typ", "out.pdf"], { cwd: folder, reject: false });
}

const NO_UTF_8 = "is not UTF-8: save it as UTF-8.";
const HEIC = "is HEIC, which Typst does not read: convert it to PNG, JPEG or SVG.";
const LATIN_1_XML = Buffer.from('<?xml version="1.0" encoding="ISO-8859-1"?><a>\xfc</a>', "latin1");

const ROWS: readonly Row[] = [
  ["a.png", PNG_IMAGE, "image", null],
  ["A.PNG", PNG_IMAGE, "image", null],
  ["a.jpg", GREY_JPEG, "image", null],
  ["a.gif", GIF_IMAGE, "image", null],
  ["a.webp", WEBP_IMAGE, "image", null],
  ["a.svg", SVG_IMAGE, "image", null],
  ["a.svg", SVG_WITH_LONG_HEAD, "image", null],
  ["a.tiff", PNG_IMAGE, "image", null],
  ["a.heic", GREY_JPEG, "image", null],
  ["a.png", WEBP_IMAGE, "image", "is WebP, which is not read by this name: let the name end in .webp."],
  ["a.svg", PNG_IMAGE, "image", "is PNG, which is not read by this name: let the name end in .png."],
  ["a.jpg", HEIC_IMAGE, "image", HEIC],
  ["a.heic", HEIC_IMAGE, "image", HEIC],
  ["a.psd", Buffer.from("8BPS"), "image", "is PSD, which Typst does not read: convert it to PNG, JPEG or SVG."],
  ["a.png", Buffer.from("<!doctype html>"), "image", "is not PNG."],
  ["a.csv", LATIN_1, "csv", NO_UTF_8],
  ["a.csv", Buffer.from(`${MARK}ä,b`), "csv", null],
  ["a.txt", LATIN_1, "read", NO_UTF_8],
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
  ["a.xml", LATIN_1_XML, "xml", NO_UTF_8],
];

describe("an image or a text is said to be unusable if Typst does not read it", () => {
  it("and is not if Typst does", async () => {
    const usable = ROWS.filter(([, , , message]) => message === null);
    expect(usable.map(([key, bytes]) => saidOf(key, bytes))).toEqual(usable.map(() => null));
    expect(await compile(usable)).toMatchObject({ exitCode: 0 });
  });

  it.each(ROWS.filter(([, , , message]) => message !== null))("named %s (%#)", async (...row) => {
    const [key, bytes, , message] = row;
    expect(saidOf(key, bytes)).toBe(message);
    expect(await compile([row])).toMatchObject({ exitCode: 1 });
  });

  it("and is whatever the template makes of it where its name promises none", () => {
    for (const key of ["a.bin", "a", ".png/a", "a.wasm"]) expect(saidOf(key, TIFF_IMAGE)).toBeNull();
  });
});

describe("a file that is cut off", async () => {
  const CUT_OFF = "is cut off: its end is missing. Get the file again.";
  const nested = Buffer.from(
    '<s:svg xmlns:s="http://www.w3.org/2000/svg"><s:svg></s:svg><!-- </s:svg> --><s:g></s:g></s:svg>',
  );
  /** A thumbnail in its head, which has an end of its own. */
  const withThumbnail = Buffer.concat([
    GREY_JPEG.subarray(0, 2),
    Buffer.from("ffe10006ffd8ffd9", "hex"),
    GREY_JPEG.subarray(2),
  ]);
  const whole: readonly (readonly [key: string, bytes: Buffer, shortest: number])[] = [
    ["a.png", PNG_IMAGE, 8],
    ["a.jpg", GREY_JPEG, 8],
    ["thumbnail.jpeg", withThumbnail, 12],
    ["a.gif", GIF_IMAGE, 8],
    ["a.webp", WEBP_IMAGE, 12],
    ["a.svg", SVG_IMAGE, 50],
    ["nested.svg", nested, nested.length - 20],
    ["a.pdf", await typstPdf("= Title", []), 1000],
    ["a.ttf", await liberation("Regular"), 12],
  ];

  it.each(whole)("is said to be so wherever it ends: %s", (key, bytes, shortest) => {
    const step = Math.max(1, Math.floor(bytes.length / 200));
    for (let length = bytes.length - 1; length >= shortest; length -= step) {
      expect(saidOf(key, bytes.subarray(0, length)), `${length} of ${bytes.length}`).toBe(CUT_OFF);
    }
    expect(saidOf(key, bytes)).toBeNull();
    expect(saidOf(key, Buffer.concat([bytes, Buffer.from("\n\n")]))).toBeNull();
  });

  it("is as long as it should be, if its end is empty", () => {
    const half = Buffer.alloc(GREY_JPEG.length);
    GREY_JPEG.copy(half, 0, 0, GREY_JPEG.length - 4);
    expect(saidOf("a.jpg", half)).toBe(CUT_OFF);
    expect(saidOf("a.gif", Buffer.concat([GIF_IMAGE.subarray(0, -1), Buffer.alloc(9)]))).toBe(CUT_OFF);
    const webp = (zeros: number) => {
      const pixels = Buffer.alloc(1000, 1).fill(0, 1000 - zeros);
      const chunks = [Buffer.from("WEBPVP8 \xe8\x03\0\0", "latin1"), pixels, Buffer.from("EXIF\xe8\x03\0\0", "latin1")];
      const content = Buffer.concat([...chunks, Buffer.alloc(1000)]);
      const head = Buffer.from("RIFF....");
      head.writeUInt32LE(content.length, 4);
      return Buffer.concat([head, content]);
    };
    expect(saidOf("a.webp", webp(3))).toBeNull();
    expect(saidOf("a.webp", webp(500))).toBe(CUT_OFF);
  });

  it("is a JPEG without an error of Typst", async () => {
    const row = ["a.jpg", GREY_JPEG.subarray(0, -2), "image", null] as const;
    expect(await compile([row])).toMatchObject({ exitCode: 0 });
  });
});

it("a text keeps a byte order mark that read() reads", async () => {
  const bytes = Buffer.from(`${MARK}a`);
  expect(saidOf("a.txt", bytes)).toBe("begins with a byte order mark, which read() keeps: save it without one.");
  const asserting = 'x => assert(read(x).starts-with("\\u{feff}"))';
  expect(await compile([["a.txt", bytes, `(${asserting})`, null]])).toMatchObject({ exitCode: 0 });
});

it("a font is said to be unusable if Typst does not list it", async () => {
  const regular = await liberation("Regular");
  const web = "which Typst does not read. Convert it to TTF or OTF";
  const unusable = { "x/a.woff2": "wOF2", "b.woff": "wOFF", "c.ttf": "wOF2", "d.otf": "<!doctype html>" };
  const messages = [
    `is WOFF2, ${web}: fonttools ttLib x/a.woff2 -o x/a.ttf`,
    `is WOFF, ${web}: fonttools ttLib b.woff -o b.ttf`,
    `is WOFF2, ${web}`,
    "is not a font that Typst reads.",
  ];
  expect(Object.entries(unusable).map(([key, text]) => saidOf(key, Buffer.from(text)))).toEqual(messages);
  const listed = async (files: Readonly<Record<string, string | Uint8Array>>) => {
    const folder = await makeTemporaryFolder("unusable-files-test-");
    await writeProject(folder, files);
    return (await execa(typstPath(), ["fonts", "--ignore-system-fonts", "--font-path", folder])).stdout;
  };
  expect(await listed(unusable)).not.toContain("Liberation Sans");
  for (const [key, bytes] of [["a.ttf", regular] as const, ["a.ttc", collectionOf([regular])] as const]) {
    expect(saidOf(key, bytes)).toBeNull();
    expect(await listed({ [key]: bytes })).toContain("Liberation Sans");
  }
});

import { execa } from "execa";
import { expect, it } from "vitest";
import { PPI } from "../../rules/output-options.ts";
import { PngResolution } from "../../typst/png-resolution.ts";
import { typstPath } from "../support/backend/typst-path.ts";
import { PNG_SIGNATURE, pngChunk, readPixelsPerMetre, readPng } from "../support/readers/png-reader.ts";

function complete(chunks: readonly Buffer[], ppi = 144): Buffer {
  const resolution = new PngResolution(ppi);
  return Buffer.concat([...chunks.flatMap((chunk) => resolution.push(chunk)), ...resolution.end()]);
}

async function typstPng(ppi: number): Promise<Buffer> {
  const options = ["compile", "--format", "png", "--ppi", String(ppi), "--ignore-system-fonts", "-", "-"];
  const input = "#set page(width: 20mm, height: 10mm)\nx";
  const { stdout } = await execa(typstPath(), options, { input, encoding: "buffer" });
  return Buffer.from(stdout);
}

const PHYSICAL_BYTES = 21;

const HEADER = pngChunk("IHDR", Buffer.alloc(13, 1));
const IMAGE = pngChunk("IDAT", Buffer.alloc(40, "pHYs"));
const END = pngChunk("IEND", Buffer.alloc(0));

it.each([
  [72, 2835],
  [127, 5000],
  [144, 5670],
  [203, 7993],
  [300, 11_812],
])("at %i pixels per inch, a PNG of Typst has %i per metre, and all of its own bytes", async (ppi, perMetre) => {
  const written = await typstPng(ppi);
  expect(readPixelsPerMetre(written), "if this fails, Typst writes it itself").toEqual([]);
  const png = complete([written], ppi);
  expect(readPixelsPerMetre(png)).toEqual([[perMetre, perMetre]]);
  const at = png.indexOf("pHYs") - 4;
  expect(Buffer.concat([png.subarray(0, at), png.subarray(at + PHYSICAL_BYTES)]).equals(written)).toBe(true);
});

it("readers that cut and readers that round find every resolution", () => {
  const png = Buffer.concat([PNG_SIGNATURE, HEADER, IMAGE, END]);
  for (let ppi = 1; ppi <= PPI.max_ppi; ppi++) {
    const [[perMetre = 0] = []] = readPixelsPerMetre(complete([png], ppi));
    // In double precision, in the single one of CUPS, and from whole pixels per metre.
    const read = [perMetre * 0.0254, Math.fround(perMetre * Math.fround(0.0254)), (perMetre * 254) / 10_000];
    expect(read.flatMap((value) => [Math.floor(value), Math.round(value)])).toEqual(Array(6).fill(ppi));
  }
});

it("a PNG is the same for every split in two, and byte by byte", async () => {
  const written = await typstPng(72);
  const expected = complete([written]);
  for (let cut = 0; cut <= written.length; cut++) {
    expect(complete([written.subarray(0, cut), written.subarray(cut)]).equals(expected), `cut at ${cut}`).toBe(true);
  }
  expect(complete(Array.from(written, (byte) => Buffer.of(byte))).equals(expected)).toBe(true);
});

it("the resolution goes before the image data, behind all other chunks, however long", () => {
  const others = [
    pngChunk("sRGB", Buffer.of(0)),
    pngChunk("gAMA", Buffer.alloc(4)),
    pngChunk("tEXt", Buffer.alloc(99_999, "IDAT")),
  ];
  const png = Buffer.concat([PNG_SIGNATURE, HEADER, ...others, IMAGE, IMAGE, END]);
  const types = ["IHDR", "sRGB", "gAMA", "tEXt", "pHYs", "IDAT", "IDAT", "IEND"];
  expect(readPng(complete([png])).map(({ type }) => type)).toEqual(types);
});

it("a resolution that is there already stays the only one", () => {
  const own = pngChunk("pHYs", Buffer.alloc(9, 1));
  const png = Buffer.concat([PNG_SIGNATURE, HEADER, own, pngChunk("sRGB", Buffer.of(0)), IMAGE, END]);
  expect(complete([png]).equals(png)).toBe(true);
  expect(complete(Array.from(png, (byte) => Buffer.of(byte))).equals(png)).toBe(true);
});

it("what is no PNG, or only the beginning of one, stays as it is", () => {
  for (const bytes of ["", "x", "no picture at all, and longer than a header", "\0".repeat(99), "\xff".repeat(99)]) {
    expect(complete([Buffer.from(bytes, "latin1")]).toString("latin1")).toBe(bytes);
  }
  const cut = Buffer.concat([PNG_SIGNATURE, HEADER, IMAGE.subarray(0, 7)]);
  expect(complete([cut]).equals(cut)).toBe(true);
});

it("no byte of the image is copied", () => {
  const png = Buffer.concat([PNG_SIGNATURE, HEADER, IMAGE, END]);
  const [before, , after] = new PngResolution(144).push(png);
  expect([before?.buffer, after?.buffer]).toEqual([png.buffer, png.buffer]);
  expect(after?.length).toBe(IMAGE.length + END.length);
});

/** Pages as Typst writes them, checked against the limits and packed: small ones in one call, large ones as streams. */
import { randomBytes } from "node:crypto";
import { mkdtemp, open, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { crc32, deflateRawSync } from "node:zlib";
import fc from "fast-check";
import { Zip, type ZipInputFile } from "fflate";
import * as v from "valibot";
import { beforeAll, beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { ByteBudget } from "../../../backend/admission/byte-budget.ts";
import { packArchive, packPages } from "../../../backend/render/archive.ts";
import { failBySpace, refuse } from "../../../backend/render/outcome.ts";
import { TimeLimit } from "../../../backend/render/render-time.ts";
import { Spool } from "../../../backend/render/spool.ts";
import { readBackendSettings } from "../../../backend/settings.ts";
import { isDiskFull } from "../../../backend/work-directory/watch.ts";
import { LIMIT_SETTINGS } from "../../../rules/limits.ts";
import { OUTPUT_SCHEMAS, type Output } from "../../../rules/output-options.ts";
import { outputTooLarge } from "../../../rules/problem.ts";
import { archiveBytes, DEFLATE_LEVEL } from "../../../typst/archive-layout.ts";
import { PNG_SIGNATURE, pngChunk, readPixelsPerMetre, readPng } from "../../support/readers/png-reader.ts";
import { readZip } from "../../support/readers/zip-reader.ts";

const KIBIBYTE = 1024;
const MEBIBYTE = 1024 ** 2;
const SIZES = [
  0,
  1,
  1000,
  255 * KIBIBYTE,
  256 * KIBIBYTE - 1,
  256 * KIBIBYTE,
  256 * KIBIBYTE + 1,
  MEBIBYTE - 1,
  MEBIBYTE,
  MEBIBYTE + 1,
  3 * MEBIBYTE,
];

const wantedAs = (format: "png" | "svg", ppi = 144): Output =>
  v.parse(OUTPUT_SCHEMAS[format], { format, archive: "zip", ...(format === "png" && { ppi }) });

/** With this image data, which need not be any. */
function pngOf(data: Buffer, text = Buffer.alloc(0)): Buffer {
  const chunks = (
    [
      ["IHDR", Buffer.alloc(13, 1)],
      ["tEXt", text],
      ["IDAT", data],
      ["IEND", Buffer.alloc(0)],
    ] as const
  ).map(([type, content]) => pngChunk(type, content));
  return Buffer.concat([PNG_SIGNATURE, ...chunks]);
}

let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "archive-"));
  return () => rm(folder, { recursive: true });
});

async function pack(
  contents: readonly Buffer[],
  extension: "png" | "svg",
  {
    maxPageBytes = 64 * MEBIBYTE,
    maxOutputBytes = 64 * MEBIBYTE,
    memoryBytes = 64 * MEBIBYTE,
    directory = folder,
    threads = 1,
    signal = new AbortController().signal,
    numbers = contents.map((_content, index) => index + 1),
  } = {},
) {
  const pages = contents.map((content, index) => {
    const number = numbers[index] ?? 0;
    return { number, path: join(folder, String(number)), content };
  });
  for (const { path, content } of pages) await writeFile(path, content);
  const memory = new ByteBudget(memoryBytes, memoryBytes);
  const disk = new ByteBudget(64 * MEBIBYTE, 64 * MEBIBYTE);
  const spool = new Spool({ directory, maxOutputBytes, memory, disk }, "caller");
  try {
    const packed = await packPages(pages, spool, { wanted: wantedAs(extension), maxPageBytes, threads, signal });
    const chunks = packed.result === "kept" ? await Array.fromAsync(spool.read()) : [];
    return { ...packed, size: spool.size, archive: Buffer.concat(chunks) };
  } finally {
    await spool.close();
  }
}

describe("packPages", () => {
  it("packs PNG of all sizes as they are, each behind its length, so that they can be read from the beginning", async () => {
    const contents = SIZES.map((size) => randomBytes(size));
    const { result, pageBytes, archive } = await pack(contents, "png");
    expect([result, pageBytes]).toEqual(["kept", SIZES.reduce((sum, size) => sum + size, 0)]);
    const entries = readZip(archive);
    expect(entries.map(({ bytes }, index) => contents[index]?.equals(bytes))).toEqual(SIZES.map(() => true));
    let position = 0;
    for (const [index, content] of contents.entries()) {
      const name = `page-${String(index + 1).padStart(2, "0")}.png`;
      const [signature, checksum] = [archive.readUInt32LE(position), archive.readUInt32LE(position + 14)];
      expect([signature, checksum]).toEqual([0x04034b50, crc32(content)]);
      const [version, flags, method] = [4, 6, 8].map((field) => archive.readUInt16LE(position + field));
      expect({ version, flags, method }).toEqual({ version: 20, flags: 0, method: 0 });
      expect([18, 22].map((field) => archive.readUInt32LE(position + field))).toEqual([content.length, content.length]);
      expect([26, 28].map((field) => archive.readUInt16LE(position + field))).toEqual([name.length, 0]);
      const start = position + 30 + name.length;
      expect(archive.toString("utf8", position + 30, start)).toBe(name);
      position = start + content.length;
      expect(archive.subarray(start, position).equals(content)).toBe(true);
    }
  });

  it("compresses SVG of all sizes", async () => {
    const contents = SIZES.map((size) => Buffer.alloc(size, "x"));
    for (const { bytes, packedBytes } of readZip((await pack(contents, "svg")).archive)) {
      expect(packedBytes).toBeLessThan(bytes.length / 50 + 16);
    }
  });

  it("packs small SVG byte for byte as fflate does", async () => {
    const contents = ["<svg/>", `<svg>${"x".repeat(9000)}</svg>`, ""].map((text) => Buffer.from(text));
    const written: Uint8Array[] = [];
    const zip = new Zip((_error, chunk) => written.push(chunk));
    for (const [index, content] of contents.entries()) {
      const entry: ZipInputFile = {
        filename: `page-0${index + 1}.svg`,
        size: content.length,
        crc: crc32(content),
        compression: 8,
        mtime: new Date(1980, 0, 1),
      };
      zip.add(entry);
      entry.ondata?.(null, Uint8Array.from(deflateRawSync(content, { level: DEFLATE_LEVEL })), false);
      entry.ondata?.(null, new Uint8Array(0), true);
    }
    zip.end();
    expect((await pack(contents, "svg")).archive.equals(Buffer.concat(written))).toBe(true);
  });

  it("delivers of each page its own bytes alone, of whatever sizes they are, in memory and in a file", async () => {
    const around = (size: number) => fc.integer({ min: size - 100, max: size + 100 });
    const size = fc.oneof(fc.nat(2000), fc.nat(MEBIBYTE), ...[MEBIBYTE, 2 * MEBIBYTE, 4 * MEBIBYTE].map(around));
    await fc.assert(
      fc.asyncProperty(fc.array(size, { minLength: 1, maxLength: 6 }), fc.boolean(), async (sizes, inMemory) => {
        const data = sizes.map((bytes) => randomBytes(bytes));
        const memoryBytes = inMemory ? MEBIBYTE : 0;
        const contents = data.map((image) => pngOf(image));
        const { archive, pageBytes } = await pack(contents, "png", { memoryBytes });
        // With their resolutions.
        expect(pageBytes).toBe(contents.reduce((sum, { length }) => sum + length + 21, 0));
        const entries = readZip(archive);
        for (const { bytes } of entries) expect(readPixelsPerMetre(bytes)).toEqual([[5670, 5670]]);
        const images = entries.map(({ bytes }) => readPng(bytes).find(({ type }) => type === "IDAT")?.data);
        expect(images.map((image, index) => data[index]?.equals(image ?? Buffer.alloc(0)))).toEqual(
          sizes.map(() => true),
        );
      }),
      // The second would be read over the first if that were kept in memory without a copy.
      { numRuns: 20, examples: [[[600 * KIBIBYTE, 200 * KIBIBYTE], true]] },
    );
  });

  it("reads a PNG in steps wherever its chunks begin, also if the image data begin late", async () => {
    const image = randomBytes(2 * MEBIBYTE + 100);
    const others = pngOf(Buffer.alloc(0)).length - 2 * 12;
    const contents = Array.from({ length: 9 }, (_, bytes) => pngOf(image, Buffer.alloc(2 * MEBIBYTE - others - bytes)));
    const entries = readZip((await pack(contents, "png")).archive);
    expect(entries.length).toBe(contents.length);
    for (const { bytes } of entries) {
      const chunks = readPng(bytes);
      expect(chunks.map(({ type }) => type)).toEqual(["IHDR", "tEXt", "pHYs", "IDAT", "IEND"]);
      expect(chunks[3]?.data.equals(image)).toBe(true);
    }
  });

  it.each(["png", "svg"] as const)("makes an archive of %s as long as it is reckoned", async (format) => {
    const contents = SIZES.map((size) => Buffer.from(randomBytes(size).toString("base64").slice(0, size)));
    const { archive } = await pack(contents, format);
    const pages = readZip(archive).map(({ name, bytes }) => ({ name, content: bytes }));
    expect(archiveBytes(pages)).toBe(archive.length);
    expect(archiveBytes([])).toBe((await pack([], format)).archive.length);
  });

  it("takes a read that gives less than there is for no page's end", async () => {
    const handle = await open(import.meta.filename);
    const prototype = Object.getPrototypeOf(handle);
    const realRead = prototype.read;
    await handle.close();
    onTestFinished(() => {
      prototype.read = realRead;
    });
    prototype.read = function (this: unknown, buffer: Buffer, offset: number, length: number, position: number) {
      return realRead.call(this, buffer, offset, Math.min(length, 100_000), position);
    };
    const contents = [900_000, 5 * MEBIBYTE].map((size) => randomBytes(size));
    for (const kind of ["png", "svg"] as const) {
      const texts = kind === "png" ? contents : contents.map((content) => Buffer.from(content.toString("base64")));
      const entries = readZip((await pack(texts, kind)).archive);
      expect(entries.map(({ bytes }, index) => texts[index]?.equals(bytes))).toEqual([true, true]);
    }
  });

  it("needs no ZIP64 at the highest limits", () => {
    expect(LIMIT_SETTINGS.max_output_bytes.max).toBeLessThan(0xffff_ffff);
    expect(LIMIT_SETTINGS.max_output_files.max).toBeLessThan(0xffff);
  });

  it("names pages by their numbers, in their order, with as many digits as the largest needs", async () => {
    const namesOf = async (numbers: number[]) => {
      const { archive } = await pack(
        numbers.map((number) => Buffer.from(`page ${number}`)),
        "png",
        { numbers },
      );
      return readZip(archive).map(({ name, bytes }) => `${name}: ${bytes}`);
    };
    expect(await namesOf([2, 1])).toEqual(["page-01.png: page 1", "page-02.png: page 2"]);
    expect(await namesOf([9, 100, 11])).toEqual([
      "page-009.png: page 9",
      "page-011.png: page 11",
      "page-100.png: page 100",
    ]);
    expect(await namesOf([])).toEqual([]);
  });

  it.each(["png", "svg"] as const)("makes of %s the same archive with any number of threads", async (format) => {
    const contents = SIZES.toReversed().map((size) => randomBytes(size / 2).toString("hex"));
    const [one, ...others] = await Array.fromAsync([1, 2, 64], async (threads) =>
      pack(
        contents.map((content) => Buffer.from(content)),
        format,
        { threads },
      ),
    );
    expect(one?.result).toBe("kept");
    expect(others.map(({ archive }) => one?.archive.equals(archive))).toEqual([true, true]);
  });

  it("leaves no page open when one of several at once cannot be read, or is too much", async () => {
    const contents = Array.from({ length: 8 }, () => Buffer.from("<svg/>"));
    const descriptors = async () => (await readdir("/proc/self/fd")).length;
    const before = await descriptors();
    const path = join(folder, "of-nobody");
    const options = {
      wanted: wantedAs("svg"),
      maxPageBytes: MEBIBYTE,
      threads: 4,
      signal: new AbortController().signal,
    };
    const spool = new Spool(
      { directory: folder, maxOutputBytes: MEBIBYTE, memory: new ByteBudget(0, 0), disk: new ByteBudget(0, 0) },
      "caller",
    );
    const pages = contents.map((_content, index) => ({ number: index + 1, path }));
    await expect(packPages(pages, spool, options)).rejects.toThrow("ENOENT");
    expect((await pack(contents, "svg", { threads: 4, maxPageBytes: 20 })).result).toBe("too-large");
    expect(await descriptors()).toBe(before);
  });

  it("escapes SVG of all sizes", async () => {
    const svgOf = (size: number, ampersand: string) =>
      Buffer.from(`<svg><a href="?a${ampersand}b">${"x".repeat(size)}</a><a href="${ampersand.repeat(9)}"></a></svg>`);
    const { result, archive } = await pack(
      SIZES.map((size) => svgOf(size, "&")),
      "svg",
    );
    expect(result).toBe("kept");
    const expected = SIZES.map((size) => svgOf(size, "&amp;"));
    expect(readZip(archive).map(({ bytes }, index) => bytes.equals(expected[index] ?? Buffer.from("none")))).toEqual(
      SIZES.map(() => true),
    );
  });

  it.each([1000, 3 * MEBIBYTE])("stops at the limit on the archive: pages of %i bytes", async (size) => {
    const contents = Array.from({ length: 4 }, () => randomBytes(size));
    const { result, size: packedBytes } = await pack(contents, "png", { maxOutputBytes: size / 2 });
    expect(result).toBe("too-large");
    // With the last chunk, which is not kept.
    expect(packedBytes).toBeLessThan(size / 2 + 2 * MEBIBYTE);
  });

  it.each([1000, 300 * KIBIBYTE])("stops when the render is over: pages of %i bytes", async (size) => {
    for (const format of ["png", "svg"] as const) {
      expect((await pack([randomBytes(size)], format, { signal: AbortSignal.abort() })).result).toBe("over");
    }
  });

  it("stops when the render is over in the middle of a large PNG, while it is measured and while it is written", async () => {
    const page = pngOf(randomBytes(9 * MEBIBYTE));
    const overAfter = (times: number) => {
      let asked = 0;
      return Object.defineProperty(new AbortController().signal, "aborted", { get: () => ++asked > times });
    };
    // Five steps each time. The first has three pieces, since the resolution goes into it.
    for (const times of [0, 1, 7, 8, 14]) {
      expect((await pack([page], "png", { signal: overAfter(times) })).result, String(times)).toBe("over");
    }
    expect((await pack([page], "png", { signal: overAfter(15) })).result).toBe("kept");
  });
});

const LIMIT = 3000;
const SETTINGS = readBackendSettings({ SERVICE_MAX_OUTPUT_BYTES: String(LIMIT) });

let directory: string;

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "pages-"));
  return () => rm(directory, { recursive: true });
});

/** The limits on files and bytes: test/clients/command-line/check-as-the-service.test.ts. */
async function outcomeOf(pages: readonly string[], { roomBytes = LIMIT, diskBytes = LIMIT } = {}) {
  for (const [index, content] of pages.entries())
    await writeFile(join(directory, String(index + 1)), content, "latin1");
  const memory = new ByteBudget(0, 0);
  const disk = new ByteBudget(diskBytes, diskBytes);
  const archive = new Spool({ directory: tmpdir(), maxOutputBytes: LIMIT, memory, disk }, "caller");
  onTestFinished(() => archive.close());
  const admit = (bytes: number) => (bytes <= roomBytes ? "kept" : "no-room");
  const time = new TimeLimit(SETTINGS, new AbortController().signal);
  return packArchive(SETTINGS, { directory, wanted: wantedAs("svg"), admit, threads: 2 }, archive, time);
}

describe("the pages of an archive", () => {
  it("are refused if escaping makes them too large, with the size that they would have", async () => {
    const outcome = await outcomeOf([`<a href="${"&".repeat(1000)}">`]);
    expect(outcome).toEqual(refuse(outputTooLarge('<a href="">'.length + 5000, LIMIT)));
  });

  it("need room for themselves and for the archive", async () => {
    const page = "<svg></svg>".padEnd(500);
    expect((await outcomeOf([page], { roomBytes: 500 })).kind).toBe("rendered");
    expect(await outcomeOf([page], { roomBytes: 499 })).toEqual(failBySpace());
    expect(await outcomeOf([page], { diskBytes: 50 })).toEqual(failBySpace());
  });
});

it("a disk on which nothing can be written counts as full", async () => {
  expect(await isDiskFull(tmpdir())).toBe(false);
  // Disks without a free byte or inode are in test/backend/attacks/faults.test.ts.
  expect(await isDiskFull(join(directory, "gone"))).toBe(true);
});

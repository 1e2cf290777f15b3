/** Pages as Typst writes them, checked against the limits and packed: small ones in one call, large ones as streams. */
import { randomBytes } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import * as v from "valibot";
import { beforeAll, beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { ByteBudget } from "../../../backend/admission/byte-budget.ts";
import { packArchive, packPages } from "../../../backend/render/archive.ts";
import {
  CLIENT_GONE,
  failByPageCount,
  failBySize,
  failBySpace,
  failWithoutPage,
} from "../../../backend/render/outcome.ts";
import { TimeLimit } from "../../../backend/render/render-time.ts";
import { Spool } from "../../../backend/render/spool.ts";
import { readBackendSettings } from "../../../backend/settings.ts";
import { isDiskFull } from "../../../backend/work-directory/watch.ts";
import { OUTPUT_SCHEMAS, type Output } from "../../../rules/output-options.ts";
import { readZip } from "../../support/readers/zip-reader.ts";

const KIBIBYTE = 1024;
const MEBIBYTE = 1024 ** 2;
const SIZES = [0, 1, 1000, 255 * KIBIBYTE, 256 * KIBIBYTE - 1, 256 * KIBIBYTE, 256 * KIBIBYTE + 1, 3 * MEBIBYTE];

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
    const packed = await packPages(pages, spool, { extension, maxPageBytes, signal });
    const chunks = packed.result === "kept" ? await Array.fromAsync(spool.read()) : [];
    return { ...packed, size: spool.size, archive: Buffer.concat(chunks) };
  } finally {
    await spool.close();
  }
}

describe("packPages", () => {
  it("packs pages of all sizes as they are, and PNG hardly larger", async () => {
    const contents = SIZES.map((size) => randomBytes(size));
    const { result, pageBytes, archive } = await pack(contents, "png");
    expect(result).toBe("kept");
    const entries = readZip(archive);
    expect(entries.map(({ bytes }) => bytes.length)).toEqual(SIZES);
    expect(entries.every(({ bytes }, index) => bytes.equals(contents[index] ?? Buffer.from("none")))).toBe(true);
    expect(pageBytes).toBe(SIZES.reduce((sum, size) => sum + size, 0));
    for (const { bytes, packedBytes } of entries) expect(packedBytes).toBeLessThan(bytes.length * 1.001 + 16);
  });

  it("compresses SVG, but not PNG, which is compressed already", async () => {
    const contents = SIZES.map((size) => Buffer.alloc(size, "x"));
    for (const { bytes, packedBytes } of readZip((await pack(contents, "png")).archive)) {
      expect(packedBytes).toBeGreaterThanOrEqual(bytes.length);
    }
    for (const { bytes, packedBytes } of readZip((await pack(contents, "svg")).archive)) {
      expect(packedBytes).toBeLessThan(bytes.length / 50 + 16);
    }
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
    expect(packedBytes).toBeLessThan(size / 2 + 257 * KIBIBYTE);
  });

  it.each([1000, 300 * KIBIBYTE])("fails if the archive cannot be written: pages of %i bytes", async (size) => {
    const nowhere = { directory: join(folder, "gone"), memoryBytes: 0 };
    await expect(pack([randomBytes(size)], "png", nowhere)).rejects.toThrow("ENOENT");
  });

  it.each([1000, 300 * KIBIBYTE])("stops when the render is over: pages of %i bytes", async (size) => {
    expect((await pack([randomBytes(size)], "png", { signal: AbortSignal.abort() })).result).toBe("stopped");
  });
});

const LIMIT = 3000;
const MAX_FILES = 3;
const SETTINGS = readBackendSettings({
  SERVICE_MAX_OUTPUT_BYTES: String(LIMIT),
  SERVICE_MAX_OUTPUT_FILES: String(MAX_FILES),
  SERVICE_WORK_DIRECTORY: tmpdir(),
});
const WANTED: Output = { format: "svg", filename: null, page: null, pages: null, archive: "zip" };

let directory: string;

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "pages-"));
  return () => rm(directory, { recursive: true });
});

/** The outcome of pages with these contents, and its archive. */
async function outcomeOf(
  pages: readonly string[],
  { wanted = WANTED, roomBytes = LIMIT, diskBytes = LIMIT, clientGone = new AbortController().signal } = {},
) {
  for (const [index, content] of pages.entries()) await writeFile(join(directory, String(index + 1)), content);
  const memory = new ByteBudget(0, 0);
  const disk = new ByteBudget(diskBytes, diskBytes);
  const archive = new Spool({ directory: tmpdir(), maxOutputBytes: LIMIT, memory, disk }, "caller");
  onTestFinished(() => archive.close());
  const hasRoomFor = (bytes: number) => bytes <= roomBytes;
  const time = new TimeLimit(SETTINGS, clientGone);
  const outcome = await packArchive(SETTINGS, { directory, wanted, hasRoomFor }, archive, time);
  return { outcome, archive };
}

const svgOf = (bytes: number) => "<svg></svg>".padEnd(bytes);

describe("the pages of an archive", () => {
  it.each(["svg", "png"] as const)("are packed as %s, up to the limit on files", async (format) => {
    const wanted: Output = v.parse(OUTPUT_SCHEMAS[format], { ...WANTED, format });
    const { outcome, archive } = await outcomeOf(["<svg>1", "<svg>2", "<svg>3"], { wanted });
    expect(outcome).toEqual({ kind: "rendered", file: { output: archive, extension: "zip" } });
    expect(readZip(Buffer.concat(await Array.fromAsync(archive.read()))).map(({ name }) => name)).toEqual(
      [1, 2, 3].map((number) => `page-0${number}.${format}`),
    );
  });

  it("are refused if there is one more than the limit, and if there is none", async () => {
    expect((await outcomeOf([])).outcome).toEqual(failWithoutPage(WANTED));
    expect((await outcomeOf(["1", "2", "3", "4"])).outcome).toEqual(failByPageCount(SETTINGS));
  });

  it("are packed up to the limit on bytes, and refused with one more", async () => {
    expect((await outcomeOf([svgOf(LIMIT - 20), svgOf(20)])).outcome.kind).toBe("rendered");
    const { outcome } = await outcomeOf([svgOf(LIMIT - 20), svgOf(21)]);
    expect(outcome).toEqual(failBySize(LIMIT + 1, SETTINGS));
  });

  it("are refused if escaping makes them too large, with the size that they would have", async () => {
    const { outcome } = await outcomeOf([`<a href="${"&".repeat(1000)}">`]);
    expect(outcome).toEqual(failBySize('<a href="">'.length + 5000, SETTINGS));
  });

  it("need room for themselves and for the archive", async () => {
    expect((await outcomeOf([svgOf(500)], { roomBytes: 500 })).outcome.kind).toBe("rendered");
    expect((await outcomeOf([svgOf(500)], { roomBytes: 499 })).outcome).toEqual(failBySpace());
    expect((await outcomeOf([svgOf(500)], { diskBytes: 50 })).outcome).toEqual(failBySpace());
  });

  it("are not packed for a client that has left", async () => {
    const { outcome } = await outcomeOf([svgOf(500)], { clientGone: AbortSignal.abort() });
    expect(outcome).toBe(CLIENT_GONE);
  });
});

it("a disk on which nothing can be written counts as full", async () => {
  expect(await isDiskFull(tmpdir())).toBe(false);
  // Disks without a free byte or inode are in test/backend/attacks/faults.test.ts.
  expect(await isDiskFull(join(directory, "gone"))).toBe(true);
});

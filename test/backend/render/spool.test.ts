/** One output in memory or in a file: what it holds, what it reserves, and what it reads back. */
import { mkdtemp, readdir, readlink, rm, truncate } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { ByteBudget } from "../../../backend/admission/byte-budget.ts";
import { MAX_MEMORY_BYTES_PER_OUTPUT, Spool } from "../../../backend/render/spool.ts";

const KIBIBYTE = 1024;
const MEBIBYTE = 1024 ** 2;

let directory: string;

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "spool-"));
  return () => rm(directory, { recursive: true });
});

const budget = (maxBytes: number) => new ByteBudget(maxBytes, maxBytes);

function spoolOf({ memoryBytes = 8 * MEBIBYTE, diskBytes = 8 * MEBIBYTE, maxOutputBytes = 8 * MEBIBYTE } = {}) {
  const [memory, disk] = [budget(memoryBytes), budget(diskBytes)];
  const spool = new Spool({ directory, maxOutputBytes, memory, disk }, "caller");
  onTestFinished(() => spool.close());
  return { spool, reserved: () => ({ memory: memory.reservedBytes, disk: disk.reservedBytes }) };
}

/** The paths by which the files of outputs that are open here can be reached. They have no names. */
async function openFiles(): Promise<string[]> {
  const paths = (await readdir("/proc/self/fd")).map((name) => join("/proc/self/fd", name));
  const targets = await Promise.all(paths.map((path) => readlink(path).catch(() => "")));
  return paths.filter((_path, index) => targets[index]?.startsWith(directory));
}

const contentOf = async (spool: Spool) => Buffer.concat(await Array.fromAsync(spool.read()));

/** Bytes that differ from chunk to chunk, in a buffer of their own. */
const chunkOf = (size: number, seed = 0) =>
  Buffer.from(Array.from({ length: size }, (_, index) => (index + seed) % 251));

async function appendAll(spool: Spool, chunks: readonly Buffer[]): Promise<Buffer> {
  for (const chunk of chunks) expect(await spool.append(chunk)).toBe("kept");
  return Buffer.concat(chunks);
}

const PLACES: readonly [string, number][] = [
  ["in memory", MEBIBYTE],
  ["in a file", 0],
];

describe("an output", () => {
  it("is in memory up to its limit there, and then in a file that has no name", async () => {
    const { spool, reserved } = spoolOf();
    const first = await appendAll(spool, [chunkOf(MAX_MEMORY_BYTES_PER_OUTPUT - 3), chunkOf(3, 7)]);
    expect(spool.bytes?.equals(first)).toBe(true);
    expect((await contentOf(spool)).equals(first)).toBe(true);
    expect(reserved()).toEqual({ memory: MAX_MEMORY_BYTES_PER_OUTPUT, disk: 0 });

    const rest = await appendAll(spool, [chunkOf(1, 9), chunkOf(700 * KIBIBYTE, 11)]);
    expect(spool.bytes).toBeNull();
    expect(spool.size).toBe(first.length + rest.length);
    expect((await contentOf(spool)).equals(Buffer.concat([first, rest]))).toBe(true);
    expect(reserved()).toEqual({ memory: 0, disk: spool.size });
    expect(await readdir(directory)).toEqual([]);
  });

  it("is read from a file in chunks of at most 256 KiB", async () => {
    const { spool } = spoolOf();
    await appendAll(spool, [chunkOf(2 * MEBIBYTE + 1)]);
    const sizes = (await Array.fromAsync(spool.read())).map(({ length }) => length);
    expect(Math.max(...sizes)).toBe(256 * KIBIBYTE);
    expect(sizes.at(-1)).toBe(1);
  });

  it("is in a file if there is no room in memory", async () => {
    const { spool, reserved } = spoolOf({ memoryBytes: 10 });
    const content = await appendAll(spool, [chunkOf(10), chunkOf(1, 5)]);
    expect(spool.bytes).toBeNull();
    expect((await contentOf(spool)).equals(content)).toBe(true);
    expect(reserved()).toEqual({ memory: 0, disk: 11 });
  });

  it("keeps up to its limit, and not one byte more", async () => {
    const { spool } = spoolOf({ maxOutputBytes: 20 });
    await appendAll(spool, [chunkOf(20)]);
    expect(await spool.append(chunkOf(1))).toBe("too-large");
    expect(spool.size).toBe(21);
  });

  it("has no room if the disk space is not enough, at its beginning or later", async () => {
    const small = spoolOf({ memoryBytes: 0, diskBytes: 10 });
    expect(await small.spool.append(chunkOf(11))).toBe("no-room");
    expect(small.reserved()).toEqual({ memory: 0, disk: 0 });
    const later = spoolOf({ memoryBytes: 0, diskBytes: 10 });
    await appendAll(later.spool, [chunkOf(10)]);
    expect(await later.spool.append(chunkOf(1))).toBe("no-room");
    expect(later.reserved()).toEqual({ memory: 0, disk: 10 });
  });

  it("copies only chunks of less than half of their buffer, which would keep the buffer in memory", async () => {
    for (const [size, isShared] of [
      [49, false],
      [50, true],
    ] as const) {
      const chunk = Buffer.from(new ArrayBuffer(100), 0, size);
      const { spool } = spoolOf();
      await appendAll(spool, [chunk]);
      expect(spool.bytes?.buffer === chunk.buffer).toBe(isShared);
    }
  });

  it("finds text, even if it begins in one chunk and ends in the next", async () => {
    const text = "/Count 1/";
    for (const memoryBytes of [0, 8 * MEBIBYTE]) {
      for (const split of [0, 1, text.length - 1, text.length]) {
        const { spool } = spoolOf({ memoryBytes });
        const before = Buffer.alloc(256 * KIBIBYTE - split, "x");
        await appendAll(spool, [before, Buffer.from(text.slice(0, split)), Buffer.from(`${text.slice(split)}yyy`)]);
        expect([memoryBytes, split, await spool.includes(text)]).toEqual([memoryBytes, split, true]);
        expect(await spool.includes("/Count 2/")).toBe(false);
      }
    }
  });

  it("is not read as complete if its file is cut short", async () => {
    const { spool } = spoolOf({ memoryBytes: 0 });
    await appendAll(spool, [chunkOf(100)]);
    for (const path of await openFiles()) await truncate(path, 60);
    const reading = spool.read();
    expect((await reading.next()).value?.length).toBe(60);
    await expect(reading.next()).rejects.toThrow("shorter");
  });

  it.each(PLACES)("that is cleared is empty, and can be written again: %s", async (_where, memoryBytes) => {
    const { spool, reserved } = spoolOf({ memoryBytes, diskBytes: 100 });
    await appendAll(spool, [chunkOf(100)]);
    await spool.clear();
    expect(await openFiles()).toEqual([]);
    expect([spool.size, spool.bytes?.length, reserved()]).toEqual([0, 0, { memory: 0, disk: 0 }]);
    const content = await appendAll(spool, [chunkOf(50, 3), chunkOf(50, 4)]);
    expect((await contentOf(spool)).equals(content)).toBe(true);
  });

  it.each(PLACES)("that is closed reserves nothing, even if it is closed again: %s", async (_where, memoryBytes) => {
    const { spool, reserved } = spoolOf({ memoryBytes });
    await appendAll(spool, [chunkOf(100)]);
    await spool.close();
    await spool.close();
    expect(reserved()).toEqual({ memory: 0, disk: 0 });
    if (memoryBytes === 0) await expect(contentOf(spool)).rejects.toThrow("closed");
    else expect((await contentOf(spool)).length).toBe(0);
  });

  it("cannot be written if its directory is gone", async () => {
    const [memory, disk] = [budget(0), budget(100)];
    const space = { directory: join(directory, "gone"), maxOutputBytes: 100, memory, disk };
    const spool = new Spool(space, "caller");
    await expect(spool.append(chunkOf(1))).rejects.toThrow("ENOENT");
    await spool.close();
    expect(disk.reservedBytes).toBe(0);
  });
});

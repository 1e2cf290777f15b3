/** Archives of packages: what is taken, and that hostile ones are refused before anything is written. */
import { gzipSync } from "node:zlib";
import { packTar, type TarEntry } from "modern-tar";
import { describe, expect, it } from "vitest";
import { ARCHIVE_LIMITS, unpackArchive } from "../../../scripts/packages/archive.ts";
import { archiveOf, fileEntry } from "../../support/clients/package-registry.ts";

const TAR_BLOCK_BYTES = 512;

const unpack = (archive: Uint8Array, limits = {}) => unpackArchive("a", archive, { ...ARCHIVE_LIMITS, ...limits });
const unpackEntries = async (entries: readonly TarEntry[], limits = {}) => unpack(await archiveOf(entries), limits);

/** A tar of one file whose header is changed, with a right checksum. */
async function archiveWithHeader(change: (header: Buffer) => void): Promise<Buffer> {
  const tar = Buffer.from(await packTar([fileEntry("name.typ", "text")]));
  const header = tar.subarray(0, TAR_BLOCK_BYTES);
  change(header);
  header.fill(" ", 148, 156);
  const sum = header.reduce((total, byte) => total + byte, 0);
  header.write(`${sum.toString(8).padStart(6, "0")}\0 `, 148, "latin1");
  return gzipSync(tar);
}

it("an archive is accepted with its files, folders and long names", async () => {
  const long = `${"folder/".repeat(14)}${"n".repeat(120)}.typ`;
  const files = await unpackEntries([
    { header: { name: "src/", size: 0, type: "directory" } },
    fileEntry("./src/lib.typ", "#let x = 1"),
    fileEntry("empty.txt"),
    fileEntry(long, "deep"),
    fileEntry("Grüße.typ", "ü"),
  ]);
  expect([...files.keys()]).toEqual(["src/lib.typ", "empty.txt", long, "Grüße.typ"]);
  expect(Buffer.from(files.get("src/lib.typ") ?? []).toString()).toBe("#let x = 1");
  expect(files.get("empty.txt")).toHaveLength(0);
});

const LEADS_OUT = "../out.typ src/../../out.typ .. /etc/out.typ ./../out.typ src//lib.typ src/./lib.typ .//lib.typ";

describe("an archive is refused", () => {
  it.each([
    ...LEADS_OUT.split(" ").map((name) => [name, "leads out of the package"] as const),
    ...["a\\b.typ", "a\nb.typ", "a\u007fb.typ", "a\u0085b.typ"].map((name) => [name, "control character"] as const),
  ])("with the name %j: it %s", async (name, reason) => {
    await expect(unpackEntries([fileEntry(name)])).rejects.toThrow(reason);
  });

  it.each(["symlink", "link", "character-device", "block-device", "fifo"] as const)("with a %s", async (type) => {
    const entry = { header: { name: "entry", size: 0, type, linkname: "/etc/passwd" } };
    await expect(unpackEntries([entry])).rejects.toThrow(`an entry of the type ${type}`);
  });

  it("with a name that leads out by a PAX record", async () => {
    const entry = { header: { name: "a", size: 1, type: "file" as const, pax: { path: "../a" } }, body: "x" };
    await expect(unpackEntries([entry])).rejects.toThrow("leads out of the package");
  });

  it("with two entries of the same name", async () => {
    await expect(unpackEntries([fileEntry("a.typ"), fileEntry("./a.typ")])).rejects.toThrow("same name");
  });

  it.each<[what: string, change: (header: Buffer) => void, reason: string]>([
    ["a name that is not UTF-8", (header) => header.set([0xff, 0xfe], 0), "not UTF-8"],
    ["a size that lies", (header) => header.write("77777777777\0", 124, "latin1"), "damaged"],
    ["a size in base 256 that lies", (header) => header.fill(0xff, 124, 136), "damaged"],
  ])("with %s", async (_what, change, reason) => {
    await expect(unpack(await archiveWithHeader(change))).rejects.toThrow(reason);
  });

  it("that is not gzip, not tar, cut off, or has a wrong checksum", async () => {
    await expect(unpack(Buffer.from("not gzip"))).rejects.toThrow("not compressed with gzip");
    await expect(unpack(gzipSync("x".repeat(2000)))).rejects.toThrow("not a tar archive");
    const tar = Buffer.from(await packTar([fileEntry("a.typ", "x".repeat(5000))]));
    await expect(unpack(gzipSync(tar).subarray(0, -20))).rejects.toThrow("damaged");
    await expect(unpack(gzipSync(tar.subarray(0, 1024)))).rejects.toThrow("damaged");
    tar[0] = 0x62;
    await expect(unpack(gzipSync(tar))).rejects.toThrow("damaged");
  });
});

describe("the limits", () => {
  it("count decompressed bytes, and a bomb is not decompressed", async () => {
    const tar = await packTar([fileEntry("a.typ", "x".repeat(100_000))]);
    await expect(unpack(gzipSync(tar), { maxUnpackedBytes: tar.length })).resolves.toHaveProperty("size", 1);
    await expect(unpack(gzipSync(tar), { maxUnpackedBytes: tar.length - 1 })).rejects.toThrow("unpacks to over");
    const before = process.memoryUsage().arrayBuffers;
    const bomb = gzipSync(Buffer.alloc(200 * 1024 ** 2));
    await expect(unpack(bomb, { maxUnpackedBytes: 1024 ** 2 })).rejects.toThrow("unpacks to over");
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(250 * 1024 ** 2);
  });

  it("count files and folders", async () => {
    const entries = [
      ...Array.from({ length: 9 }, (_, index) => fileEntry(`${index}.typ`)),
      { header: { name: "folder/", size: 0, type: "directory" as const } },
    ];
    await expect(unpackEntries(entries, { maxFiles: 10 })).resolves.toHaveProperty("size", 9);
    await expect(unpackEntries(entries, { maxFiles: 9 })).rejects.toThrow("over 9 files");
  });

  it("count the parts of a name", async () => {
    const deep = "1/2/3/4/5.typ";
    await expect(unpackEntries([fileEntry(deep)], { maxPathSegments: 5 })).resolves.toHaveProperty("size", 1);
    await expect(unpackEntries([fileEntry(deep)], { maxPathSegments: 4 })).rejects.toThrow("over 4 parts");
  });
});

/** Thousands of folders or files: they are made and removed without holding up anybody else. */
import { existsSync, writeFileSync } from "node:fs";
import { mkdir, readdir, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import {
  countNamedDirectories,
  directoriesOf,
  findTooManyDirectories,
  listOutputFiles,
  makeDirectories,
  removeDirectories,
  removeOutputFiles,
} from "../../../backend/work-directory/directory-tree.ts";
import { RenderDirectory } from "../../../backend/work-directory/render-directory.ts";
import { DEFAULT_LIMITS, limitsFrom } from "../../../rules/limits.ts";
import { parseRenderRequest } from "../../../rules/render-request.ts";
import { NO_TIME_LIMIT } from "../../support/backend/bombs.ts";
import { textFile } from "../../support/backend/request-files.ts";
import { startTemporaryBackend } from "../../support/backend/test-backend.ts";
import { makeTemporaryFolder } from "../../support/temporary-folder.ts";

describe("keys of many folders", () => {
  const deepKey = (root: string) => `${root}/${"a/".repeat(248)}x`;
  // A request may have four times as many. Here, they would slow down tests on the
  // same disk, so that a render has a quarter of these.
  const ROOTS = Array.from({ length: 16 }, (_, index) => `r${index}`);
  const deepFiles = () => Object.fromEntries(ROOTS.slice(0, 4).map((root) => [deepKey(root), textFile("x")]));

  it("are written, read by Typst and removed, 1,000 folders at a time", async () => {
    const backend = await startTemporaryBackend(NO_TIME_LIMIT);
    const source = `#assert.eq(read("${deepKey("r3")}"), "x")\nread`;
    const status = async () => {
      const answer = await backend.render({ source, files: deepFiles() });
      // On ext4 removing a folder takes ten times as long as creating one, and slows down the creation of others.
      await expect.poll(() => backend.projects()).toEqual([]);
      return answer.status;
    };
    // Writing files has a time limit that no setting changes; a busy machine may need another attempt.
    await expect.poll(status).toBe(200);
  });

  it("create folders one by one, parents first, and stop when the client leaves", async () => {
    const root = await makeTemporaryFolder("directory-tree-test-");
    const keys = ROOTS.map(deepKey);
    expect(directoriesOf(keys)).toHaveLength(16 * 249);
    expect(countNamedDirectories(keys)).toBe(16 * 249);
    const leaving = new AbortController();
    const making = makeDirectories(root, keys, leaving.signal);
    await expect.poll(() => readdir(root), { interval: 1 }).not.toEqual([]);
    leaving.abort();
    await making;
    expect((await readdir(root)).length).toBeLessThan(ROOTS.length);
  });

  it("may name as many folders as the space for them is reserved, and no more", async () => {
    const longest = Array.from({ length: 64 }, (_, index) => `t${index}/${"a/".repeat(252)}f`);
    // 64 × 253 and as many more as there are up to 16,384.
    const most = [...longest, ...Array.from({ length: 16_384 - 64 * 253 }, (_, index) => `m${index}/f`)];
    expect(findTooManyDirectories(most)).toBe(null);
    const limits = limitsFrom({ ...DEFAULT_LIMITS, max_inline_files: 1024 });
    const files = Object.fromEntries([...most, "one/f"].map((key) => [key, textFile("")]));
    const body = Buffer.from(JSON.stringify({ source: "x", files }));
    const parsed = parseRenderRequest(body, limits);
    if (!parsed.ok) throw new Error(parsed.problem.detail);
    const directory = await RenderDirectory.create(await makeTemporaryFolder("directory-tree-test-"), false);
    const refusal = await directory.fill(body, parsed.request, new AbortController().signal);
    expect(refusal).toMatchObject({ code: "invalid_file_data", context: { key: "one/f" } });
    expect(await readdir(directory.root)).toEqual([]);
  });

  it("do not keep another request waiting, whose folders are few", async () => {
    const root = await makeTemporaryFolder("directory-tree-test-");
    const { signal } = new AbortController();
    const ended: string[] = [];
    const make = (name: string, keys: readonly string[]) =>
      makeDirectories(root, keys, signal).then(() => ended.push(name));
    await Promise.all([make("many", ROOTS.map(deepKey)), make("few", [`few/${"a/".repeat(20)}x`])]);
    expect(ended).toEqual(["few", "many"]);
  });

  it("fail with the name of the folder that cannot be created", async () => {
    const root = await makeTemporaryFolder("directory-tree-test-");
    await writeFile(join(root, "taken"), "");
    const keys = [...Array.from({ length: 20 }, (_, index) => `d${index}/x`), "taken/x"];
    const failure = { code: "EEXIST", path: "taken" };
    await expect(makeDirectories(root, keys, new AbortController().signal)).rejects.toMatchObject(failure);
    await removeDirectories(root, keys.slice(0, 20));
    expect(await readdir(root)).toEqual(["taken"]);
    expect((await stat(join(root, "taken"))).size).toBe(0);
  });
});

/** Few are removed at once, and many on the thread. */
it.each([3, 20])("folders that are removed may be gone, and must be empty: %i", async (count) => {
  const root = await makeTemporaryFolder("directory-tree-test-");
  const keys = Array.from({ length: count }, (_, index) => `d${index}/x`);
  await makeDirectories(root, keys.slice(0, 2), new AbortController().signal);
  await removeDirectories(root, keys);
  expect(await readdir(root)).toEqual([]);
  await makeDirectories(root, keys, new AbortController().signal);
  await writeFile(join(root, "d1", "planted"), "");
  await expect(removeDirectories(root, keys)).rejects.toMatchObject({ code: "ENOTEMPTY", path: "d1" });
  expect(await readdir(root)).toContain("d1");
});

describe("a directory of many files", () => {
  async function directoryOf(count: number): Promise<string> {
    const directory = join(await makeTemporaryFolder("output-files-test-"), "output");
    await mkdir(directory);
    for (let index = 0; index < count; index++) writeFileSync(join(directory, String(index)), "x");
    return directory;
  }

  it.each([0, 1, 256, 257, 1000])("is removed with all of them: %i", async (count) => {
    const directory = await directoryOf(count);
    await removeOutputFiles(directory);
    expect(existsSync(directory)).toBe(false);
    await removeOutputFiles(directory);
  });

  it("is listed and measured up to a number of files", async () => {
    const directory = await directoryOf(100);
    for (const [maxFiles, areMore] of [
      [99, true],
      [100, false],
      [101, false],
    ] as const) {
      const listed = Math.min(maxFiles, 100);
      const found = await listOutputFiles(directory, maxFiles);
      expect([new Set(found.names).size, found.bytes, found.areMore]).toEqual([listed, listed, areMore]);
    }
    // Those that are complete are not looked at again.
    const [name = ""] = (await listOutputFiles(directory, 1)).names;
    expect((await listOutputFiles(directory, 100, new Map([[name, 1000]]))).bytes).toBe(1099);
  });
});

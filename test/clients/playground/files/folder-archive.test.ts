/** Archives and folders in the playground: what is taken from them, and how much at most. */
import { strToU8, type Zippable, zipSync } from "fflate";
import { describe, expect, it } from "vitest";
import { archiveEntries } from "../../../../clients/document/archive-entries.ts";
import { draftFile, FileContent } from "../../../../clients/playground/drafts/draft.ts";
import { FIRST_DRAFT } from "../../../../clients/playground/drafts/draft-store.ts";
import { draftOfFolder, folderOfDraft } from "../../../../clients/playground/drafts/project-folder.ts";
import { readFiles } from "../../../../clients/playground/files/dropped-files.ts";
import { archiveOf, folderOfEntries, isFileOfFolder } from "../../../../clients/playground/files/folder-archive.ts";
import { DEFAULT_LIMITS } from "../../../../rules/limits.ts";
import { lyingZip } from "../../../support/clients/hostile-answers.ts";

const BOUNDS = { maxEntries: 3, maxBytes: 1000 };

/** As the worker of the page does. */
function folderOfArchive(archive: Uint8Array, bounds: typeof BOUNDS) {
  return folderOfEntries(archiveEntries(archive, bounds, isFileOfFolder), bounds);
}

const paths = (entries: Zippable) => {
  const folder = folderOfArchive(zipSync(entries), BOUNDS);
  return typeof folder === "string" ? folder : folder.map(({ path }) => path);
};

describe("an archive", () => {
  it("unpacks to the draft that it was made from", () => {
    const draft = {
      ...FIRST_DRAFT,
      files: [
        draftFile("lib/x.typ", new FileContent("#let x = 1")),
        draftFile("photo.jpg", new FileContent(Uint8Array.of(0xff, 0xd8, 0))),
      ],
      output: { format: "png", members: { ppi: "96" } } as const,
    };
    const folder = folderOfDraft(draft);
    if (typeof folder === "string") throw new Error(folder);
    const unpacked = folderOfArchive(archiveOf(folder), { maxEntries: 5, maxBytes: 10_000 });
    if (typeof unpacked === "string") throw new Error(unpacked);
    const { files, ...rest } = draftOfFolder(unpacked) ?? FIRST_DRAFT;
    expect(rest).toEqual({ source: draft.source, data: draft.data, output: draft.output });
    expect(files.map(({ key, content }) => [key, content.value])).toEqual(
      draft.files.map(({ key, content }) => [key, content.value]),
    );
  });

  it("may have no more files and unpacked bytes than its bounds allow", () => {
    const bytes = (size: number) => new Uint8Array(size);
    expect(paths({ a: bytes(500), b: bytes(499), c: bytes(1) })).toEqual(["a", "b", "c"]);
    expect(paths({ a: bytes(500), b: bytes(501) })).toContain("unpacks to more");
    expect(paths({ a: bytes(0), b: bytes(0), c: bytes(0), d: bytes(0) })).toContain("more files");
  });

  it("that lies about its sizes is stopped while it is unpacked", () => {
    expect(folderOfArchive(lyingZip(2_000_000, 10), BOUNDS)).toContain("unpacks to more");
  });

  it("leaves out hidden files, and removes a folder around all files from their paths", () => {
    expect(paths({ "p/main.typ": strToU8("x"), "p/.env": strToU8("x"), "p/node_modules/a": strToU8("x") })).toEqual([
      "main.typ",
    ]);
    expect(paths({ "main.typ": strToU8("x"), "p/a": strToU8("x") })).toEqual(["main.typ", "p/a"]);
  });

  it("that is broken or not an archive is reported as unreadable", () => {
    const whole = zipSync({ a: strToU8("abc") });
    const cutOff = [20, whole.length - 22, whole.length - 1].map((length) => whole.subarray(0, length));
    for (const archive of [strToU8("no"), new Uint8Array(0), ...cutOff]) {
      expect(folderOfArchive(archive, BOUNDS)).toContain("not a ZIP archive");
    }
  });
});

describe("the folder of a draft", () => {
  it.each(["main.typ", "parts/.a.csv"])(
    "does not exist while a file has a name that cannot be read back: %s",
    (key) => {
      const files = [draftFile(key, new FileContent("x"))];
      expect(folderOfDraft({ ...FIRST_DRAFT, files })).toContain(`Rename the file ${key}`);
    },
  );
});

describe("a folder", () => {
  it("of thousands of files is added up to the limit, and a few of the others are named", async () => {
    const file = (path: string, size: number) => ({ path, file: new File([new Uint8Array(size)], path) });
    const limits = { ...DEFAULT_LIMITS, effective_max_files: 2, max_inline_file_bytes: 10 };
    const large = Array.from({ length: 7 }, (_, index) => file(`${index}.jpg`, 11));
    const small = Array.from({ length: 3000 }, (_, index) => file(`${index}.csv`, 10));
    const read = await readFiles({ isFolder: true, files: [...large, ...small] }, limits);
    expect(read.files).toHaveLength(5);
    expect(read.skipped).toHaveLength(6);
    expect(read.skipped.at(-1)).toBe("Not added either: 2997 more files.");
    expect(read.photos).toHaveLength(5);
  });
});

/**
 * Sets of fonts are added, replaced and removed, from packages of Debian that the test makes itself. `npm run
 * test:long -- fonts` does the same with Debian's own, which are too large for every run.
 */
import { chmod, mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { execa } from "execa";
import { beforeEach, describe, expect, it } from "vitest";
import {
  addFontSets,
  FONTS_LOCK_NAME,
  type FontSources,
  findFontProblems,
  readFontsLock,
  removeFontSets,
  withFirstFonts,
} from "../../scripts/fonts/font-folder.ts";
import { FONT_SETS } from "../../scripts/fonts/font-sets.ts";
import { sha256 } from "../../scripts/pinned/content-digest.ts";
import { startTemporaryBackend } from "../support/backend/test-backend.ts";
import { collectionOf, doubledFont, fontNamesOf, liberation } from "../support/fonts.ts";
import { makeTemporaryFolder } from "../support/temporary-folder.ts";

let archives: string;
let folder: string;
let sources: FontSources;
let version: string;

/** Makes a package of Debian with these fonts. */
async function makePackage(name: string, fonts: Readonly<Record<string, Buffer>>, place: string): Promise<string> {
  const root = join(archives, name);
  const control = `Package: ${name}\nVersion: ${version}\nArchitecture: all\nMaintainer: Test <test@example.org>\nDescription: Fonts\n`;
  const files = { "DEBIAN/control": control, [`usr/share/doc/${name}/copyright`]: "The licence" };
  for (const [path, content] of Object.entries(files)) {
    await mkdir(join(root, path, ".."), { recursive: true });
    await writeFile(join(root, path), content);
  }
  await mkdir(join(root, "usr/share/fonts/deep"), { recursive: true });
  for (const [path, font] of Object.entries(fonts)) await writeFile(join(root, "usr/share/fonts/deep", path), font);
  const archive = join(place, `${name}.deb`);
  // dpkg-deb refuses the folder that a strict umask makes.
  await chmod(join(root, "DEBIAN"), 0o755);
  await execa("dpkg-deb", ["--root-owner-group", "-Znone", "--build", root, archive]);
  return archive;
}

beforeEach(async () => {
  archives = await makeTemporaryFolder("fonts-test-");
  folder = join(await makeTemporaryFolder("fonts-test-"), "fonts");
  version = "1:1.0-1";
  const fonts = {
    "Wanted.ttf": await doubledFont("Wanted"),
    "Unwanted.ttf": await liberation("Bold"),
    "Two.ttc": collectionOf([await doubledFont("First"), await doubledFont("Second")]),
  };
  const set = { description: "", packages: ["fonts-test"], keptOfCollection: 1 };
  sources = {
    sets: {
      single: { ...set, files: /^Wanted\.ttf$/ },
      collection: { ...set, files: /^Two\.ttc$/ },
      empty: { ...set, files: /^nothing$/ },
    },
    download: async (place, packages) => Promise.all(packages.map((name) => makePackage(name, fonts, place))),
  };
});

describe("add", () => {
  it("takes the fonts of a set with their licence, locks the package, and replaces it by what Debian has now", async () => {
    await addFontSets(folder, ["single"], sources);
    expect((await readdir(join(folder, "single"))).sort()).toEqual(["Wanted.ttf", "fonts-test.copyright"]);
    expect((await readdir(folder)).sort()).toEqual([FONTS_LOCK_NAME, "single"]);
    expect((await readFontsLock(folder)).sets.single?.packages).toEqual([
      { name: "fonts-test", version: "1:1.0-1", sha256: expect.stringMatching(/^[0-9a-f]{64}$/) },
    ]);
    version = "1:1.1-1";
    await addFontSets(folder, ["single"], sources);
    expect((await readFontsLock(folder)).sets.single?.packages[0]?.version).toBe("1:1.1-1");
    expect(await findFontProblems(folder)).toEqual([]);
  });

  it("makes fonts that a render uses, and of a collection only the first", async () => {
    await addFontSets(folder, ["single", "collection"], sources);
    const backend = await startTemporaryBackend({ SERVICE_FONT_PATHS: folder });
    const fontsIn = async (family: string) => {
      const answer = await backend.render({ source: `#set text(font: "${family}")\nText` });
      expect(answer.status).toBe(200);
      return fontNamesOf(await answer.bytes());
    };
    expect(await fontsIn("Wanted")).toContain("Wanted");
    expect(await fontsIn("First")).toContain("First");
    expect(await fontsIn("Second")).not.toContain("Second");
  });

  it("leaves the folder as it was if one of the sets is not available", async () => {
    await addFontSets(folder, ["single"], sources);
    const before = await readFile(join(folder, FONTS_LOCK_NAME), "utf8");
    await expect(addFontSets(folder, ["collection", "empty"], sources)).rejects.toThrow("hold none of its fonts");
    const failing = { ...sources, download: () => Promise.reject(new Error("no network")) };
    await expect(addFontSets(folder, ["single"], failing)).rejects.toThrow("no network");
    expect(await readFile(join(folder, FONTS_LOCK_NAME), "utf8")).toBe(before);
    expect((await readdir(folder)).sort()).toEqual([FONTS_LOCK_NAME, "single"]);
    expect(await findFontProblems(folder)).toEqual([]);
  });

  it("refuses an unknown set", async () => {
    const refusal = /There is no set (nothing|__proto__|noto-text)/;
    for (const name of ["nothing", "__proto__", "noto"]) {
      await expect(addFontSets(folder, [name], sources)).rejects.toThrow(refusal);
    }
  });
});

it("verifying finds fonts that have changed or are missing, and only a set that is there can be removed", async () => {
  await addFontSets(folder, ["single", "collection"], sources);
  await writeFile(join(folder, "single/Wanted.ttf"), "changed");
  await rm(join(folder, "collection"), { recursive: true });
  expect(await findFontProblems(folder)).toEqual([
    "collection is missing, or holds links.",
    "single is not as it was added.",
  ]);
  await removeFontSets(folder, ["single"]);
  expect(await readdir(folder)).toEqual([FONTS_LOCK_NAME]);
  await expect(removeFontSets(folder, ["single"])).rejects.toThrow("is not in fonts-lock.json");
  await writeFile(join(folder, FONTS_LOCK_NAME), "{}");
  await expect(findFontProblems(folder)).rejects.toThrow("is not a lock file");
  await expect(findFontProblems(join(folder, FONTS_LOCK_NAME))).rejects.toThrow("ENOTDIR");
});

it("a collection keeps its first fonts, and what has no more of them, or is none, stays as it is", async () => {
  const collection = collectionOf([await liberation("Regular"), await liberation("Bold"), await liberation("Italic")]);
  const shorter = withFirstFonts(collection, 2);
  expect(shorter.readUInt32BE(8)).toBe(2);
  expect(shorter.subarray(12, 20).equals(collection.subarray(12, 20))).toBe(true);
  expect(sha256(shorter.subarray(24))).toBe(sha256(collection.subarray(24)));
  for (const font of [Buffer.alloc(0), Buffer.from("ttcf"), Buffer.from("OTTO\0\0\0\0\0\0\0\t"), collection]) {
    expect(withFirstFonts(font, 3)).toBe(font);
  }
});

it("the sets take the fonts that documents use, and not those of dead scripts", () => {
  const files = FONT_SETS["noto-text"]?.files ?? /^$/;
  for (const name of ["NotoSans-BoldItalic", "NotoSerif-Regular", "NotoNaskhArabic-Bold", "NotoSerifTibetan-Regular"]) {
    expect(`${name}.ttf`).toMatch(files);
  }
  for (const name of [
    "NotoSansDisplay-Bold",
    "NotoSansLinearA-Regular",
    "NotoSerifTamilSlanted-Bold",
    "xNotoSans-Bold",
  ]) {
    expect(`${name}.ttf`).not.toMatch(files);
  }
});

it("the command lists the sets and says what is wrong in one line", async () => {
  const program = fileURLToPath(new URL("../../scripts/fonts.ts", import.meta.url));
  const run = (...args: string[]) => execa(process.execPath, [program, ...args, "--to", folder], { reject: false });
  expect((await run("list")).stdout).toMatch(/^noto-text: .*\(not added\)\n/);
  const unknown = await run("add", "nothing");
  expect(unknown).toMatchObject({ exitCode: 1, stdout: "" });
  expect(unknown.stderr).toBe("There is no set nothing. There are noto, noto-text, noto-cjk, noto-emoji.");
});

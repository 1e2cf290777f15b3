/** Adds sets of fonts to a folder and removes them. A lock file says from which Debian packages they come. */
import { copyFile, mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { execa } from "execa";
import * as v from "valibot";
import { folderDigest, sha256 } from "../pinned/content-digest.ts";
import { downloadDebianPackages } from "../set-up/debian-packages.mjs";
import { changeFolder, VendoringError } from "../vendoring/folder-change.ts";
import { FONT_GROUP, FONT_SETS, type FontSet } from "./font-sets.ts";

export const FONTS_LOCK_NAME = "fonts-lock.json";

const sha256Text = v.pipe(v.string(), v.regex(/^[0-9a-f]{64}$/));
const fontsLock = v.object({
  lock_version: v.literal(1),
  sets: v.record(
    v.string(),
    v.object({
      packages: v.array(v.object({ name: v.string(), version: v.string(), sha256: sha256Text })),
      /** The digest of the folder of the set (`folderDigest`). */
      content_sha256: sha256Text,
    }),
  ),
});

type FontsLock = v.InferOutput<typeof fontsLock>;
type LockedSet = FontsLock["sets"][string];

export interface FontSources {
  readonly sets: Readonly<Record<string, FontSet>>;
  /** Downloads packages of Debian into an empty folder. @returns the paths of their archives */
  readonly download: (folder: string, packages: readonly string[]) => Promise<string[]>;
}

const DEBIAN: FontSources = {
  sets: FONT_SETS,
  download: (folder, packages) => downloadDebianPackages(folder, packages, new AbortController().signal),
};

function expandGroup(names: readonly string[]): string[] {
  return [...new Set(names.flatMap((name) => (name === FONT_GROUP ? Object.keys(FONT_SETS) : name)))];
}

/** Adds or replaces sets. @throws VendoringError or SetUpError if one is not available: the folder is then as it was */
export async function addFontSets(folder: string, names: readonly string[], sources = DEBIAN): Promise<string[]> {
  const wanted = expandGroup(names);
  await changeFolder(folder, async (prepared) => {
    const { sets } = await readFontsLock(folder);
    for (const name of wanted) {
      const set = Object.hasOwn(sources.sets, name) ? sources.sets[name] : undefined;
      if (set === undefined) {
        const known = [FONT_GROUP, ...Object.keys(sources.sets)].join(", ");
        throw new VendoringError(`There is no set ${name}. There are ${known}.`);
      }
      sets[name] = await prepareSet(join(prepared, name), set, sources.download);
    }
    const arriving = wanted.map((name) => ({ from: join(prepared, name), path: name }));
    return { leaving: wanted, arriving, lockFile: lockFileOf(sets) };
  });
  return wanted;
}

/** @throws VendoringError if one of them is not there */
export async function removeFontSets(folder: string, names: readonly string[]): Promise<string[]> {
  const leaving = expandGroup(names);
  await changeFolder(folder, async () => {
    const { sets } = await readFontsLock(folder);
    const missing = leaving.find((name) => !Object.hasOwn(sets, name));
    if (missing !== undefined) throw new VendoringError(`${missing} is not in ${FONTS_LOCK_NAME}.`);
    for (const name of leaving) delete sets[name];
    return { leaving, arriving: [], lockFile: lockFileOf(sets) };
  });
  return leaving;
}

/** How a folder differs from its lock file, in sentences. */
export async function findFontProblems(folder: string): Promise<string[]> {
  const { sets } = await readFontsLock(folder);
  const problems: string[] = [];
  for (const [name, { content_sha256 }] of Object.entries(sets)) {
    const digest = await folderDigest(join(folder, name));
    if (digest === null) problems.push(`${name} is missing, or holds links.`);
    else if (digest !== content_sha256) problems.push(`${name} is not as it was added.`);
  }
  return problems;
}

/** The lock file of a folder, empty if there is none. @throws VendoringError if it cannot be read as one */
export async function readFontsLock(folder: string): Promise<FontsLock> {
  const path = join(folder, FONTS_LOCK_NAME);
  const text = await readFile(path, "utf8").catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return null;
    throw error;
  });
  if (text === null) return { lock_version: 1, sets: {} };
  const parsed = v.safeParse(v.pipe(v.string(), v.parseJson(), fontsLock), text);
  if (parsed.success) return parsed.output;
  throw new VendoringError(`${path} is not a lock file: ${parsed.issues[0].message}`);
}

function lockFileOf(sets: FontsLock["sets"]) {
  const content: FontsLock = { lock_version: 1, sets: Object.fromEntries(Object.entries(sets).sort()) };
  return { name: FONTS_LOCK_NAME, content };
}

async function prepareSet(target: string, set: FontSet, download: FontSources["download"]): Promise<LockedSet> {
  // Beside the target, on the same disk; removed with the work folder.
  const [downloads, root] = [`${target}.downloads`, `${target}.root`];
  for (const path of [target, downloads, root]) await mkdir(path, { recursive: true });
  const packages: LockedSet["packages"] = [];
  for (const archive of (await download(downloads, set.packages)).sort()) {
    const [name = "", version = ""] = (await execa("dpkg-deb", ["--show", archive])).stdout.split("\t");
    packages.push({ name, version, sha256: sha256(await readFile(archive)) });
    await execa("dpkg-deb", ["--extract", archive, root]);
    // The licence of the fonts must be passed on with them.
    await copyFile(join(root, "usr/share/doc", name, "copyright"), join(target, `${name}.copyright`));
  }
  const entries = await readdir(root, { recursive: true, withFileTypes: true });
  const fonts = entries.filter((entry) => entry.isFile() && set.files.test(entry.name));
  if (fonts.length === 0) throw new VendoringError(`${set.packages.join(" and ")} hold none of its fonts.`);
  for (const { name, parentPath } of fonts) {
    const font = await readFile(join(parentPath, name));
    const kept = set.keptOfCollection === undefined ? font : withFirstFonts(font, set.keptOfCollection);
    await writeFile(join(target, basename(name)), kept, { flag: "wx" });
  }
  const digest = await folderDigest(target);
  if (digest === null) throw new VendoringError(`The fonts of ${set.packages.join(" and ")} cannot be read.`);
  return { packages, content_sha256: digest };
}

/** A collection (OpenType, "Font Collections") with only its first fonts. The data stays: the fonts share it. */
export function withFirstFonts(font: Buffer, count: number): Buffer {
  const [countAt, offsetsAt, offsetBytes] = [8, 12, 4];
  const isCollection = font.length >= offsetsAt && font.toString("latin1", 0, 4) === "ttcf";
  if (!isCollection || font.readUInt32BE(countAt) <= count) return font;
  const shorter = Buffer.from(font);
  shorter.writeUInt32BE(count, countAt);
  // The list ends with what follows the last offset: nothing, or the place of a signature, which is no longer right.
  shorter.fill(0, offsetsAt + offsetBytes * count, offsetsAt + offsetBytes * font.readUInt32BE(countAt));
  return shorter;
}

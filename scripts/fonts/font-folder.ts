/** Adds sets of fonts to a folder and removes them. A lock file says from which Debian packages they come. */
import { copyFile, mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { execa } from "execa";
import * as v from "valibot";
import { folderDigest, sha256 } from "../pinned/content-digest.ts";
import { downloadDebianPackages } from "../set-up/debian-packages.mjs";
import { changeFolder, VendoringError } from "../vendoring/folder-change.ts";
import { withFirstFonts } from "./font-collection.ts";
import { FONT_SET_GROUPS, FONT_SETS, type FontSet } from "./font-sets.ts";

export const FONTS_LOCK_NAME = "fonts-lock.json";

const sha256Text = v.pipe(v.string(), v.regex(/^[0-9a-f]{64}$/));
const lockedSet = v.object({
  packages: v.array(v.object({ name: v.string(), version: v.string(), sha256: sha256Text })),
  /** Of what is on disk, as in the lock file of packages. */
  content_sha256: sha256Text,
});
const fontsLock = v.object({ lock_version: v.literal(1), sets: v.record(v.string(), lockedSet) });

type LockedSet = v.InferOutput<typeof lockedSet>;
type FontsLock = v.InferOutput<typeof fontsLock>;

export interface FontSources {
  readonly sets: Readonly<Record<string, FontSet>>;
  /** Downloads packages of Debian into an empty folder. @returns the paths of their archives */
  readonly download: (folder: string, packages: readonly string[]) => Promise<string[]>;
}

const DEBIAN: FontSources = {
  sets: FONT_SETS,
  download: (folder, packages) => downloadDebianPackages(folder, packages, new AbortController().signal),
};

/** The sets that these names mean, each a set or a group of sets. @throws VendoringError if a name is neither. */
export function expandSetNames(
  names: readonly string[],
  sets: Readonly<Record<string, FontSet>> = FONT_SETS,
): string[] {
  const expanded = expandGroups(names);
  const unknown = expanded.find((name) => !Object.hasOwn(sets, name));
  if (unknown === undefined) return [...new Set(expanded)];
  const known = [...Object.keys(FONT_SET_GROUPS), ...Object.keys(sets)].join(", ");
  throw new VendoringError(`There is no set ${unknown}. There are ${known}.`);
}

function expandGroups(names: readonly string[]): string[] {
  return names.flatMap((name) => (Object.hasOwn(FONT_SET_GROUPS, name) ? (FONT_SET_GROUPS[name] ?? []) : [name]));
}

/**
 * Adds sets to a folder, or replaces them by what Debian has now. Each is its own folder.
 *
 * @throws VendoringError or SetUpError if one is not available. The folder is then as it was.
 */
export async function addFontSets(folder: string, names: readonly string[], sources = DEBIAN): Promise<string[]> {
  const wanted = expandSetNames(names, sources.sets);
  return changeFolder(folder, async (prepared) => {
    const sets = { ...(await readFontsLock(folder)).sets };
    for (const name of wanted) {
      const set = sources.sets[name];
      if (set !== undefined) sets[name] = await prepareSet(join(prepared, name), name, set, sources);
    }
    const arriving = wanted.map((name) => ({ from: join(prepared, name), path: name }));
    return { change: { leaving: wanted, arriving, lockFile: lockFileOf(sets) }, result: wanted };
  });
}

/** @throws VendoringError if one of them is not there. */
export async function removeFontSets(folder: string, names: readonly string[]): Promise<string[]> {
  return changeFolder(folder, async () => {
    const { sets } = await readFontsLock(folder);
    const leaving = expandGroups(names);
    const missing = leaving.find((name) => !Object.hasOwn(sets, name));
    if (missing !== undefined) throw new VendoringError(`${missing} is not in ${FONTS_LOCK_NAME}.`);
    const kept = Object.fromEntries(Object.entries(sets).filter(([name]) => !leaving.includes(name)));
    return { change: { leaving, arriving: [], lockFile: lockFileOf(kept) }, result: leaving };
  });
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

/** The lock file of a folder, empty if there is none. @throws VendoringError if it cannot be read as one. */
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

function lockFileOf(sets: Readonly<Record<string, LockedSet>>) {
  const content: FontsLock = { lock_version: 1, sets: Object.fromEntries(Object.entries(sets).sort()) };
  return { name: FONTS_LOCK_NAME, content };
}

/** Downloads and unpacks the packages of a set, and takes its files and their licences. */
async function prepareSet(target: string, name: string, set: FontSet, { download }: FontSources): Promise<LockedSet> {
  // Beside the target, on the same disk; removed with the work folder.
  const scratch = `${target}.scratch`;
  const downloads = join(scratch, "downloads");
  const root = join(scratch, "root");
  for (const path of [target, downloads, root]) await mkdir(path, { recursive: true });
  const packages: LockedSet["packages"] = [];
  for (const archive of (await download(downloads, set.packages)).sort()) {
    const packageName = await controlField(archive, "Package");
    const version = await controlField(archive, "Version");
    packages.push({ name: packageName, version, sha256: sha256(await readFile(archive)) });
    await execa("dpkg-deb", ["--extract", archive, root]);
    // The licence of the fonts must be passed on with them.
    await copyFile(join(root, "usr/share/doc", packageName, "copyright"), join(target, `${packageName}.copyright`));
  }
  let count = 0;
  for (const entry of await readdir(root, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile() || !set.files.test(entry.name)) continue;
    count++;
    const font = await readFile(join(entry.parentPath, entry.name));
    const kept = set.keptOfCollection === null ? font : withFirstFonts(font, set.keptOfCollection);
    await writeFile(join(target, basename(entry.name)), kept, { flag: "wx" });
  }
  if (count === 0) throw new VendoringError(`The packages of ${name} hold none of its fonts.`);
  const digest = await folderDigest(target);
  if (digest === null) throw new VendoringError(`The files of ${name} cannot be read.`);
  return { packages, content_sha256: digest };
}

async function controlField(archive: string, field: string): Promise<string> {
  return (await execa("dpkg-deb", ["--field", archive, field])).stdout.trim();
}

/**
 * The files of a folder that are sent: those that the ignore files do not exclude, except PDF and SVG that Typst has made,
 * so that requests do not grow by earlier documents.
 */
import { isAbsolute, join, posix, relative, sep } from "node:path";
import { Minimatch } from "minimatch";
import { isOutputFormat } from "../../../rules/output-options.ts";
import { CommandError } from "../exit-codes.ts";
import { type CollectedFiles, MAX_FILES, refuseIfTooLarge, tooManyFiles } from "../files/collected-files.ts";
import { isFile, isFolder, isThere, statOf, walk } from "../files/disk.ts";
import { leadsToFileBelow, makeMissingFileError, makeUnreadableError, readNamed } from "../files/folder.ts";
import type { IgnoreRules } from "../files/ignore-rules.ts";
import { isExpected, keyWithoutLinks } from "../files/unexpected-files.ts";
import { printableLine } from "../terminal.ts";

/** Of files and folders, sent or not. Ignored folders are not read. */
const MAX_ENTRIES = 200_000;
/** More are in a home folder, which nobody wants to be searched. */
export const MAX_SEARCHED_ENTRIES = 20_000;

export interface SourceFolder {
  readonly root: string;
  /** The key of the folder of the source; empty for the root. */
  readonly folderKey: string;
  readonly ignored: IgnoreRules;
  /** How many entries are looked at below a folder that nobody has named. */
  readonly maxSearched: number;
  /** Absolute paths that are sent only if a source names them. */
  readonly excluded: ReadonlySet<string>;
}

/** @returns the keys of those that Typst has made, which are added only if they are asked for by their names */
export function addFiles(
  { root, excluded }: SourceFolder,
  keys: readonly string[],
  files: CollectedFiles,
  asked: ReadonlySet<string>,
): Set<string> {
  const made = new Set<string>();
  const toSend: { readonly key: string; readonly bytes: number }[] = [];
  for (const key of keys) {
    const path = join(root, key);
    if (excluded.has(path)) continue;
    if (MAY_BE_MADE.test(key) && !asked.has(key) && isMadeByTypst(readNamed(path, key, root))) made.add(key);
    else toSend.push({ key, bytes: statOf(path)?.size ?? 0 });
  }
  if (toSend.length > MAX_FILES) throw tooManyFiles();
  // Before any other file is read.
  refuseIfTooLarge(toSend);
  for (const { key } of toSend) files.set(key, readNamed(join(root, key), key, root));
  return made;
}

const MAY_BE_MADE = /\.(?:pdf|svg)$/i;
const MARKS_OF_TYPST = ["/Creator(Typst ", "<xmp:CreatorTool>Typst "];
/** The beginning of an SVG of Typst 0.15 has this name for a namespace, and no other program's. */
const SVG_OF_TYPST = /^<svg [^>]{0,500} xmlns:h5="/;

function isMadeByTypst(bytes: Buffer): boolean {
  return SVG_OF_TYPST.test(bytes.toString("latin1", 0, 1024)) || MARKS_OF_TYPST.some((mark) => bytes.includes(mark));
}

/**
 * The files below the root that are not ignored, or if it has too many those below the folder of the source; null if that
 * has too many, too, or an ignore file that cannot be used. Folders that cannot be read have none.
 */
export function searchRoot(place: SourceFolder): readonly string[] | null {
  const search = (from: string) => {
    try {
      return filesBelow(place, { from, maxEntries: place.maxSearched });
    } catch (error) {
      if (error instanceof CommandError) return null;
      throw error;
    }
  };
  return search("") ?? (place.folderKey === "" ? null : search(place.folderKey));
}

/** The files of a folder that the caller has named. @throws CommandError when it cannot be read, or is too large */
export function listFolder(place: SourceFolder): readonly string[] {
  const files = filesBelow(place, {
    from: place.folderKey,
    onUnreadable: (folder, error) => {
      throw makeUnreadableError(printableLine(relative(place.root, folder) || "."), error);
    },
  });
  return files ?? refuseFolder();
}

/** The files of a folder below that of the source; none if there is no such folder. */
export function findFiles(place: SourceFolder, folder: string): readonly string[] {
  return filesBelow(place, { from: posix.join(place.folderKey, folder) }) ?? refuseFolder();
}

function refuseFolder(): never {
  throw tooManyFiles();
}

export interface AskedFiles {
  /** Keys, in order. */
  readonly keys: readonly string[];
  /** Those that are named by their paths. */
  readonly named: ReadonlySet<string>;
}

/**
 * The files of `--files`: by their paths, also those that are ignored, by their folder, or by a glob.
 *
 * @throws CommandError when a pattern matches none, or leads out of the root
 */
export function findAskedFiles(place: SourceFolder, patterns: readonly string[]): AskedFiles {
  const named = new Set<string>();
  const keys = new Set<string>();
  for (const pattern of patterns) {
    const key = keyOfPattern(place, pattern);
    // The caller knows of the file, whatever the rules are for.
    if (isFile(join(place.root, key))) named.add(key);
    else for (const one of filesOfPattern(place, pattern, key)) keys.add(one);
  }
  return { keys: [...new Set([...named, ...keys])].sort(), named };
}

function keyOfPattern({ root, folderKey }: SourceFolder, pattern: string): string {
  const fromRoot = isAbsolute(pattern);
  const path = (fromRoot ? relative(root, pattern) : pattern).split(sep).join("/");
  const key = posix.join(fromRoot ? "" : folderKey, path);
  if (!key.startsWith("../") && key !== "..") return key;
  throw new CommandError(
    `--files ${pattern}: the files of a project must be in its folder, ${root}; --root names another one.`,
  );
}

function filesOfPattern(place: SourceFolder, pattern: string, key: string): readonly string[] {
  const path = join(place.root, key);
  const found = isFolder(path) ? filesBelow(place, { from: key }) : filesOfGlob(place, key);
  if (found === null) throw tooManyFiles();
  if (found.length > 0) return found;
  if (isOutputFormat(pattern)) {
    throw new CommandError(`-f ${pattern}: -f names files here. The format is --format ${pattern}.`);
  }
  if (!isThere(path) && !MAGIC.test(pattern)) throw makeMissingFileError(path, path);
  const matches = `--files ${pattern} matches no file in ${place.root} that is not ignored.`;
  throw new CommandError(printableLine(`${matches} An ignored file is sent if it is named exactly.`));
}

const MAGIC = /[*?[\]{}]|[!+@]\(/;

/** Reads only folders that files of the glob may be in. Null if these have too many. */
function filesOfGlob(place: SourceFolder, key: string): readonly string[] | null {
  const segments = key.split("/");
  // A folder may have the name of a glob.
  const isGlob = (segment: string, index: number) =>
    MAGIC.test(segment) && !isFolder(join(place.root, ...segments.slice(0, index + 1)));
  const count = segments.findIndex(isGlob);
  if (count === -1) return [];
  const from = segments.slice(0, count).join("/");
  const glob = new Minimatch(segments.slice(count).join("/"), { nonegate: true, nocomment: true });
  const isWanted = (one: string, isEntered: boolean) =>
    posix.basename(one) !== "node_modules" && glob.match(from === "" ? one : one.slice(from.length + 1), isEntered);
  return filesBelow(place, { from, isWanted });
}

type Below = Partial<Parameters<typeof walk>[1]>;

/**
 * The files below a folder that are not ignored, and by default not hidden. Links to files count if these are in the root.
 * Null if there are too many.
 */
function filesBelow({ root, ignored }: SourceFolder, more: Below): readonly string[] | null {
  const keep = (keys: readonly string[]) => ignored.keep(keys);
  const { files, others, isCut } = walk(root, { isWanted: isUsual, maxEntries: MAX_ENTRIES, keep, ...more });
  const isSent = (link: string) =>
    leadsToFileBelow(root, join(root, link)) && isExpected(keyWithoutLinks(root, link), ignored);
  return isCut ? null : [...files, ...others.filter(isSent)];
}

/** Neither hidden nor of packages of Node. */
export function isUsual(key: string): boolean {
  const name = posix.basename(key);
  return !name.startsWith(".") && name !== "node_modules";
}

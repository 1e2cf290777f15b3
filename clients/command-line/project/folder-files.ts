/**
 * The files of a folder that are sent: those that the ignore files do not exclude, except PDF and SVG that Typst has made,
 * so that requests do not grow by earlier documents.
 */
import fs, { type Dirent } from "node:fs";
import { readdir } from "node:fs/promises";
import { isAbsolute, join, posix, relative, sep } from "node:path";
import { isOutputFormat } from "../../../rules/output-options.ts";
import { CommandError } from "../exit-codes.ts";
import { CollectedFiles, MAX_FILES, refuseIfTooLarge, tooManyFiles } from "../files/collected-files.ts";
import {
  isFile,
  keyBelow,
  leadsToFileBelow,
  makeMissingFileError,
  readNamed,
  sizeOf,
  statNow,
} from "../files/folder.ts";
import type { IgnoreRules } from "../files/ignore-rules.ts";
import { isExpected, keyWithoutLinks } from "../files/unexpected-files.ts";
import { printableLine } from "../terminal.ts";

/** Of files and folders, sent or not. Ignored folders are not read. */
const MAX_ENTRIES = 200_000;

interface Selection {
  /** They may match nothing. */
  readonly globs: readonly string[];
  /** Globs of files that are sent only if the caller or the source names them. */
  readonly except?: readonly string[];
  /** Whether it ends at a folder that cannot be read. */
  readonly isStrict?: boolean;
  readonly maxEntries?: number;
}

export interface SourceFolder {
  readonly root: string;
  /** The key of the folder of the source; empty for the root. */
  readonly folderKey: string;
  readonly ignored: IgnoreRules;
}

/**
 * @param fromCaller the globs of `--files`, each of which must match. A file that is named exactly is always sent.
 * @param excluded absolute paths
 * @returns them, and the keys of those that Typst has made, which are not sent
 * @throws CommandError when there are too many files or bytes
 */
export async function readFolderFiles(
  place: SourceFolder,
  fromCaller: readonly string[],
  excluded: ReadonlySet<string>,
): Promise<{ readonly files: CollectedFiles; readonly made: ReadonlySet<string> }> {
  const { root } = place;
  const asked = fromCaller.map((pattern) => askedFiles(place, pattern));
  const files = new CollectedFiles();
  const keys = await chooseKeys(place, asked);
  const made = await addFiles(root, keys, excluded, files, (key) => asked.some((one) => one.key === key));
  return { files, made };
}

/** @returns the keys of those that Typst has made, which are added only if they are asked for */
export async function addFiles(
  root: string,
  keys: readonly string[],
  excluded: ReadonlySet<string>,
  files: CollectedFiles,
  isAskedFor: (key: string) => boolean,
): Promise<Set<string>> {
  const made = new Set<string>();
  const toSend: { readonly key: string; readonly bytes: number }[] = [];
  for (const key of keys) {
    const path = join(root, key);
    if (excluded.has(path)) continue;
    if (MAY_BE_MADE.test(key) && !isAskedFor(key) && isMadeByTypst(await readNamed(path, key, root))) made.add(key);
    else toSend.push({ key, bytes: await sizeOf(path) });
  }
  if (toSend.length > MAX_FILES) throw tooManyFiles();
  // Before any other file is read.
  refuseIfTooLarge(toSend);
  for (const { key } of toSend) files.set(key, await readNamed(join(root, key), key, root));
  return made;
}

const MAY_BE_MADE = /\.(?:pdf|svg)$/i;
const MARKS_OF_TYPST = ["/Creator(Typst ", "<xmp:CreatorTool>Typst "];
/** The beginning of an SVG of Typst 0.15 has this name for a namespace, and no other program's. */
const SVG_OF_TYPST = /^<svg [^>]{0,500} xmlns:h5="/;

function isMadeByTypst(bytes: Buffer): boolean {
  return SVG_OF_TYPST.test(bytes.toString("latin1", 0, 1024)) || MARKS_OF_TYPST.some((mark) => bytes.includes(mark));
}

/** More are in a home folder, which nobody wants to be searched. */
const MAX_SEARCHED_ENTRIES = 20_000;

/**
 * The files below the root that are not ignored, or if it has too many those below the folder of the source; null if that
 * has too many, too. Folders that cannot be read have none.
 *
 * @param except globs, relative to the folder of the source
 */
export async function searchRoot(place: SourceFolder, except: readonly string[]): Promise<string[] | null> {
  const { root, folderKey, ignored } = place;
  const exceptBelow = except.map((glob) => globBelow(folderKey, glob));
  for (const glob of new Set(["**", globBelow(folderKey, "**")])) {
    const selection = { globs: [glob], except: exceptBelow, maxEntries: MAX_SEARCHED_ENTRIES };
    const keys = await matchingKeys(root, ignored, selection).catch((error: unknown) => {
      if (error instanceof CommandError) return null;
      throw error;
    });
    if (keys !== null) return keys;
  }
  return null;
}

/** The same of a folder that the caller has named. @throws CommandError when it cannot be read */
export async function listFolder(
  { root, folderKey, ignored }: SourceFolder,
  except: readonly string[],
): Promise<string[]> {
  const below = (glob: string) => globBelow(folderKey, glob);
  return matchingKeys(root, ignored, { globs: [below("**")], except: except.map(below), isStrict: true });
}

/** The files that globs match, relative to the folder of the source, and that are not ignored. */
export async function findFiles(
  { root, folderKey, ignored }: SourceFolder,
  globs: readonly string[],
): Promise<string[]> {
  return matchingKeys(root, ignored, { globs: globs.map((glob) => globBelow(folderKey, glob)) });
}

interface AskedFiles {
  /** As the caller has written it. */
  readonly pattern: string;
  readonly glob: string;
  /** The key of the file, if the pattern is its path. */
  readonly key: string;
}

/** The keys that globs match, in order. @throws CommandError when a pattern of the caller matches none */
async function chooseKeys({ root, ignored }: SourceFolder, asked: readonly AskedFiles[]): Promise<string[]> {
  const keys = new Set<string>();
  for (const { pattern, glob, key } of asked) {
    const matching = await matchingKeys(root, ignored, { globs: [glob] });
    const path = join(root, key);
    // The caller knows of the file, whatever the rules are for.
    if (matching.length === 0 && (await isFile(path))) matching.push(key);
    if (matching.length === 0) {
      if (statNow(path) === undefined && !/[*?[\]{}]/.test(pattern) && !isOutputFormat(pattern))
        throw await makeMissingFileError(path, path);
      if (isOutputFormat(pattern)) {
        throw new CommandError(`-f ${pattern}: -f names files here. The format is --format ${pattern}.`);
      }
      const matches = `--files ${pattern} matches no file in ${root} that is not ignored.`;
      throw new CommandError(printableLine(`${matches} An ignored file is sent if it is named exactly.`));
    }
    for (const key of matching) keys.add(key);
  }
  return [...keys].sort();
}

/** @throws CommandError when a pattern leads out of the root */
function askedFiles({ root, folderKey }: SourceFolder, pattern: string): AskedFiles {
  const fromRoot = isAbsolute(pattern);
  const path = (fromRoot ? relative(root, pattern) : pattern).split(sep).join("/");
  const key = posix.join(fromRoot ? "" : folderKey, path);
  if (key.startsWith("../") || key === "..") {
    throw new CommandError(
      `--files ${pattern}: the files of a project must be in its folder, ${root}; --root names another one.`,
    );
  }
  return { pattern, key, glob: posix.join(fromRoot ? "" : escapeGlob(folderKey), path) };
}

function globBelow(folderKey: string, glob: string): string {
  return folderKey === "" ? glob : `${escapeGlob(folderKey)}/${glob}`;
}

function escapeGlob(path: string): string {
  return path.replace(/[\\$()*?[\]^{|}!+@]/g, "\\$&");
}

/**
 * Files that are not ignored. Links to files count if these are in the root, or if a glob is their name: then
 * `readNamed` says what is wrong with them. @throws CommandError when a folder that is sent as a whole cannot be read
 */
async function matchingKeys(
  root: string,
  ignored: IgnoreRules,
  { globs, except = [], isStrict = false, maxEntries = MAX_ENTRIES }: Selection,
): Promise<string[]> {
  const { globby } = await import("globby");
  let failure: unknown = null;
  let seen = 0;
  /** A folder without what is ignored in it, so that ignored folders are not read at all. */
  const readFolder = async (path: string): Promise<Dirent[]> => {
    const entries = await readdir(path, { withFileTypes: true });
    try {
      seen += entries.length;
      if (seen > maxEntries) throw tooManyFiles();
      const keys = entries.map((entry) => {
        const key = keyBelow(root, join(path, entry.name));
        return entry.isDirectory() ? `${key}/` : key;
      });
      const kept = new Set(await ignored.keep(keys));
      return entries.filter((_, index) => kept.has(keys[index] ?? ""));
    } catch (error) {
      failure ??= error;
      throw error;
    }
  };
  const entries = await globby([...globs], {
    cwd: root,
    fs: { ...fs, readdir: asCallbacks(readFolder) },
    ignore: ["**/node_modules/**", ...except],
    expandDirectories: true,
    // With it, globs would not match links to files.
    onlyFiles: false,
    objectMode: true,
    followSymbolicLinks: false,
    // Most folders beside a single source have nothing to do with it, as in a home folder.
    suppressErrors: !isStrict,
  }).catch((error: unknown) => {
    if (!(error instanceof Error && "path" in error)) throw error;
    throw new CommandError(
      printableLine(`${relative(root, String(error.path)) || "."} cannot be read (${error.message}).`),
    );
  });
  // `suppressErrors` is for folders that cannot be read, not for mistakes in the rules.
  if (failure !== null) throw failure;
  const keys: string[] = [];
  for (const { path, dirent } of entries) {
    const isSent = dirent.isSymbolicLink()
      ? globs.includes(path) ||
        ((await leadsToFileBelow(root, join(root, path))) &&
          (await isExpected(await keyWithoutLinks(root, path), ignored)))
      : dirent.isFile();
    if (isSent) keys.push(path);
  }
  // A file that a glob names exactly is found without reading its folder.
  return ignored.keep(keys);
}

type Done<Entry> = (error: NodeJS.ErrnoException | null, entries: Entry[]) => void;

/** In the form of Node's `readdir` with callbacks. The library always asks for the types of entries. */
function asCallbacks(read: (path: string) => Promise<Dirent[]>) {
  function list(path: string, options: { readonly withFileTypes: true }, done: Done<Dirent>): void;
  function list(path: string, done: Done<string>): void;
  function list(path: string, _options: object, done?: Done<Dirent>): void {
    if (done === undefined) throw new TypeError(`the entries of ${path} were asked for without their types`);
    read(path).then(
      (entries) => done(null, entries),
      (error) => done(error, []),
    );
  }
  return list;
}

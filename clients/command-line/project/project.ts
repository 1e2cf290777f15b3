/**
 * What a request carries from a folder: the source, the files that it reads, and those that the caller names. The
 * folder is the root of the project, here as in the service, and nothing outside of it can be read: see folder.ts.
 */
import { statSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { basename, dirname, extname, isAbsolute, join, posix, resolve } from "node:path";
import { SCHEMA_FILE } from "../../data-schema/schema-file.ts";
import { closestPath, didYouMean } from "../../data-schema/similar-name.ts";
import { DATA_PATH, SOURCE_PATH } from "../../typescript/saved-draft.ts";
import { countInWords } from "../../typescript/size-in-words.ts";
import { findUnusableFiles } from "../../typescript/unusable-files.ts";
import { CommandError } from "../exit-codes.ts";
import { printableLine } from "../terminal.ts";
import type { CollectedFiles } from "./collected-files.ts";
import { byteOrderMarkNote, isFile, isFolder, projectFolder, readNamed } from "./folder.ts";
import { readFolderFiles, WHOLE_FOLDER } from "./folder-files.ts";
import { readLiterals, stringLiterals } from "./literals.ts";

/** A source names fonts by their family, so no literal leads to their files: those in this folder are always sent. */
const FONT_FILES = "fonts/**/*.{ttf,otf,ttc,otc,TTF,OTF,TTC,OTC}";
/** What belongs to a template but not to its documents is sent only if the source or the caller names it. */
const NOT_SENT = [SCHEMA_FILE, "cases/*.json", "cases/*.expected/**"];
const MAX_UNUSABLE = 10;
/** A source that contains one of these words probably reads the data. */
const READS_DATA = /\b(?:data|request)\b/;

export interface ProjectFile {
  /** The path relative to the root, with `/`: the key in `files`. */
  readonly key: string;
  readonly bytes: Buffer;
}

export interface Project {
  /** The folder of the source, absolute. */
  readonly root: string;
  /** The source as the caller named it, for messages. */
  readonly sourceName: string;
  readonly sourcePath: string;
  readonly source: Buffer;
  readonly files: readonly ProjectFile[];
  /** The JSON file for `data`; null if there is none. Beside a `main.typ` it is `data.json`. */
  readonly dataPath: string | null;
  /** Keys of files that `render` and `check` wrote, which are left out. */
  readonly leftOut: readonly string[];
  /** What the caller should know about the files that are sent, one sentence each. */
  readonly notes: readonly string[];
  /** Files that a source reads and that do not exist, one sentence each. Typst may never read them. */
  readonly warnings: readonly string[];
}

export interface ProjectOptions {
  /** Globs or folders, relative to the source's folder. */
  readonly patterns: readonly string[];
  /** Paths that are sent only if the source names them, such as the output. */
  readonly leaveOut: readonly string[];
  /** Whether the caller names data, so that an unused `data.json` needs no note. */
  readonly namesData: boolean;
}

/** @param path a Typst source, or a folder. @throws CommandError when a named file does not exist or cannot be sent */
export async function collectProject(path: string, options: ProjectOptions): Promise<Project> {
  const { patterns, leaveOut, namesData } = options;
  const isWhole = await isFolder(path);
  const root = await projectFolder(path);
  const sourceName = isWhole ? join(path, SOURCE_PATH) : path;
  const sourcePath = resolve(sourceName);
  if (isWhole && !(await isFile(sourcePath))) throw await noMainFile(path);
  const source = await readNamed(sourcePath, sourceName, root);
  const hasDataFile = await isFile(join(root, DATA_PATH));
  const dataPath = hasDataFile && basename(sourceName) === SOURCE_PATH ? join(root, DATA_PATH) : null;

  const excluded = new Set([sourcePath, ...leaveOut.map((file) => resolve(file))]);
  if (dataPath !== null) excluded.add(dataPath);
  const own = { globs: [isWhole ? WHOLE_FOLDER : FONT_FILES], except: NOT_SENT };
  const { files, written } = await readFolderFiles(root, own, patterns, excluded);
  const warnings = await followLiterals(root, sourceName, source, files);
  const sourceNotes = [...byteOrderMarkNote(source, sourceName), ...describeUnusableFiles(files)];
  if (hasDataFile && dataPath === null && !namesData && READS_DATA.test(source.toString("utf8"))) {
    const file = shownPath(root, sourceName, DATA_PATH);
    sourceNotes.push(`${file} is not used, because the source is not ${SOURCE_PATH}: to use it, add --data ${file}.`);
  }
  return {
    root,
    sourceName,
    sourcePath,
    source,
    files: [...files].map(([key, bytes]) => ({ key, bytes })).sort((a, b) => (a.key < b.key ? -1 : 1)),
    dataPath,
    leftOut: [...written].filter((key) => !files.has(key)),
    notes: sourceNotes.map(printableLine),
    warnings: warnings.map(printableLine),
  };
}

function describeUnusableFiles(files: CollectedFiles): string[] {
  const found = findUnusableFiles([...files].map(([key, bytes]) => ({ key, bytes })));
  const more = found.length - MAX_UNUSABLE;
  const sentences = found.slice(0, MAX_UNUSABLE).map(({ key, message }) => `${key} ${message}`);
  return more > 0 ? [...sentences, `Typst cannot use ${countInWords(more, "more file")}.`] : sentences;
}

/** The name of the document without its extension: that of the folder, or of the source. */
export async function projectName(path: string): Promise<string> {
  if (!(await isFolder(path))) return basename(path, extname(path));
  return basename(resolve(path)) || basename(SOURCE_PATH, extname(SOURCE_PATH));
}

async function noMainFile(folder: string): Promise<CommandError> {
  const [source] = (await nearbyFiles(folder)).filter(isTypst);
  const meant = source === undefined ? null : join(folder, source);
  return new CommandError(printableLine(`${join(folder, SOURCE_PATH)} does not exist.${didYouMean(meant)}`));
}

interface MissingFile {
  /** The beginning of the sentence about it. */
  readonly what: string;
  /** Null if it is above the root. */
  readonly target: string | null;
}

/** Adds the files that the source names, then the files that these name, and so on. @returns warnings */
async function followLiterals(root: string, sourceName: string, source: Buffer, files: CollectedFiles) {
  const sourceKey = basename(sourceName);
  const missing: MissingFile[] = [];
  const queue = [{ key: sourceKey, bytes: source }];
  const seen = new Set([sourceKey]);
  const follow = (key: string, bytes: Buffer) => {
    if (!isTypst(key) || seen.has(key)) return;
    seen.add(key);
    queue.push({ key, bytes });
  };
  for (const [key, bytes] of files) follow(key, bytes);
  for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
    const { key } = next;
    const text = next.bytes.toString("utf8");
    for (const literal of stringLiterals(text)) {
      const target = keyOf(literal, key);
      if (target === null || target === sourceKey) continue;
      let bytes = files.get(target);
      if (bytes === undefined) {
        if (!isThere(join(root, target))) continue;
        bytes = await readNamed(join(root, target), target, root);
        files.set(target, bytes);
      }
      follow(target, bytes);
    }
    const shownAs = key === sourceKey ? sourceName : shownPath(root, sourceName, key);
    // A file that several sources read is reported for each.
    for (const [path, line] of readLiterals(text)) {
      const target = keyOf(path, key);
      if (target === null || (!files.has(target) && target !== sourceKey)) {
        missing.push({ what: `${shownAs}:${line} reads "${path}", which`, target });
      }
    }
  }
  return describeMissingFiles(missing, root);
}

/** A source may have a hundred thousand literals, for which a promise each would take long. */
function isThere(path: string): boolean {
  try {
    return statSync(path, { throwIfNoEntry: false })?.isFile() ?? false;
  } catch {
    return false;
  }
}

const MAX_MISSING = 20;

async function describeMissingFiles(missing: readonly MissingFile[], root: string): Promise<string[]> {
  if (missing.length === 0) return [];
  const nearby = await nearbyFiles(root);
  const sentences = missing.slice(0, MAX_MISSING).map(({ what, target }) => {
    if (target === null) return `${what} is above the folder of the source.`;
    if (nearby.includes(target)) return `${what} is not a file that can be read.`;
    return `${what} does not exist.${didYouMean(closestPath(target, nearby))}`;
  });
  const more = missing.length - MAX_MISSING;
  return more > 0 ? [...sentences, `Of the files that the sources read, ${more} more do not exist.`] : sentences;
}

/** A folder may be of any size. The first files found are enough for suggestions. */
const MAX_NEARBY = 2000;

/** The keys of files below a folder, the shallow ones first. Hidden files and node_modules are left out. */
async function nearbyFiles(root: string): Promise<string[]> {
  const files: string[] = [];
  const folders = [""];
  let seen = 0;
  for (let folder = folders.shift(); folder !== undefined && seen < MAX_NEARBY; folder = folders.shift()) {
    for (const entry of await readdir(join(root, folder), { withFileTypes: true }).catch(() => [])) {
      if (++seen > MAX_NEARBY) break;
      if (entry.name.startsWith(".") || entry.name === "node_modules") continue;
      const key = posix.join(folder, entry.name);
      if (entry.isDirectory()) folders.push(key);
      else files.push(key);
    }
  }
  return files;
}

function isTypst(key: string): boolean {
  return extname(key) === ".typ";
}

/** The path of a file of the project as the caller would write it, based on that of the source. */
export function shownPath(root: string, sourceName: string, key: string): string {
  return join(isAbsolute(sourceName) ? root : dirname(sourceName), key);
}

/** The key of a path in a file, relative to that, or to the root if it begins with `/`; null above the root. */
function keyOf(path: string, fromKey: string): string | null {
  const joined = path.startsWith("/")
    ? posix.normalize(path.slice(1))
    : posix.normalize(posix.join(posix.dirname(fromKey), path));
  return joined.startsWith("../") || joined === ".." || joined === "." || joined.startsWith("/") ? null : joined;
}

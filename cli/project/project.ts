/**
 * Collects what a request carries from a folder: the source, the files that it reads, and those that the caller names.
 *
 * The folder of the source is the root of the project, here as on the service, so a path in the source means the same file
 * in both places, and nothing outside of that folder can be read: see folder.ts.
 */
import { basename, dirname, extname, isAbsolute, join, posix, relative, resolve, sep } from "node:path";
import { globby } from "globby";
import { SCHEMA_FILE } from "../../data-schema/schema-file.ts";
import { CommandError } from "../exit-codes.ts";
import { printableLine } from "../terminal.ts";
import { isFile, isFolder, projectFolder, readNamed } from "./folder.ts";
import { readLiterals, stringLiterals } from "./literals.ts";

/** What files to leave out, beside `.gitignore`: in the same syntax. */
export const IGNORE_FILE = ".renderignore";
const MAIN_FILE = "main.typ";
const DATA_FILE = "data.json";
/** Fonts are named by their family in a source, so no literal leads to them: those in this folder always come along. */
const FONT_FILES = "fonts/**/*.{ttf,otf,ttc,otc,TTF,OTF,TTC,OTC}";
/** What belongs to a template and not to its documents: sent only if the source or the caller names it. */
const NOT_SENT = [SCHEMA_FILE, "cases/*.json", "cases/*.expected/**"];
/** No request may carry this many; more would be read for nothing. */
const MAX_FILES = 5000;

export interface ProjectFile {
  /** Its path below the root, with `/`: the key in `files`. */
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
  /** The JSON file for `data`; null if there is none. Of a folder it is its `data.json`. */
  readonly dataPath: string | null;
  /** What a source reads but does not exist: one sentence each. Typst may never read it, so these are not errors. */
  readonly warnings: readonly string[];
}

export interface ProjectOptions {
  /** Globs or folders, relative to the source's folder. */
  readonly patterns: readonly string[];
  /** Paths that never come along, such as the output. */
  readonly leaveOut: readonly string[];
}

/**
 * Collects a project.
 *
 * @param path a Typst source, or a folder: its `main.typ` with all of its files.
 * @throws CommandError when something that is named is not there or cannot be sent.
 */
export async function collectProject(path: string, { patterns, leaveOut }: ProjectOptions): Promise<Project> {
  const isWhole = await isFolder(path);
  const sourceName = isWhole ? join(path, MAIN_FILE) : path;
  const sourcePath = resolve(sourceName);
  const root = await projectFolder(path);
  const source = await readNamed(sourcePath, sourceName, root);
  const dataPath = isWhole && (await isFile(join(root, DATA_FILE))) ? join(root, DATA_FILE) : null;

  const files = new Map<string, Buffer>();
  const excluded = new Set([sourcePath, ...leaveOut.map((file) => resolve(file))]);
  if (dataPath !== null) excluded.add(dataPath);
  const own = await matchingFiles(root, [isWhole ? "**" : FONT_FILES], NOT_SENT);
  const named = await namedFiles(root, patterns);
  for (const key of [...new Set([...own, ...named])].sort()) {
    const absolute = join(root, key);
    if (!excluded.has(absolute)) files.set(key, await readNamed(absolute, key, root));
  }
  const warnings = await followLiterals({ root, sourceName, source, files });
  return {
    root,
    sourceName,
    sourcePath,
    source,
    files: [...files].map(([key, bytes]) => ({ key, bytes })).sort((a, b) => (a.key < b.key ? -1 : 1)),
    dataPath,
    warnings: warnings.map(printableLine),
  };
}

/** Adds the files that the source names, then those that they name, and so on. @returns warnings */
async function followLiterals(project: {
  root: string;
  sourceName: string;
  source: Buffer;
  files: Map<string, Buffer>;
}): Promise<string[]> {
  const { root, sourceName, source, files } = project;
  const warnings: string[] = [];
  const seen = new Set<string>();
  const queue = [{ key: basename(sourceName), shownAs: sourceName, text: source.toString("utf8") }];
  for (const [key, bytes] of files) if (isTypst(key)) queue.push(typstFile(root, sourceName, key, bytes));
  for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
    const { key, shownAs, text } = next;
    if (seen.has(key)) continue;
    seen.add(key);
    for (const literal of stringLiterals(text)) {
      const target = keyOf(literal, key);
      if (target === null || target === basename(sourceName)) continue;
      let bytes = files.get(target);
      if (bytes === undefined) {
        if (!(await isFile(join(root, target)))) continue;
        if (files.size >= MAX_FILES) throw tooManyFiles();
        bytes = await readNamed(join(root, target), target, root);
        files.set(target, bytes);
      }
      if (isTypst(target)) queue.push(typstFile(root, sourceName, target, bytes));
    }
    for (const { path, line } of readLiterals(text)) {
      const target = keyOf(path, key);
      if (target === null) {
        warnings.push(`${shownAs}:${line} reads "${path}", which is above the folder of the source.`);
      } else if (!files.has(target) && target !== basename(sourceName)) {
        warnings.push(`${shownAs}:${line} reads "${path}", which does not exist.`);
      }
    }
  }
  return warnings;
}

function typstFile(root: string, sourceName: string, key: string, bytes: Buffer) {
  return { key, shownAs: shownPath(root, sourceName, key), text: bytes.toString("utf8") };
}

function isTypst(key: string): boolean {
  return extname(key) === ".typ";
}

/** A file of the project as the caller would name it: beside the source. */
export function shownPath(root: string, sourceName: string, key: string): string {
  const folder = dirname(sourceName);
  if (isAbsolute(sourceName)) return join(root, key);
  return folder === "." ? key : join(folder, key);
}

/** The key of a path in a file, which is relative to that file, or to the root if it begins with `/`; null if above it. */
function keyOf(path: string, fromKey: string): string | null {
  const joined = path.startsWith("/")
    ? posix.normalize(path.slice(1))
    : posix.normalize(posix.join(posix.dirname(fromKey), path));
  return joined.startsWith("../") || joined === ".." || joined === "." || joined.startsWith("/") ? null : joined;
}

/** The files that the caller names by globs and folders, without what the ignore files name. */
async function namedFiles(root: string, patterns: readonly string[]): Promise<string[]> {
  const found: string[] = [];
  for (const pattern of patterns) {
    const below = isAbsolute(pattern) ? relative(root, pattern) : pattern;
    const clean = below.split(sep).join("/").replace(/^\.\//, "");
    if (clean.startsWith("../") || clean === "..") {
      throw new CommandError(`--files ${pattern}: the files of a project must be in its folder, ${root}.`);
    }
    const matching = await matchingFiles(root, [clean === "" ? "." : clean], []);
    if (matching.length === 0) {
      throw new CommandError(`--files ${pattern} matches no file in ${root} that is not ignored.`);
    }
    found.push(...matching);
  }
  return found;
}

/** The files of a root that globs and folders match, without what the ignore files name. */
async function matchingFiles(root: string, patterns: string[], except: readonly string[]): Promise<string[]> {
  const found = await globby(patterns, {
    cwd: root,
    gitignore: true,
    ignoreFiles: `**/${IGNORE_FILE}`,
    ignore: ["**/node_modules/**", ...except],
    expandDirectories: true,
    onlyFiles: true,
    followSymbolicLinks: false,
  });
  if (found.length > MAX_FILES) throw tooManyFiles();
  return found;
}

function tooManyFiles(): CommandError {
  return new CommandError(
    `The project has more than ${MAX_FILES} files. Select those that it needs with --files, or exclude others in ${IGNORE_FILE}.`,
  );
}

/**
 * The root of a project, in Typst's meaning: paths that begin with `/` start there, and nothing outside of it is read. It
 * is the folder of the source, the one of `--root`, or one above the source that a project has marked as its own.
 */
import { dirname, join, resolve } from "node:path";
import { homeFolder } from "../../../typst/cache-folder.mjs";
import { CommandError } from "../exit-codes.ts";
import { isFolder, isThere, realPath, statOf } from "../files/disk.ts";
import { isBelow } from "../files/folder.ts";
import { IGNORE_FILE } from "../files/ignore-rules.ts";
import { printableLine } from "../terminal.ts";

const REPOSITORY = ".git";
/** What the top folder of a project has. */
const MARKS = [REPOSITORY, "typst.toml", IGNORE_FILE];

/** A path in a source that leads out of the root, or from the root to nothing. */
export interface OutsidePath {
  readonly path: string;
  /** The folder of the file that has it, absolute. */
  readonly folder: string;
  /** The name of that file for messages. */
  readonly shownAs: string;
}

/**
 * The folder of `--root`, without links. It may be the home folder, which that of a program in a container often is.
 *
 * @throws CommandError when it does not hold the source, or is the whole file system
 */
export function namedRoot(named: string, folder: string, sourceName: string): string {
  const shown = printableLine(named);
  // `..` after a link leads above the target of the link, as in Typst and the shell.
  const root = realPath(named);
  if (root === null || !isFolder(root)) throw new CommandError(`--root ${shown} is not a folder.`);
  if (isWholeSystem(root)) {
    throw new CommandError(`--root ${shown} is the whole file system: name the folder of the project.`);
  }
  if (!isBelow(root, folder)) {
    throw new CommandError(`--root ${shown} does not hold the source, ${printableLine(sourceName)}.`);
  }
  return root;
}

function isWholeSystem(folder: string): boolean {
  return folder === dirname(folder);
}

/** Whether a folder that nobody has named is no project: the home folder, or one that holds it. */
function isTooWide(folder: string): boolean {
  const home = realPath(homeFolder()) ?? homeFolder();
  return isWholeSystem(folder) || isBelow(folder, home);
}

/**
 * The folders above that may be the root, nearest first. A stranger who packs a project marks only folders of its own;
 * so that nobody else marks one above it, each belongs to the owner of the folder. Never above a repository.
 *
 * @param folder without links
 */
export function markedFoldersAbove(folder: string): string[] {
  const owner = statOf(folder)?.uid;
  const marked: string[] = [];
  for (let inner = folder; !isThere(join(inner, REPOSITORY)); inner = dirname(inner)) {
    const above = dirname(inner);
    if (statOf(above)?.uid !== owner || isTooWide(above)) break;
    if (MARKS.some((name) => isThere(join(above, name)))) marked.push(above);
  }
  return marked;
}

/** The nearest root with which most of the paths lead to something; null if none does. */
export function nearestRootFor(paths: readonly OutsidePath[], roots: readonly string[]): string | null {
  const counts = roots.map((root) => paths.filter((path) => leadsTo(root, path)).length);
  const most = Math.max(0, ...counts);
  return most === 0 ? null : (roots[counts.indexOf(most)] ?? null);
}

/** Whether a path leads to a file or a folder below the root. A folder may be the beginning of a computed path. */
export function leadsTo(root: string, { path, folder }: OutsidePath): boolean {
  const target = path.startsWith("/") ? join(root, path) : resolve(folder, path);
  return isBelow(root, target) && isThere(target);
}

/** The nearest folder above a root with which a path leads to something, marked or not; null if there is none. */
export function rootThatHas(root: string, path: OutsidePath): string | null {
  for (let above = dirname(root); !isWholeSystem(above); above = dirname(above)) {
    if (leadsTo(above, path)) return above;
  }
  return null;
}

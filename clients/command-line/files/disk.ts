/**
 * What the command knows of the disk before it sends anything: no other file of `files/`, `project/` and `packages/` looks
 * there, so what is sent follows from what this one says and from the arguments. It waits for each answer: with a promise
 * for each of thousands of paths, a project would take twice as long.
 */
import { type Dirent, lstatSync, readdirSync, readFileSync, realpathSync, type Stats, statSync } from "node:fs";
import { join, posix } from "node:path";

/** What a link leads to. Null for what is not there, may not be looked at, or cannot be a path. */
export function statOf(path: string): Stats | null {
  return attempt(() => statSync(path, { throwIfNoEntry: false })) ?? null;
}

export function isThere(path: string): boolean {
  return statOf(path) !== null;
}

export function isFolder(path: string): boolean {
  return statOf(path)?.isDirectory() ?? false;
}

export function isFile(path: string): boolean {
  return statOf(path)?.isFile() ?? false;
}

/** The same of a path itself, also if it is a link. */
export function linkStatOf(path: string): Stats | null {
  return attempt(() => lstatSync(path, { throwIfNoEntry: false })) ?? null;
}

/** The path without links; null if it leads to nothing. */
export function realPath(path: string): string | null {
  return attempt(() => realpathSync.native(path));
}

/** Whether nobody can say what is there, because a folder on the way may not be entered. */
export function isBarred(path: string): boolean {
  try {
    statSync(path);
    return false;
  } catch (error) {
    return error instanceof Error && "code" in error && error.code === "EACCES";
  }
}

function attempt<Result>(look: () => Result): Result | null {
  try {
    return look();
  } catch {
    return null;
  }
}

/** @throws the error of the system */
export function readBytes(path: string): Buffer {
  return readFileSync(path);
}

/** Null for what is gone by now, or may not be read. */
export function readIfThere(path: string): Buffer | null {
  return attempt(() => readFileSync(path));
}

export function namesIn(folder: string): readonly string[] {
  return attempt(() => readdirSync(folder)) ?? [];
}

interface Walk {
  /** The key of the folder where it begins; by default the root. */
  readonly from?: string;
  /** Of files and folders, wanted or not. */
  readonly maxEntries: number;
  /** Whether a file is wanted, or a folder entered. @param key of a folder, without a slash at its end */
  readonly isWanted: (key: string, isFolder: boolean) => boolean;
  /** Those of the keys in a folder that count. The keys of folders end in a slash. */
  readonly keep?: (keys: readonly string[]) => readonly string[];
  readonly onUnreadable?: (folder: string, error: unknown) => void;
}

/** What is below a root, the shallow ones first. */
interface Walked {
  /** Keys. */
  readonly files: readonly string[];
  /** Keys of what is neither a file nor a folder: links, none of which is followed, and pipes. */
  readonly others: readonly string[];
  /** Whether there are more entries. */
  readonly isCut: boolean;
}

export function walk(root: string, { from = "", maxEntries, isWanted, keep, onUnreadable }: Walk): Walked {
  const files: string[] = [];
  const others: string[] = [];
  const folders = [from];
  let seen = 0;
  for (let folder = folders.shift(); folder !== undefined; folder = folders.shift()) {
    const entries = new Map(
      entriesOf(join(root, folder), onUnreadable).map((entry) => {
        const key = posix.join(folder, entry.name);
        return [entry.isDirectory() ? `${key}/` : key, entry] as const;
      }),
    );
    const kept = keep && new Set(keep([...entries.keys()]));
    for (const [key, entry] of entries) {
      if (++seen > maxEntries) return { files, others, isCut: true };
      if (kept?.has(key) === false) continue;
      const isEntered = entry.isDirectory();
      const place = isEntered ? key.slice(0, -1) : key;
      if (!isWanted(place, isEntered)) continue;
      if (isEntered) folders.push(place);
      else if (entry.isFile()) files.push(place);
      else others.push(place);
    }
  }
  return { files, others, isCut: false };
}

function entriesOf(folder: string, onUnreadable: Walk["onUnreadable"] = () => {}): readonly Dirent[] {
  try {
    return readdirSync(folder, { withFileTypes: true }).sort((one, other) => (one.name < other.name ? -1 : 1));
  } catch (error) {
    onUnreadable(folder, error);
    return [];
  }
}

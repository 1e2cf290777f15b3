/**
 * The files of a folder that come along: those that the ignore files leave, without what `render` and `check` wrote there, so that
 * no request grows by the documents of those before.
 */
import { realpath } from "node:fs/promises";
import { isAbsolute, join, relative, sep } from "node:path";
import { globby } from "globby";
import { CommandError } from "../exit-codes.ts";
import { WrittenFiles } from "../written-files.ts";
import { CollectedFiles, MAX_FILES, tooManyFiles } from "./collected-files.ts";
import { readNamed, sizeOf } from "./folder.ts";
import { looksWritten } from "./looks-written.ts";

/** What files to leave out, beside `.gitignore`: in the same syntax. */
export const IGNORE_FILE = ".renderignore";

export interface FolderFiles {
  readonly files: CollectedFiles;
  /** The keys of what `render` and `check` wrote, which is not sent. */
  readonly written: ReadonlySet<string>;
  /** Sentences. */
  readonly notes: readonly string[];
}

/**
 * Reads the files that globs and folders match, in order.
 *
 * @param own globs that may match nothing
 * @param fromCaller those of `--files`, each of which must match. One that is the name of a file brings it in any case.
 * @param excluded absolute paths
 * @throws CommandError when there are too many files or bytes
 */
export async function readFolderFiles(
  root: string,
  own: readonly string[],
  fromCaller: readonly string[],
  excluded: ReadonlySet<string>,
): Promise<FolderFiles> {
  const asked = fromCaller.map((pattern) => inside(root, pattern));
  const keys = await matchingKeys(root, [...own, ...asked], asked, fromCaller);
  const memory = await WrittenFiles.load();
  const place = await realpath(root);
  const files = new CollectedFiles();
  const written = new Set<string>();
  const notes: string[] = [];
  const candidates: { readonly key: string; readonly bytes: number; readonly isLikelyWritten: boolean }[] = [];
  for (const key of keys) {
    if (excluded.has(join(root, key))) continue;
    const bytes = await sizeOf(join(root, key));
    candidates.push({ key, bytes, isLikelyWritten: memory.isLikely(join(place, key), bytes) });
  }
  const toSend = candidates.filter(({ isLikelyWritten }) => !isLikelyWritten);
  if (toSend.length > MAX_FILES) throw tooManyFiles();
  // Before any is read.
  CollectedFiles.refuseIfTooLarge(toSend);
  for (const { key } of candidates) {
    const bytes = await readNamed(join(root, key), key, root);
    const kind = memory.whatIs(join(place, key), bytes);
    if ((kind === "own" || kind === "moved") && !asked.includes(key)) {
      written.add(key);
      if (kind === "moved") {
        notes.push(
          `${key} is not sent: render or check has written a file with its content. To send it, name it by --files.`,
        );
      }
      continue;
    }
    files.add(key, bytes);
    if (kind === "replaced") {
      notes.push(`${key} is sent: it is no longer what was written there. To leave it out, name it in ${IGNORE_FILE}.`);
    } else if (kind === null && looksWritten(key, bytes)) {
      notes.push(`${key} is sent, but looks like an earlier output. To leave it out, name it in ${IGNORE_FILE}.`);
    }
  }
  return { files, written, notes };
}

/** A pattern below the root. @throws CommandError when it leads out */
function inside(root: string, pattern: string): string {
  const below = isAbsolute(pattern) ? relative(root, pattern) : pattern;
  const clean = below.split(sep).join("/").replace(/^\.\//, "");
  if (clean.startsWith("../") || clean === "..") {
    throw new CommandError(`--files ${pattern}: the files of a project must be in its folder, ${root}.`);
  }
  return clean === "" ? "." : clean;
}

async function matchingKeys(
  root: string,
  patterns: readonly string[],
  asked: readonly string[],
  fromCaller: readonly string[],
): Promise<string[]> {
  const options = {
    cwd: root,
    gitignore: true,
    ignoreFiles: `**/${IGNORE_FILE}`,
    ignore: ["**/node_modules/**"],
    expandDirectories: true,
    onlyFiles: true,
    followSymbolicLinks: false,
  };
  for (const [index, pattern] of asked.entries()) {
    if ((await globby(pattern, options)).length === 0) {
      throw new CommandError(`--files ${fromCaller[index]} matches no file in ${root} that is not ignored.`);
    }
  }
  return (await globby([...patterns], options)).sort();
}

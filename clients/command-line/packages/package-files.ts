/**
 * Which files of a package's folder are sent: its manifest, its entry point, the files that these name, and so on. If one
 * of them computes a path, also everything that Typst can read, except what is not for documents. If that is more than a
 * request may have, only what the package, the sources or the data name.
 */
import { join, posix, relative } from "node:path";
import createRules from "ignore";
import { isReadableByTypst, isTypst } from "../../template/file-kinds.ts";
import {
  isNotForDocuments,
  PACKAGE_MANIFEST,
  type PackageManifest,
  readManifest,
} from "../../template/package-parts.ts";
import { computingFunctions, readPaths, readsOf } from "../../template/reads.ts";
import { parseTemplate } from "../../template/syntax-tree.ts";
import type { NamedFiles } from "../files/computed-paths.ts";
import { isBarred, readBytes, realPath, statOf, walk } from "../files/disk.ts";
import { isBelow, keyOf } from "../files/folder.ts";
import { OUT_OF_TIME, runWithinSeconds } from "../files/time-limit.ts";
import { isSecret, isVisible, type SendingRules, whyNotSent } from "../files/unexpected-files.ts";

/** Far above what a package has, and any limit that a deployment can have for a file. */
const MAX_ENTRIES = 20_000;
const MAX_FILE_BYTES = 64 * 1024 ** 2;
/** What the deployments of this repository take in a request. */
const MAX_UNNAMED_FILES = 256;
/** Rules may come from anybody, and one with many stars can take for ever. */
const MAX_SECONDS_FOR_RULES = 2;

export interface PackageFiles {
  /** By their paths in the package, with `/`. */
  readonly files: ReadonlyMap<string, Buffer>;
  /** What is left out although a source names it, one sentence each, without the name of the package. */
  readonly leftOut: readonly string[];
}

/** Null if the folder is no package that Typst could use. */
export function readPackageManifest(folder: string): PackageManifest | null {
  const bytes = new PackageReader(folder).read(PACKAGE_MANIFEST);
  const read = bytes === null ? null : readManifest(bytes);
  return read?.ok ? read.manifest : null;
}

/**
 * @param rules of the folder
 * @param findNames what may be names of files in the sources and the data of the project
 */
export function readPackageFiles(
  folder: string,
  { package: about, template: ofTemplate }: PackageManifest,
  rules: SendingRules,
  findNames: () => NamedFiles,
): PackageFiles {
  const reader = new PackageReader(folder);
  const files = new Map<string, Buffer>();
  const queue: string[] = [];
  const add = (path: string, isRead = false) => {
    if (files.has(path)) return;
    const bytes = reader.read(path);
    if (bytes === null) return;
    const why = whyNotSent(path, isRead, rules);
    if (why !== null) {
      reader.leaveOut(path, why);
      return;
    }
    files.set(path, bytes);
    if (isTypst(path)) queue.push(path);
  };
  add(PACKAGE_MANIFEST, true);
  add(posix.normalize(about.entrypoint).replace(/^\//, ""));
  const literals = new Set<string>();
  let mayReadOthers = false;
  const follow = () => {
    for (let path = queue.shift(); path !== undefined; path = queue.shift()) {
      const template = parseTemplate(files.get(path)?.toString("utf8") ?? "");
      const reads = readPaths(template);
      for (const literal of readsOf(template).strings) {
        literals.add(literal);
        const target = keyOf(literal, path);
        if (target !== null) add(target, reads.has(literal));
      }
      mayReadOthers ||= readsOf(template).handsOnFunctions || computingFunctions(template).length > 0;
    }
  };
  follow();
  if (!mayReadOthers) return { files, leftOut: reader.leftOut };
  const readable: string[] = [];
  for (const path of keepUnexcluded(reader.listReadable(), about.exclude)) {
    if (isOf(ofTemplate?.path, path) || path === ofTemplate?.thumbnail?.replace(/^\.?\//, "")) continue;
    if (!isSecret(path) && isVisible(path, rules.ignored)) readable.push(path);
  }
  const named = readable.length > MAX_UNNAMED_FILES ? findNames() : null;
  for (let sizeBefore = -1; files.size > sizeBefore; ) {
    sizeBefore = files.size;
    for (const literal of literals) named?.addLiteral(literal);
    for (const path of readable) if (named === null || named.has(path)) add(path);
    follow();
  }
  const unnamed = readable.filter((path) => !files.has(path)).length;
  if (named !== null && unnamed > 0) {
    reader.leftOut.push(`${unnamed} files are not sent: it computes paths, and nothing names these.`);
  }
  return { files, leftOut: reader.leftOut };
}

function keepUnexcluded(paths: readonly string[], exclude: readonly string[]): readonly string[] {
  const kept = runWithinSeconds(MAX_SECONDS_FOR_RULES, () =>
    createRules()
      .add([...exclude])
      .filter(paths),
  );
  return kept === OUT_OF_TIME ? paths : kept;
}

function isOf(folder: string | undefined, path: string): boolean {
  const clean = folder === undefined ? "" : posix.normalize(folder).replace(/^\.?\/|\/$/g, "");
  return clean !== "" && path.startsWith(`${clean}/`);
}

/** Reads only files that are in the folder themselves, whatever links there are. */
class PackageReader {
  readonly leftOut: string[] = [];
  readonly #root: string;

  constructor(folder: string) {
    this.#root = realPath(folder) ?? folder;
  }

  /** Null for what is no file, such as a text that is no path. */
  read(path: string): Buffer | null {
    const place = join(this.#root, path);
    const found = statOf(place);
    const real = found?.isFile() ? realPath(place) : null;
    if (found === null || real === null) return isBarred(place) ? this.leaveOut(path, "cannot be read") : null;
    if (!isBelow(this.#root, real)) {
      return this.leaveOut(path, "leads out of the package. Copy the file there instead");
    }
    if (found.size > MAX_FILE_BYTES) return this.leaveOut(path, "is larger than any service accepts");
    try {
      return readBytes(place);
    } catch {
      return this.leaveOut(path, "cannot be read");
    }
  }

  /** What Typst can read below the folder, links excepted. */
  listReadable(): readonly string[] {
    return walk(this.#root, {
      maxEntries: MAX_ENTRIES,
      isWanted: (path, isFolder) => !isNotForDocuments(path) && (isFolder || isReadableByTypst(path)),
      onUnreadable: (folder) => this.leaveOut(relative(this.#root, folder), "cannot be read"),
    }).files;
  }

  leaveOut(path: string, why: string): null {
    const sentence = `${path} is not sent: it ${why}.`;
    if (!this.leftOut.includes(sentence)) this.leftOut.push(sentence);
    return null;
  }
}

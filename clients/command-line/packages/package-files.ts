/**
 * Which files of a package's folder are sent: its manifest, its entry point, the files that these name, and so on. If one
 * of them computes a path, also everything that Typst can read, except what is not for documents.
 */
import { type Dirent, readdirSync, readFileSync, realpathSync, statSync } from "node:fs";
import { join, posix } from "node:path";
import createRules from "ignore";
import { parse as parseToml } from "smol-toml";
import * as v from "valibot";
import { isNotForDocuments, isReadableByTypst, PACKAGE_MANIFEST } from "../../typescript/package-parts.ts";
import { removeComments } from "../../typescript/template-text/typst-text.ts";
import { isBelow } from "../project/folder.ts";
import { readLiterals, stringLiterals } from "../project/literals.ts";
import { isTypst, keyOf } from "../project/reads.ts";
import { OUT_OF_TIME, runWithinSeconds } from "../project/time-limit.ts";
import { isSecret, isVisible, type SendingRules, whyNotSent } from "../project/unexpected-files.ts";

/** Far above what a package has, and any limit that a deployment can have for a file. */
const MAX_ENTRIES = 20_000;
const MAX_FILE_BYTES = 64 * 1024 ** 2;
/** Rules may come from anybody, and one with many stars can take for ever. */
const MAX_SECONDS_FOR_RULES = 2;

export interface PackageFiles {
  /** By their paths in the package, with `/`. */
  readonly files: ReadonlyMap<string, Buffer>;
  /** What is left out although a source names it, one sentence each, without the name of the package. */
  readonly leftOut: readonly string[];
}

/** The manifest, `typst.toml`, as far as it decides which files are sent. It may be anybody's. */
const manifest = v.object({
  package: v.object({
    name: v.string(),
    version: v.string(),
    entrypoint: v.string(),
    /** In the syntax of `.gitignore`: what the author leaves out of the published package. */
    exclude: v.optional(v.array(v.string()), []),
  }),
  template: v.optional(v.object({ path: v.optional(v.string()), thumbnail: v.optional(v.string()) }), {}),
});

export type PackageManifest = v.InferOutput<typeof manifest>;

/** Null if the folder is no package that Typst could use. */
export function readPackageManifest(folder: string): PackageManifest | null {
  const bytes = new PackageReader(folder).read(PACKAGE_MANIFEST);
  try {
    return bytes && v.parse(manifest, parseToml(new TextDecoder("utf-8", { fatal: true }).decode(bytes)));
  } catch {
    return null;
  }
}

/** @param rules of the folder */
export async function readPackageFiles(
  folder: string,
  { package: about, template }: PackageManifest,
  rules: SendingRules,
): Promise<PackageFiles> {
  const reader = new PackageReader(folder);
  const files = new Map<string, Buffer>();
  const queue: string[] = [];
  const add = async (path: string, isRead = false) => {
    if (files.has(path)) return;
    const bytes = reader.read(path);
    if (bytes === null) return;
    const why = await whyNotSent(path, isRead, rules);
    if (why !== null) {
      reader.leaveOut(path, why);
      return;
    }
    files.set(path, bytes);
    if (isTypst(path)) queue.push(path);
  };
  await add(PACKAGE_MANIFEST, true);
  await add(posix.normalize(about.entrypoint).replace(/^\//, ""));
  let others: readonly string[] | null = null;
  for (let path = queue.shift(); path !== undefined; path = queue.shift()) {
    const text = removeComments(files.get(path)?.toString("utf8") ?? "");
    const reads = readLiterals(text);
    for (const literal of stringLiterals(text)) {
      const target = keyOf(literal, path);
      if (target !== null) await add(target, reads.has(literal));
    }
    if (others !== null || !READS_COMPUTED_PATH.test(text)) continue;
    others = keepUnexcluded(reader.listReadable(), about.exclude).filter(
      (other) => !isOf(template.path, other) && other !== template.thumbnail?.replace(/^\.?\//, ""),
    );
    for (const other of others) {
      if (!isSecret(other) && (await isVisible(other, rules.ignored))) await add(other);
    }
  }
  return { files, leftOut: reader.leftOut };
}

/**
 * A function that reads a file, called with something else than a path in quotation marks, or bytes, or under another name. `cbor` decodes what
 * plugins return.
 */
const READS_COMPUTED_PATH =
  /(?<![\w.-]|\b(?:let|set)\s)(?:image|read|json|csv|toml|yaml|xml|bibliography|plugin)\s*\((?!\s*(?:\)|bytes\b|"(?:[^"\\\n]|\\.)*"\s*[,)]))|\b(?:import|include)\s+(?:"[^"\n]*"|[\w.]+)\s*\+|[=(,:][ \t]*(?:image|read|json|csv|toml|yaml|xml|bibliography|plugin)[ \t]*[\n,;)]/;

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
    this.#root = realpathSync(folder);
  }

  read(path: string): Buffer | null {
    try {
      const place = join(this.#root, path);
      const found = statSync(place, { throwIfNoEntry: false });
      if (!found?.isFile()) return null;
      if (!isBelow(this.#root, realpathSync(place))) {
        return this.leaveOut(path, "leads out of the package. Copy the file there instead");
      }
      if (found.size > MAX_FILE_BYTES) return this.leaveOut(path, "is larger than any service accepts");
      return readFileSync(place);
    } catch (error) {
      // A literal that is no path, such as one with a zero byte or of too many characters, names no file.
      const isUnreadable = error instanceof Error && "code" in error && error.code === "EACCES";
      return isUnreadable ? this.leaveOut(path, "cannot be read") : null;
    }
  }

  /** What Typst can read below the folder, links excepted. */
  listReadable(): string[] {
    const found: string[] = [];
    const folders = [""];
    let seen = 0;
    for (let folder = folders.shift(); folder !== undefined && seen < MAX_ENTRIES; folder = folders.shift()) {
      for (const entry of this.#list(folder)) {
        if (++seen > MAX_ENTRIES) break;
        const path = posix.join(folder, entry.name);
        if (isNotForDocuments(path)) continue;
        if (entry.isDirectory()) folders.push(path);
        else if (entry.isFile() && isReadableByTypst(path)) found.push(path);
      }
    }
    return found;
  }

  #list(folder: string): Dirent[] {
    try {
      return readdirSync(join(this.#root, folder), { withFileTypes: true });
    } catch {
      this.leaveOut(folder, "cannot be read");
      return [];
    }
  }

  leaveOut(path: string, why: string): null {
    const sentence = `${path} is not sent: it ${why}.`;
    if (!this.leftOut.includes(sentence)) this.leftOut.push(sentence);
    return null;
  }
}

/**
 * Remembers the files that `render` and `check` wrote, so that documents in a project's folder are never sent to the
 * service as inputs. Both place and content are recorded: a document is recognised after its folder has been moved, and
 * a file that the user put in its place is not taken for it.
 */
import { createHash } from "node:crypto";
import { mkdir, open, readFile, realpath } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import { cacheFolder } from "../../typst/cache-folder.mjs";

export interface WrittenFile {
  /** Absolute, without links in its folder; or `UNKNOWN_PLACE`. */
  readonly path: string;
  readonly bytes: number;
  readonly sha256: string;
}

/** The place of a document that went to standard output. */
export const UNKNOWN_PLACE = "";

/** One line for each file. Beyond `MAX_BYTES`, the older half is dropped. */
const FILE_NAME = "written-files.jsonl";
const MAX_BYTES = 32 * 1024 ** 2;

/** Remembers a file. If the cache cannot be written, the file is merely not recognised later. */
export async function rememberWritten(file: WrittenFile): Promise<void> {
  const path = join(cacheFolder(), FILE_NAME);
  try {
    await mkdir(dirname(path), { recursive: true });
    const handle = await open(path, "a+", 0o600);
    try {
      await handle.appendFile(`${JSON.stringify(file)}\n`);
      if ((await handle.stat()).size > MAX_BYTES) {
        const text = await readFile(path, "utf8");
        const middle = text.indexOf("\n", text.length / 2) + 1;
        await handle.truncate(0);
        await handle.appendFile(text.slice(middle));
      }
    } finally {
      await handle.close();
    }
  } catch {}
}

/** The place of a file as recorded: absolute, without links in its folder. */
export async function placeOf(file: string): Promise<string> {
  const folder = dirname(resolve(file));
  return join(await realpath(folder).catch(() => folder), basename(file));
}

function digestOf(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}

export class WrittenFiles {
  readonly #placeOfDigest = new Map<string, string>();
  readonly #places = new Set<string>();
  readonly #namesWithSize = new Set<string>();

  static async load(): Promise<WrittenFiles> {
    const text = await readFile(join(cacheFolder(), FILE_NAME), "utf8").catch(() => "");
    return new WrittenFiles(text.split("\n").flatMap((line) => asWrittenFile(line) ?? []));
  }

  constructor(files: readonly WrittenFile[]) {
    for (const { path, bytes, sha256 } of files) {
      this.#placeOfDigest.set(sha256, path);
      this.#places.add(path);
      this.#namesWithSize.add(nameWithSize(path, bytes));
    }
  }

  /**
   * Whether a file of this name and size has been written, here or in the folder's earlier place: most likely it is
   * this one.
   */
  isLikely(place: string, bytes: number): boolean {
    return this.#namesWithSize.has(nameWithSize(place, bytes));
  }

  /**
   * `own`: unchanged where it was written; `moved`: the same content elsewhere; `replaced`: other content there; null:
   * unknown.
   */
  whatIs(place: string, bytes: Uint8Array): "own" | "moved" | "replaced" | null {
    const writtenTo = this.#placeOfDigest.get(digestOf(bytes));
    if (writtenTo !== undefined) return writtenTo === place || this.#places.has(place) ? "own" : "moved";
    return this.#places.has(place) ? "replaced" : null;
  }
}

function nameWithSize(path: string, bytes: number): string {
  return `${bytes} ${basename(path)}`;
}

function asWrittenFile(line: string): WrittenFile | null {
  try {
    const value: unknown = JSON.parse(line);
    return isWrittenFile(value) ? value : null;
  } catch {
    return null;
  }
}

function isWrittenFile(value: unknown): value is WrittenFile {
  return (
    typeof value === "object" &&
    value !== null &&
    "path" in value &&
    typeof value.path === "string" &&
    "bytes" in value &&
    typeof value.bytes === "number" &&
    "sha256" in value &&
    typeof value.sha256 === "string"
  );
}

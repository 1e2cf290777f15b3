/** Remembers by their content what the commands wrote, so that a project's folder never sends it as inputs. */
import { createHash } from "node:crypto";
import { appendFile, mkdir, readFile, stat, truncate } from "node:fs/promises";
import { dirname, join } from "node:path";
import { cacheFolder } from "../../typst/cache-folder.mjs";

export interface WrittenFile {
  readonly bytes: number;
  readonly sha256: string;
}

/** One line for each file. Beyond `MAX_BYTES`, the older half is dropped. */
const FILE_NAME = "written-files.jsonl";
const MAX_BYTES = 32 * 1024 ** 2;
const LINE = /"bytes":(\d+),"sha256":"([0-9a-f]{64})"/g;

/** Without a writable cache, the file is not recognised later. */
export async function rememberWritten({ bytes, sha256 }: WrittenFile): Promise<void> {
  const path = join(cacheFolder(), FILE_NAME);
  try {
    await mkdir(dirname(path), { recursive: true });
    await appendFile(path, `${JSON.stringify({ bytes, sha256 })}\n`, { mode: 0o600 });
    if ((await stat(path)).size <= MAX_BYTES) return;
    const text = await readFile(path, "utf8");
    await truncate(path);
    await appendFile(path, text.slice(text.indexOf("\n", text.length / 2) + 1));
  } catch {}
}

export class WrittenFiles {
  readonly #sizes = new Set<number>();
  readonly #digests = new Set<string>();

  static async load(): Promise<WrittenFiles> {
    return new WrittenFiles(await readFile(join(cacheFolder(), FILE_NAME), "utf8").catch(() => ""));
  }

  private constructor(text: string) {
    for (const [, size = "", digest = ""] of text.matchAll(LINE)) {
      this.#sizes.add(Number(size));
      this.#digests.add(digest);
    }
  }

  /** Whether a file of this size was written: its content tells whether it is the same. */
  mayHave(size: number): boolean {
    return this.#sizes.has(size);
  }

  has(bytes: Uint8Array): boolean {
    return this.mayHave(bytes.length) && this.#digests.has(createHash("sha256").update(bytes).digest("hex"));
  }
}

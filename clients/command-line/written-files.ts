/** Remembers by their content what the commands wrote, so that a project's folder never sends it as inputs. */
import { createHash } from "node:crypto";
import { mkdir, open, readFile } from "node:fs/promises";
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

/** If the cache cannot be written, the file is merely not recognised later. */
export async function rememberWritten({ bytes, sha256 }: WrittenFile): Promise<void> {
  const path = join(cacheFolder(), FILE_NAME);
  try {
    await mkdir(dirname(path), { recursive: true });
    const handle = await open(path, "a+", 0o600);
    try {
      await handle.appendFile(`${JSON.stringify({ bytes, sha256 })}\n`);
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

  /** Whether a file of this size has been written: then it is read before its size counts. */
  mayHave(size: number): boolean {
    return this.#sizes.has(size);
  }

  has(bytes: Uint8Array): boolean {
    return this.mayHave(bytes.length) && this.#digests.has(createHash("sha256").update(bytes).digest("hex"));
  }
}

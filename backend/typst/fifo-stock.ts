/**
 * FIFOs for render directories. Node cannot create one, and starting mkfifo(1) for each would cost a render a
 * millisecond, so they are made many at a time and moved to where they are needed. None is used twice.
 */
import { randomBytes } from "node:crypto";
import { mkdir, rename } from "node:fs/promises";
import { join } from "node:path";
import type { BackendSettings } from "../settings.ts";
import type { Spawner } from "../spawner/spawner.ts";
import { workDirectoryPath } from "../work-directory/paths.ts";
import type { FifoSource } from "../work-directory/render-directory.ts";

const FIFOS_PER_BATCH = 64;
/** When so few are left, the next ones are made. */
const LOW_STOCK = 16;
/** After a failure: a full disk or a missing program is not asked again for every render. */
const RETRY_MILLISECONDS = 10_000;
/** Names cannot be guessed: a template that knew the name could read its own source, which it cannot do otherwise. */
const NAME_BYTES = 16;

export class FifoStock implements FifoSource {
  readonly #directory: string;
  readonly #mkfifoPath: string;
  readonly #spawner: Spawner;
  #names: string[] = [];
  #filling: Promise<void> | null = null;
  #nextFill = 0;

  constructor({ workDirectory, mkfifoPath }: Pick<BackendSettings, "workDirectory" | "mkfifoPath">, spawner: Spawner) {
    this.#directory = workDirectoryPath(workDirectory, "fifos");
    this.#mkfifoPath = mkfifoPath;
    this.#spawner = spawner;
  }

  /**
   * Moves a FIFO into a directory. Its name begins with a colon, which no key of a request's file can hold.
   *
   * @returns its name; null if none can be had. Never rejects.
   */
  async moveInto(directory: string): Promise<string | null> {
    if (this.#names.length <= LOW_STOCK) this.#fillLater();
    if (this.#names.length === 0) await this.#filling;
    const name = this.#names.pop();
    if (name === undefined) return null;
    try {
      const newName = `:${name}`;
      await rename(join(this.#directory, name), join(directory, newName));
      return newName;
    } catch {
      // Somebody has tidied up here: the others will be gone, too.
      this.#names = [];
      return null;
    }
  }

  #fillLater(): void {
    if (this.#filling !== null || this.#spawner.isClosed || performance.now() < this.#nextFill) return;
    this.#filling = this.#fill()
      .catch(() => false)
      .then((isFilled) => {
        if (!isFilled) this.#nextFill = performance.now() + RETRY_MILLISECONDS;
        this.#filling = null;
      });
  }

  /** @returns whether there are new ones. */
  async #fill(): Promise<boolean> {
    await mkdir(this.#directory, { recursive: true, mode: 0o700 });
    const names = Array.from({ length: FIFOS_PER_BATCH }, () => randomBytes(NAME_BYTES).toString("hex"));
    const program = this.#spawner.start({
      file: this.#mkfifoPath,
      arguments: ["-m", "600", ...names],
      environment: {},
      workingDirectory: this.#directory,
      extraDescriptors: [],
    });
    void program.stream.then((stream) => stream?.resume());
    const end = await program.end;
    if (end.kind !== "exited" || end.exitCode !== 0) return false;
    this.#names.push(...names);
    return true;
  }
}

/** FIFOs for render directories, made in batches, because each start of mkfifo(1) costs. No name is used twice. */
import { randomBytes } from "node:crypto";
import { existsSync, renameSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import type { Launcher } from "../launcher/launcher.ts";
import type { BackendSettings } from "../settings.ts";
import { workDirectoryPath } from "../work-directory/paths.ts";
import type { FifoSource } from "../work-directory/render-directory.ts";

/** Few, because each is used again. On ext4 one takes 0.3 ms. */
const FIFOS_PER_BATCH = 16;
const LOW_STOCK = 4;
/** Renders wait for it, and nothing else would end it. */
const FILL_TIMEOUT_MILLISECONDS = 5000;
/** With a full disk or a missing program, not every render should try again. */
const RETRY_MILLISECONDS = 10_000;
/** A template that knew the name could read its own source, which it cannot do otherwise. */
const NAME_BYTES = 16;

export class FifoStock implements FifoSource {
  readonly #directory: string;
  readonly #mkfifoPath: string;
  readonly #launcher: Launcher;
  readonly #timeoutMilliseconds: number;
  #names: string[] = [];
  #filling: Promise<void> | null = null;
  #nextFill = 0;

  constructor(
    { workDirectory, mkfifoPath }: Pick<BackendSettings, "workDirectory" | "mkfifoPath">,
    launcher: Launcher,
    timeoutMilliseconds: number = FILL_TIMEOUT_MILLISECONDS,
  ) {
    this.#directory = workDirectoryPath(workDirectory, "fifos");
    this.#mkfifoPath = mkfifoPath;
    this.#launcher = launcher;
    this.#timeoutMilliseconds = timeoutMilliseconds;
  }

  /** @returns its name, which no key of a request can have; null if there is none. Never rejects. */
  async moveInto(directory: string): Promise<string | null> {
    if (this.#names.length <= LOW_STOCK) this.#fillLater();
    while (this.#names.length === 0 && this.#filling !== null) {
      await this.#filling;
      // Others that waited may have taken all of them.
      if (this.#names.length === 0) this.#fillLater();
    }
    const name = this.#names.pop();
    if (name === undefined) return null;
    const path = join(this.#directory, name);
    try {
      const newName = `:${name}`;
      renameSync(path, join(directory, newName));
      return newName;
    } catch {
      if (existsSync(path)) this.#names.push(name);
      // If this FIFO has been removed, the others probably have been as well.
      else this.#names = [];
      return null;
    }
  }

  /** The process that it served must be gone. @throws if it has been removed. */
  takeBack(path: string): void {
    const name = makeName();
    renameSync(path, join(this.#directory, name));
    this.#names.push(name);
  }

  #fillLater(): void {
    if (this.#filling !== null || this.#launcher.isClosed || performance.now() < this.#nextFill) return;
    this.#filling = this.#fill()
      .catch(() => false)
      .then((isFilled) => {
        if (!isFilled) this.#nextFill = performance.now() + RETRY_MILLISECONDS;
        this.#filling = null;
      });
  }

  async #fill(): Promise<boolean> {
    await mkdir(this.#directory, { recursive: true, mode: 0o700 });
    const names = Array.from({ length: FIFOS_PER_BATCH }, makeName);
    const program = this.#launcher.start({
      file: this.#mkfifoPath,
      arguments: ["-m", "600", ...names],
      environment: {},
      workingDirectory: this.#directory,
      inheritedFile: null,
      limitCommands: [],
    });
    void program.output.then((output) => output?.resume());
    let isLate = false;
    const timer = setTimeout(() => {
      isLate = true;
      program.kill();
    }, this.#timeoutMilliseconds);
    const end = await program.end;
    clearTimeout(timer);
    // mkfifo closes its output as its last act, and the launcher then kills what still runs: the FIFOs exist by then.
    const isMade = end.kind === "signalled" || (end.kind === "exited" && end.exitCode === 0);
    if (!isMade || isLate) return false;
    this.#names.push(...names);
    return true;
  }
}

function makeName(): string {
  return randomBytes(NAME_BYTES).toString("hex");
}

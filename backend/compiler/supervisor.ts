/** Starts Typst processes in the sandbox, each with its render directory, and discards them after one render. */
import { join } from "node:path";
import { setTimeout as delay, setImmediate as nextTurn } from "node:timers/promises";
import { isArchive } from "../../rules/output-options.ts";
import { type RenderCommand, renderArguments, type TypstPaths } from "../../typst/command-line.ts";
import { waitingText } from "../../typst/program-text.ts";
import { ServiceFailure } from "../error-log.ts";
import type { Launcher } from "../launcher/launcher.ts";
import { shellCommand } from "../launcher/program.ts";
import type { Sandbox, TypstCommand } from "../sandbox/sandbox.ts";
import type { BackendSettings } from "../settings.ts";
import { RenderDirectory } from "../work-directory/render-directory.ts";
import { TypstProcess } from "./process.ts";

/** A directory that cannot be removed is left after ten minutes. */
const MAX_REMOVE_TRIES = 600;
const REMOVE_RETRY_MILLISECONDS = 1000;

export class TypstSupervisor {
  readonly #settings: BackendSettings;
  readonly #sandbox: Sandbox;
  readonly #launcher: Launcher;
  /** Empty directories for the next renders: about as many as there have ever been renders at once. */
  readonly #directories: RenderDirectory[] = [];
  readonly #discarding = new Set<Promise<void>>();
  #isClosed = false;

  constructor(settings: BackendSettings, sandbox: Sandbox, launcher: Launcher) {
    this.#settings = settings;
    this.#sandbox = sandbox;
    this.#launcher = launcher;
  }

  /** @param when "ahead" if there is no request yet: the process finds its fonts, then waits */
  async start(command: RenderCommand, when: "now" | "ahead" = "now", threads = 1): Promise<TypstProcess> {
    if (this.#launcher.isClosed) throw new ServiceFailure("the backend is ending");
    const makesFiles = isArchive(command.output);
    let kept = makesFiles ? undefined : this.#directories.pop();
    while (kept !== undefined && !kept.reuse()) kept = this.#directories.pop();
    const directory = kept ?? (await RenderDirectory.create(this.#settings.workDirectory, makesFiles));
    const argumentsOf = (paths: TypstPaths) => renderArguments(this.#settings, paths, command, { threads });
    // The request's own fonts are not there yet, so a process that needs them cannot find its fonts ahead.
    const fifoName = when === "now" || command.fontCount > 0 ? null : directory.nameFifo();
    return this.startIn(directory, argumentsOf, fifoName, threads);
  }

  /** Never throws: the process reports a failure. */
  startIn(
    directory: RenderDirectory,
    argumentsOf: (paths: TypstPaths) => readonly string[],
    fifoName: string | null = null,
    threads = 1,
  ): TypstProcess {
    const typstArguments = argumentsOf(this.#sandbox.view(directory));
    const command = this.#sandbox.programCommand(directory, typstArguments, { threads });
    return new TypstProcess({
      launcher: this.#launcher,
      sandbox: this.#sandbox,
      command: fifoName === null ? command : this.#withFifo(command, fifoName),
      ...{ directory, threads },
      textFifo: fifoName === null ? null : { path: join(directory.root, fifoName), mainText: waitingText(fifoName) },
      ...(threads > 1 && { maxThreadSeconds: this.#settings.renderCpuSeconds }),
    });
  }

  /**
   * Node cannot make a FIFO. Without it, as on a full disk, Typst ends at once: the shell is free again, and a request starts
   * another process. It is made before the limits hold: under that on processes, a busy user's shell could start no mkfifo.
   */
  #withFifo(command: TypstCommand, fifoName: string): TypstCommand {
    const makeFifo = `{ ${shellCommand(this.#settings.mkfifoPath, "-m", "600", fifoName)} || :; } 2>/dev/null`;
    return { ...command, setUpCommands: [makeFifo, ...command.setUpCommands] };
  }

  /** Never rejects. */
  discard(process: TypstProcess): Promise<void> {
    const { directory } = process;
    const work = async () => {
      // The answer goes first: clearing the directory of an invoice takes half a millisecond.
      await nextTurn();
      if (!process.hasEnded) await process.discard();
      const isKept = !this.#isClosed && (await directory.keep());
      if (isKept && !this.#isClosed) this.#directories.push(directory);
      else await this.#remove(directory);
    };
    const discarding = work().finally(() => this.#discarding.delete(discarding));
    this.#discarding.add(discarding);
    return discarding;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await Promise.all([...this.#discarding, ...this.#directories.splice(0).map((kept) => this.#remove(kept))]);
  }

  /** Without descriptors, or on a read-only disk, it fails for a while. The next start removes what is left. */
  async #remove(directory: RenderDirectory): Promise<void> {
    for (let tries = 0; tries < MAX_REMOVE_TRIES; tries++) {
      try {
        return await directory.remove();
      } catch {
        if (this.#isClosed) return;
      }
      await delay(REMOVE_RETRY_MILLISECONDS);
    }
  }
}

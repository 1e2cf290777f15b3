/**
 * Starting Typst in its sandbox: the first and the last step in the life of every Typst process.
 *
 * `start` and `startAhead` create a render directory and start the process that will read it. The process waits for its
 * program text: `TypstProcess.perform` feeds it and waits for its end. `discard` ends what still runs and removes the directory. No
 * process serves two renders.
 */

import { join } from "node:path";
import { ServiceFailure } from "../error-log.ts";
import type { Sandbox } from "../sandbox/sandbox.ts";
import type { BackendSettings } from "../settings.ts";
import type { Spawner } from "../spawner/spawner.ts";
import { RenderDirectory } from "../work-directory/render-directory.ts";
import { isArchive, type RenderCommand, renderArguments } from "./command-line.ts";
import { FifoStock } from "./fifo-stock.ts";
import { type TextInput, TypstProcess } from "./process.ts";
import { waitingText } from "./program-text.ts";

/** A process that waits for its program text, and the directory that it will read. */
export interface StartedRender {
  readonly renderDirectory: RenderDirectory;
  readonly process: TypstProcess;
}

export class RenderStarter {
  readonly #settings: BackendSettings;
  readonly #sandbox: Sandbox;
  readonly #spawner: Spawner;
  readonly #fifoStock: FifoStock;
  readonly #discarding = new Set<Promise<void>>();

  constructor(settings: BackendSettings, sandbox: Sandbox, spawner: Spawner) {
    this.#settings = settings;
    this.#sandbox = sandbox;
    this.#spawner = spawner;
    this.#fifoStock = new FifoStock(settings, spawner);
  }

  /**
   * Creates a render directory and starts the process that renders `command` in it.
   *
   * @throws where the machine fails, and where the backend is about to end.
   */
  start(command: RenderCommand): Promise<StartedRender> {
    return this.#start(command, async () => ({ kind: "standard-input" }));
  }

  /**
   * As `start`, for a request that is still to come: the process waits with its fonts found and loaded.
   *
   * @throws where the machine fails, and where the backend is about to end.
   */
  startAhead(command: RenderCommand): Promise<StartedRender> {
    return this.#start(command, async (renderDirectory) => {
      // The fonts of a request come with it, so they cannot be found before.
      const fifoName = command.bringsFonts ? null : await renderDirectory.addFifo(this.#fifoStock);
      if (fifoName === null) return { kind: "standard-input" };
      return { kind: "fifo", path: join(renderDirectory.root, fifoName), mainText: waitingText(fifoName) };
    });
  }

  async #start(
    command: RenderCommand,
    prepareInput: (renderDirectory: RenderDirectory) => Promise<TextInput>,
  ): Promise<StartedRender> {
    if (this.#spawner.isClosed) throw new ServiceFailure("the backend is ending");
    const renderDirectory = await RenderDirectory.create(this.#settings.workDirectory, isArchive(command.output));
    try {
      const typstArguments = renderArguments(this.#settings, this.#sandbox.view(renderDirectory), command);
      const textInput = await prepareInput(renderDirectory);
      return { renderDirectory, process: this.startIn(renderDirectory, typstArguments, textInput) };
    } catch (error) {
      await renderDirectory.remove();
      throw error;
    }
  }

  /** Starts Typst with any arguments in a render directory that exists. Never throws: the process reports a failure. */
  startIn(renderDirectory: RenderDirectory, typstArguments: readonly string[], textInput?: TextInput): TypstProcess {
    const spawnCommand = this.#sandbox.spawnCommand(renderDirectory, typstArguments);
    const { max_output_bytes } = this.#settings.limits;
    return new TypstProcess(this.#spawner, this.#sandbox, spawnCommand, max_output_bytes, textInput);
  }

  /** Ends a process, if it has not ended, and removes its render directory. Never rejects. */
  discard(started: StartedRender): Promise<void> {
    const discarding = discard(started).finally(() => this.#discarding.delete(discarding));
    this.#discarding.add(discarding);
    return discarding;
  }

  /** Waits until everything that has been discarded so far is gone. */
  async close(): Promise<void> {
    await Promise.all(this.#discarding);
  }
}

async function discard({ process, renderDirectory }: StartedRender): Promise<void> {
  if (!process.hasEnded) await process.discard();
  // Its render is over, so nobody can be told. What cannot be removed now is removed when the backend starts again.
  await renderDirectory.remove().catch(() => {});
}

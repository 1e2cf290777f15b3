/**
 * Starting Typst in its sandbox: the first and the last step in the life of every Typst process.
 *
 * `start` creates a render directory and starts the process that will read it. The process waits for its program text:
 * `TypstProcess.perform` feeds it and waits for its end. `discard` ends what still runs and removes the directory. No
 * process serves two renders.
 */

import { ServiceFailure } from "../error-log.ts";
import type { Sandbox } from "../sandbox/sandbox.ts";
import type { BackendSettings } from "../settings.ts";
import type { Spawner } from "../spawner/spawner.ts";
import { RenderDirectory } from "../work-directory/render-directory.ts";
import { isArchive, type RenderCommand, renderArguments } from "./command-line.ts";
import { TypstProcess } from "./process.ts";

/** A process that waits for its program text, and the directory that it will read. */
export interface StartedRender {
  readonly renderDirectory: RenderDirectory;
  readonly process: TypstProcess;
}

export class RenderStarter {
  readonly #settings: BackendSettings;
  readonly #sandbox: Sandbox;
  readonly #spawner: Spawner;
  readonly #discarding = new Set<Promise<void>>();

  constructor(settings: BackendSettings, sandbox: Sandbox, spawner: Spawner) {
    this.#settings = settings;
    this.#sandbox = sandbox;
    this.#spawner = spawner;
  }

  /**
   * Creates a render directory and starts the process that renders `command` in it.
   *
   * @throws where the machine fails, and where the backend is about to end.
   */
  async start(command: RenderCommand): Promise<StartedRender> {
    if (this.#spawner.isClosed) throw new ServiceFailure("the backend is ending");
    const renderDirectory = await RenderDirectory.create(this.#settings.workDirectory, isArchive(command.output));
    try {
      const typstArguments = renderArguments(this.#settings, this.#sandbox.view(renderDirectory), command);
      return { renderDirectory, process: this.startIn(renderDirectory, typstArguments) };
    } catch (error) {
      await renderDirectory.remove();
      throw error;
    }
  }

  /** Starts Typst with any arguments in a render directory that exists. Never throws: the process reports a failure. */
  startIn(renderDirectory: RenderDirectory, typstArguments: readonly string[]): TypstProcess {
    const spawnCommand = this.#sandbox.spawnCommand(renderDirectory, typstArguments);
    return new TypstProcess(this.#spawner, this.#sandbox, spawnCommand, this.#settings.limits.max_output_bytes);
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

/**
 * Starting Typst in its sandbox: for a request that is there, or ahead of the next one like it.
 *
 * The sandbox and the start of the process take longer than many a compile, and nothing of them needs the request but
 * the command line. So after a render, a process with the same command line is started and waits: the next request of
 * the kind finds it ready. No process ever serves two requests.
 */

import { join } from "node:path";
import { ServiceFailure } from "../error-log.ts";
import type { Sandbox } from "../sandbox/sandbox.ts";
import type { BackendSettings } from "../settings.ts";
import type { Spawner } from "../spawner/spawner.ts";
import { FifoStock } from "../work-directory/fifo-stock.ts";
import { RenderDirectory } from "../work-directory/render-directory.ts";
import { isArchive, type RenderCommand, renderArguments } from "./command-line.ts";
import { type TextInput, TypstProcess } from "./process.ts";
import { waitingText } from "./program-text.ts";

/** A process that waits for its program text, with the project that it will read. */
export interface StartedRender {
  /** Whether it was started ahead of its request. */
  readonly isWarm: boolean;
  /** How often the sandbox had been made anew when it was started. */
  readonly repairsBefore: number;
  readonly renderDirectory: RenderDirectory;
  readonly process: TypstProcess;
}

export class TypstStarter {
  readonly #settings: BackendSettings;
  readonly #sandbox: Sandbox;
  readonly #spawner: Spawner;
  readonly #fifoStock: FifoStock;
  /** Processes that wait, by command line; the oldest first. */
  readonly #waiting: { readonly key: string; readonly started: Promise<StartedRender> }[] = [];
  readonly #discarding = new Set<Promise<void>>();
  #repairing: Promise<void> | null = null;
  #repairs = 0;
  #isClosed = false;
  #warmTakes = 0;

  constructor(settings: BackendSettings, sandbox: Sandbox, spawner: Spawner) {
    this.#settings = settings;
    this.#sandbox = sandbox;
    this.#spawner = spawner;
    this.#fifoStock = new FifoStock(settings, spawner);
  }

  /** Processes that wait for a request now. */
  get waiting(): number {
    return this.#waiting.length;
  }

  /** Requests that found a process waiting, so far. */
  get warmTakes(): number {
    return this.#warmTakes;
  }

  /**
   * A started process for `command`: one that waits for such a request, or a new one.
   *
   * @throws where the machine fails.
   */
  async take(command: RenderCommand): Promise<StartedRender> {
    const key = commandKey(command);
    for (;;) {
      const index = this.#waiting.findIndex((candidate) => candidate.key === key);
      const [found] = index < 0 ? [] : this.#waiting.splice(index, 1);
      if (found === undefined) return this.start(command);
      const started = await found.started.catch(() => null);
      if (started === null) continue;
      if (!started.process.hasEnded) {
        this.#warmTakes++;
        return { ...started, isWarm: true };
      }
      // Something has ended it while it waited.
      void this.discardLater(started);
    }
  }

  /** Starts a process for the next request with such a command, in the place of the one that has waited longest. */
  prepareNext(command: RenderCommand): void {
    if (this.#isClosed || this.#settings.warmRenders === 0) return;
    const started = this.#startAhead(command);
    // Nobody may be there to hear of a failure: whoever takes it finds out.
    started.catch(() => {});
    this.#waiting.push({ key: commandKey(command), started });
    this.#discardWaiting(this.#waiting.length - this.#settings.warmRenders);
  }

  /** Ends a process, if it has not ended, and removes its project: soon, and before `close` is over. Never rejects. */
  discardLater(started: StartedRender | Promise<StartedRender>): Promise<void> {
    const discarding = discard(started).finally(() => this.#discarding.delete(discarding));
    this.#discarding.add(discarding);
    return discarding;
  }

  /** Ends so many of the processes that wait, the oldest first. */
  #discardWaiting(count: number): void {
    for (const { started } of this.#waiting.splice(0, Math.max(0, count))) void this.discardLater(started);
  }

  /** Starts Typst by any command, in a project that is there. */
  startIn(renderDirectory: RenderDirectory, typstArguments: readonly string[], textInput?: TextInput): TypstProcess {
    const spawnCommand = this.#sandbox.spawnCommand(renderDirectory, typstArguments);
    const process = new TypstProcess(this.#spawner, spawnCommand, this.#settings.limits.max_output_bytes, textInput);
    void process.end.then((end) => {
      if (end.kind === "not-started") this.#repair();
    });
    return process;
  }

  /**
   * Makes anew what the work directory must hold for processes to start, where somebody has tidied up there: the next
   * request finds it. Where nothing can be done, it finds what this one has found.
   */
  #repair(): void {
    if (this.#isClosed || this.#spawner.isClosed) return;
    // What waits was started before, and may have lost what is made anew.
    this.#discardWaiting(this.#waiting.length);
    this.#repairs++;
    this.#repairing ??= Promise.all([this.#spawner.repair(), this.#sandbox.prepare()])
      .catch(() => {})
      .then(() => {
        this.#repairing = null;
      });
  }

  /**
   * Whether a process that has waited still saw all that it should have seen. A sandbox that is whole again is none for
   * who was started before: what was made anew is not in its place there.
   */
  hasSeenWholeSandbox({ repairsBefore }: StartedRender): boolean {
    return repairsBefore === this.#repairs && this.#sandbox.isWhole();
  }

  /** How the sandbox shows a project to Typst. */
  view(renderDirectory: RenderDirectory) {
    return this.#sandbox.view(renderDirectory);
  }

  /** Ends all processes that wait, and waits until everything is removed. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#discardWaiting(this.#waiting.length);
    await Promise.all([...this.#discarding, this.#repairing]);
  }

  /**
   * A new process for `command`.
   *
   * @throws where the machine fails, and where the backend is about to end.
   */
  start(command: RenderCommand): Promise<StartedRender> {
    return this.#start(command, async () => ({ kind: "standard-input" }));
  }

  /** A new process for a request that is not there yet. */
  #startAhead(command: RenderCommand): Promise<StartedRender> {
    return this.#start(command, async (renderDirectory) => {
      // Fonts of the request are there with the request.
      const name = command.bringsFonts ? null : await renderDirectory.addFifo(this.#fifoStock);
      if (name === null) return { kind: "standard-input" };
      return { kind: "fifo", path: join(renderDirectory.root, name), mainText: waitingText(name) };
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
      const repairsBefore = this.#repairs;
      const textInput = await prepareInput(renderDirectory);
      const process = this.startIn(renderDirectory, typstArguments, textInput);
      return { isWarm: false, repairsBefore, renderDirectory, process };
    } catch (error) {
      await renderDirectory.remove();
      throw error;
    }
  }
}

/** Equal for commands that make the same command line: all but the file name counts. */
function commandKey({ output, bringsFonts }: RenderCommand): string {
  return JSON.stringify({ ...output, filename: null, bringsFonts });
}

async function discard(startedOrStarting: StartedRender | Promise<StartedRender>): Promise<void> {
  const started = await Promise.resolve(startedOrStarting).catch(() => null);
  // One that could not be started has removed what it had made.
  if (started === null) return;
  const { process, renderDirectory } = started;
  if (!process.hasEnded) await process.discard();
  // What cannot be removed now is removed at the next start; nobody is there to hear of it.
  await renderDirectory.remove().catch(() => {});
}

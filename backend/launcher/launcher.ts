/** Starts and ends programs in resident shells, each of which runs one at a time: docs/decisions/one-process-per-render.md#resident-shells-start-typst. */
import { mkdirSync } from "node:fs";
import { basename, join } from "node:path";
import type { Readable } from "node:stream";
import { setTimeout as delay, setImmediate as nextTurn } from "node:timers/promises";
import { describeError, ServiceFailure } from "../error-log.ts";
import type { BackendSettings } from "../settings.ts";
import { workDirectoryPath } from "../work-directory/paths.ts";
import type { ProgramCommand, ProgramEnd } from "./program.ts";
import { type ProgramRun, Shell, type ShellOptions } from "./shell.ts";

/** A shell that takes longer than this to report the end of its program, or to start, is stuck. */
const ANSWER_TIMEOUT_MILLISECONDS = 5000;
const START_TIMEOUT_MILLISECONDS = 20_000;
/** A process that ends closes its output before its input. If the input stays open longer, something is left. */
const INPUT_CLOSE_MILLISECONDS = 100;
const INPUT_POLL_MILLISECONDS = 1;

type LauncherSettings = Pick<BackendSettings, "workDirectory" | "mkfifoPath" | "maxConcurrentRenders" | "warmRenders">;

export interface LauncherOptions {
  readonly answerTimeoutMilliseconds?: number | undefined;
  readonly startTimeoutMilliseconds?: number;
  readonly shellPath?: string;
  /** The beginning of a command that runs each shell in an empty network; empty if it runs in that of the backend. */
  readonly emptyNetwork?: readonly string[];
}

/** None of its promises rejects. */
export interface LaunchedProgram {
  /** Ends when no process is left that could write to it. Null if the program could not be started. */
  readonly output: Promise<Readable | null>;
  /** The process below which the program runs; null if it could not be started. */
  readonly ancestorPid: Promise<number | null>;
  readonly end: Promise<ProgramEnd>;
  /** Writes the whole of its standard input and closes it. @returns whether all of it was written. */
  write(chunks: readonly Buffer[]): Promise<boolean>;
  kill(): void;
}

export class Launcher {
  readonly #shellOptions: Omit<ShellOptions, "fifoPath">;
  /** Whether its programs have no network, and share none with a program that runs at the same time. */
  readonly hasEmptyNetworks: boolean;
  readonly #maxIdleShells: number;
  readonly #shells = new Set<Shell>();
  readonly #idle: Shell[] = [];
  #shellsMade = 0;
  #isReplacing = false;
  #isClosed = false;

  constructor(settings: LauncherSettings, options: LauncherOptions = {}) {
    const { workDirectory, mkfifoPath } = settings;
    const { emptyNetwork = [], shellPath = "/bin/sh" } = options;
    this.#shellOptions = {
      command: [...emptyNetwork, shellPath],
      workDirectory,
      mkfifoPath,
      answerTimeoutMilliseconds: options.answerTimeoutMilliseconds ?? ANSWER_TIMEOUT_MILLISECONDS,
      startTimeoutMilliseconds: options.startTimeoutMilliseconds ?? START_TIMEOUT_MILLISECONDS,
    };
    mkdirSync(workDirectoryPath(workDirectory, "launcher"), { mode: 0o700 });
    this.hasEmptyNetworks = emptyNetwork.length > 0;
    this.#maxIdleShells = settings.maxConcurrentRenders + settings.warmRenders;
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  start(command: ProgramCommand): LaunchedProgram {
    let isKilled = false;
    const started = this.#start(command, () => isKilled);
    const run = started.catch(() => null);
    return {
      output: run.then((running) => running?.output ?? null),
      ancestorPid: run.then((running) => running?.ancestorPid ?? null),
      end: started.then(({ end }) => end).catch(toFailedEnd),
      write: async (chunks) => (await (await run)?.write(chunks)) ?? false,
      kill: () => {
        isKilled = true;
        void run.then((running) => running?.finish());
      },
    };
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#idle.length = 0;
    const shells = [...this.#shells];
    for (const shell of shells) shell.close();
    const timer = setTimeout(() => {
      for (const shell of shells) shell.kill();
    }, this.#shellOptions.answerTimeoutMilliseconds);
    await Promise.all(shells.map(({ ended }) => ended));
    clearTimeout(timer);
  }

  /** A new shell costs more than waiting for one that is about to be free. */
  async #takeIdle(): Promise<Shell | undefined> {
    const deadline = performance.now() + INPUT_CLOSE_MILLISECONDS;
    while (this.#idle.length > 0) {
      const index = this.#idle.findLastIndex((shell) => shell.isFree());
      if (index >= 0) return this.#idle.splice(index, 1)[0];
      if (performance.now() > deadline) for (const shell of this.#idle.splice(0)) shell.close();
      else await delay(INPUT_POLL_MILLISECONDS);
    }
    return undefined;
  }

  async #start(command: ProgramCommand, isKilled: () => boolean): Promise<ProgramRun> {
    const shell = (await this.#takeIdle()) ?? (await this.#openShell());
    if (isKilled()) {
      this.#keep(shell);
      throw new ServiceFailure("killed before it was started");
    }
    if (!shell.isUsable) throw new ServiceFailure("its shell could not be started");
    const run = shell.run(command);
    void run.end.then(() => (shell.isUsable ? this.#keep(shell) : this.#replaceShell()));
    return run;
  }

  async #openShell(): Promise<Shell> {
    if (this.#isClosed) throw new ServiceFailure("the launcher is closed");
    const folder = basename(workDirectoryPath(this.#shellOptions.workDirectory, "launcher"));
    const shell = new Shell({ ...this.#shellOptions, fifoPath: join(folder, String(++this.#shellsMade)) });
    this.#shells.add(shell);
    void shell.ended.then(() => {
      this.#shells.delete(shell);
      const index = this.#idle.indexOf(shell);
      if (index >= 0) this.#idle.splice(index, 1);
    });
    await shell.ready;
    return shell;
  }

  async #replaceShell(): Promise<void> {
    // After the end is reported: to start a program stops a large backend for milliseconds.
    await nextTurn();
    if (this.#isReplacing || this.#idle.length > 0) return;
    this.#isReplacing = true;
    const shell = await this.#openShell().catch(() => null);
    this.#isReplacing = false;
    if (shell !== null) this.#keep(shell);
  }

  #keep(shell: Shell): void {
    if (!shell.isUsable) return;
    if (this.#idle.length < this.#maxIdleShells) this.#idle.push(shell);
    else shell.close();
  }
}

function toFailedEnd(error: unknown): ProgramEnd {
  const { message, code } = describeError(error);
  return { kind: "failed", reason: message || `it cannot be started: ${code}`, hasStarted: false };
}

/**
 * The launcher: starts and ends programs in resident shells, each of which runs one program at a time.
 *
 * A shell is kept when its program has ended, but no more of them than processes can render and wait ahead at once.
 */
import { mkdirSync } from "node:fs";
import { basename, join } from "node:path";
import type { Readable } from "node:stream";
import { setTimeout as delay } from "node:timers/promises";
import { describeError, ServiceFailure } from "../observe/error-log.ts";
import type { BackendSettings } from "../start/settings.ts";
import { workDirectoryPath } from "../work-directory/paths.ts";
import type { LaunchedProgram, ProgramCommand, ProgramEnd } from "./program.ts";
import { type Run, Shell } from "./shell.ts";

/** A shell that takes longer than this to report the end of its program is stuck. */
const ANSWER_TIMEOUT_MILLISECONDS = 5000;
/** A process that ends closes its output before its input. If the input stays open longer than this, something is left. */
const INPUT_CLOSE_MILLISECONDS = 100;
const INPUT_POLL_MILLISECONDS = 1;

export interface LauncherOptions {
  /** How long a shell may take to respond before it is killed. */
  readonly answerTimeoutMilliseconds?: number | undefined;
  /** A POSIX shell. */
  readonly shellPath?: string;
}

export class Launcher {
  readonly #workDirectory: string;
  readonly #mkfifoPath: string;
  readonly #answerTimeoutMilliseconds: number;
  readonly #shellPath: string;
  readonly #maxIdleShells: number;
  readonly #shells = new Set<Shell>();
  /** The most recently used shell is the last one. */
  readonly #idle: Shell[] = [];
  #shellsMade = 0;
  #isClosed = false;

  /** The work directory must exist. */
  constructor(
    {
      workDirectory,
      mkfifoPath,
      maxConcurrentRenders,
      warmRenders,
    }: Pick<BackendSettings, "workDirectory" | "mkfifoPath" | "maxConcurrentRenders" | "warmRenders">,
    { answerTimeoutMilliseconds = ANSWER_TIMEOUT_MILLISECONDS, shellPath = "/bin/sh" }: LauncherOptions = {},
  ) {
    this.#workDirectory = workDirectory;
    mkdirSync(workDirectoryPath(workDirectory, "launcher"), { mode: 0o700 });
    this.#mkfifoPath = mkfifoPath;
    this.#answerTimeoutMilliseconds = answerTimeoutMilliseconds;
    this.#shellPath = shellPath;
    this.#maxIdleShells = maxConcurrentRenders + warmRenders;
  }

  /** Whether it was closed: nothing more can be started. */
  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** Starts a program. Never throws: a failure to start is reported as the program's end. */
  start(command: ProgramCommand): LaunchedProgram {
    const program = new Program();
    this.#start(command, program).catch((error: unknown) => program.onEnd(failure(error)));
    return program;
  }

  /** Ends everything that it has started. It cannot be used again. */
  async close(): Promise<void> {
    this.#isClosed = true;
    const shells = [...this.#shells];
    for (const shell of shells) shell.close();
    const timer = setTimeout(() => {
      for (const shell of shells) shell.kill();
    }, this.#answerTimeoutMilliseconds);
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

  async #start(command: ProgramCommand, program: Program): Promise<void> {
    if (this.#isClosed) throw new ServiceFailure("the launcher is closed");
    const shell = (await this.#takeIdle()) ?? (await this.#openShell());
    if (program.isKilled) {
      this.#keep(shell);
      throw new ServiceFailure("killed before it was started");
    }
    if (!shell.isUsable) throw new ServiceFailure("its shell could not be started");
    const run = shell.run(command, {
      onStart: () => program.onStart(shell.pid),
      onEnd: (end) => {
        this.#keep(shell);
        program.onEnd(end);
      },
    });
    program.attach(run);
  }

  async #openShell(): Promise<Shell> {
    const shell = new Shell({
      shellPath: this.#shellPath,
      workDirectory: this.#workDirectory,
      fifoPath: join(basename(workDirectoryPath(this.#workDirectory, "launcher")), String(++this.#shellsMade)),
      mkfifoPath: this.#mkfifoPath,
      answerTimeoutMilliseconds: this.#answerTimeoutMilliseconds,
    });
    this.#shells.add(shell);
    void shell.ended.then(() => {
      this.#shells.delete(shell);
      const index = this.#idle.indexOf(shell);
      if (index >= 0) this.#idle.splice(index, 1);
    });
    await shell.ready;
    return shell;
  }

  #keep(shell: Shell): void {
    if (!shell.isUsable) return;
    // More have run at once only while programs were being ended.
    if (this.#idle.length < this.#maxIdleShells) this.#idle.push(shell);
    else shell.close();
  }
}

/** A program from the call that starts it to its end, whether or not a shell has it. */
class Program implements LaunchedProgram {
  readonly #output = Promise.withResolvers<Readable | null>();
  /** Resolves with its ancestor. */
  readonly #started = Promise.withResolvers<number | null>();
  readonly #ended = Promise.withResolvers<ProgramEnd>();
  #run: Run | null = null;
  #isKilled = false;

  get output(): Promise<Readable | null> {
    return this.#output.promise;
  }

  get ancestorPid(): Promise<number | null> {
    return this.#started.promise;
  }

  get end(): Promise<ProgramEnd> {
    return this.#ended.promise;
  }

  get isKilled(): boolean {
    return this.#isKilled;
  }

  async write(pieces: readonly Buffer[]): Promise<boolean> {
    await this.#started.promise;
    return this.#run?.write(pieces) ?? false;
  }

  kill(): void {
    this.#isKilled = true;
    this.#run?.finish();
  }

  attach(run: Run): void {
    this.#run = run;
    this.#output.resolve(run.output);
  }

  onStart(shellPid: number | null): void {
    this.#started.resolve(shellPid);
  }

  onEnd(end: ProgramEnd): void {
    this.#run = null;
    this.#output.resolve(null);
    this.#started.resolve(null);
    this.#ended.resolve(end);
  }
}

function failure(error: unknown): ProgramEnd {
  const { message, code } = describeError(error);
  return { kind: "failed", reason: message || `it cannot be started: ${code}` };
}

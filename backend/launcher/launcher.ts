/**
 * The launcher: starts and ends programs in resident shells, each of which runs one program at a time.
 *
 * A shell is kept when its program has ended, so there are as many shells as programs have ever run at once.
 */
import { mkdirSync } from "node:fs";
import { basename, join } from "node:path";
import type { Readable } from "node:stream";
import { describeError, ServiceFailure } from "../error-log.ts";
import type { BackendSettings } from "../settings.ts";
import { workDirectoryPath } from "../work-directory/paths.ts";
import type { LaunchedProgram, ProgramCommand, ProgramEnd } from "./program.ts";
import { type Run, Shell } from "./shell.ts";

/** A shell that takes longer than this to report the end of its program is stuck. */
const ANSWER_TIMEOUT_MILLISECONDS = 5000;

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
  readonly #shells = new Set<Shell>();
  /** The most recently used shell is the last one. */
  readonly #idle: Shell[] = [];
  #shellsMade = 0;
  #isClosed = false;

  /** The work directory must exist. */
  constructor(
    { workDirectory, mkfifoPath }: Pick<BackendSettings, "workDirectory" | "mkfifoPath">,
    { answerTimeoutMilliseconds = ANSWER_TIMEOUT_MILLISECONDS, shellPath = "/bin/sh" }: LauncherOptions = {},
  ) {
    this.#workDirectory = workDirectory;
    mkdirSync(workDirectoryPath(workDirectory, "launcher"), { mode: 0o700 });
    this.#mkfifoPath = mkfifoPath;
    this.#answerTimeoutMilliseconds = answerTimeoutMilliseconds;
    this.#shellPath = shellPath;
  }

  /** Whether it was closed: nothing more can be started. */
  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** Starts a program. Never throws: a failure to start is reported as the program's end. */
  start(command: ProgramCommand): LaunchedProgram {
    const program = new Program();
    try {
      if (this.#isClosed) throw new ServiceFailure("the launcher is closed");
      const shell = this.#idle.pop();
      if (shell !== undefined) this.#run(shell, command, program);
      else void this.#runInNewShell(command, program);
    } catch (error) {
      program.onEnd(failure(error));
    }
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

  async #runInNewShell(command: ProgramCommand, program: Program): Promise<void> {
    try {
      const shell = this.#openShell();
      await shell.ready;
      if (program.isKilled) this.#keep(shell);
      if (program.isKilled) throw new ServiceFailure("killed before it was started");
      if (!shell.isUsable) throw new ServiceFailure("its shell could not be started");
      this.#run(shell, command, program);
    } catch (error) {
      program.onEnd(failure(error));
    }
  }

  #openShell(): Shell {
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
    return shell;
  }

  #run(shell: Shell, command: ProgramCommand, program: Program): void {
    program.attach(
      shell.pid,
      shell.run(command, {
        onStart: () => program.onStart(),
        onEnd: (end) => {
          this.#keep(shell);
          program.onEnd(end);
        },
      }),
    );
  }

  #keep(shell: Shell): void {
    if (shell.isUsable) this.#idle.push(shell);
  }
}

/** A program from the call that starts it to its end, whether or not a shell has it. */
class Program implements LaunchedProgram {
  readonly #output = Promise.withResolvers<Readable | null>();
  readonly #started = Promise.withResolvers<boolean>();
  readonly #ended = Promise.withResolvers<ProgramEnd>();
  #shellPid: number | null = null;
  #run: Run | null = null;
  #isKilled = false;

  get output(): Promise<Readable | null> {
    return this.#output.promise;
  }

  get ancestorPid(): Promise<number | null> {
    return this.#started.promise.then((hasStarted) => (hasStarted ? this.#shellPid : null));
  }

  get end(): Promise<ProgramEnd> {
    return this.#ended.promise;
  }

  get isKilled(): boolean {
    return this.#isKilled;
  }

  async write(pieces: readonly Buffer[]): Promise<boolean> {
    const hasStarted = await this.#started.promise;
    return hasStarted ? (this.#run?.write(pieces) ?? false) : false;
  }

  kill(): void {
    this.#isKilled = true;
    this.#run?.finish();
  }

  attach(shellPid: number | null, run: Run): void {
    this.#shellPid = shellPid;
    this.#run = run;
    this.#output.resolve(run.output);
  }

  onStart(): void {
    this.#started.resolve(true);
  }

  onEnd(end: ProgramEnd): void {
    this.#run = null;
    this.#output.resolve(null);
    this.#started.resolve(false);
    this.#ended.resolve(end);
  }
}

function failure(error: unknown): ProgramEnd {
  const { message, code } = describeError(error);
  return { kind: "failed", reason: message || `it cannot be started: ${code}` };
}

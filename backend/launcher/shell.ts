/** One resident shell of the launcher, which runs `launcher.sh`, and in it one program at a time. */
import { type ChildProcess, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { closeSync, constants, openSync, readFileSync, rmSync } from "node:fs";
import { Socket } from "node:net";
import { join } from "node:path";
import { errorCode } from "../error-log.ts";
import { killIfThere, killStrayProcesses } from "../processes/proc.ts";
import { type ProgramCommand, type ProgramEnd, ShellReport, shellCommand, startLine, writeFifo } from "./program.ts";

const FUNCTIONS = readFileSync(new URL("launcher.sh", import.meta.url), "utf8");

/** If the output is still open this long after the end, something is left: half of a sandbox, for example. */
const LEFTOVER_MILLISECONDS = 100;
/** A program that was being started when its shell ended has started by then. */
const LATE_START_MILLISECONDS = 1000;

export interface ShellOptions {
  readonly command: readonly string[];
  readonly workDirectory: string;
  /** The path of its FIFOs in the work directory, without their suffixes. Nothing exists there yet. */
  readonly fifoPath: string;
  readonly mkfifoPath: string;
  readonly answerTimeoutMilliseconds: number;
  readonly startTimeoutMilliseconds: number;
}

export class Shell {
  readonly answerTimeoutMilliseconds: number;
  readonly #child: ChildProcess;
  readonly #input: string;
  readonly #output: string;
  readonly #ready = Promise.withResolvers<void>();
  readonly ready = this.#ready.promise;
  readonly ended: Promise<void>;
  #run: ProgramRun | null = null;
  #isUsable = true;

  constructor(options: ShellOptions) {
    this.answerTimeoutMilliseconds = options.answerTimeoutMilliseconds;
    const { command, workDirectory, fifoPath } = options;
    const [program = "", ...programArguments] = command;
    this.#input = join(workDirectory, `${fifoPath}.in`);
    this.#output = join(workDirectory, `${fifoPath}.out`);
    // Detached: the end of its process group reaches everything that it has started.
    this.#child = spawn(program, [...programArguments, "-s", fifoPath], {
      cwd: workDirectory,
      detached: true,
      env: {},
      stdio: ["pipe", "pipe", "ignore"],
    });
    this.ended = new Promise((resolve) => {
      const onEnd = (reason: string) => {
        this.#isUsable = false;
        // Nothing reads the output of what it has left behind.
        this.#child.stdout?.destroy();
        this.#ready.resolve();
        // While they are open here: a program that opens them later finds none, and does not wait forever.
        for (const path of [this.#input, this.#output]) removeIfPossible(path);
        this.#run?.abandon(reason);
        resolve();
      };
      this.#child.on("exit", (exitCode, signal) => onEnd(`its shell ended: ${signal ?? exitCode}`));
      this.#child.on("error", (error) => onEnd(`its shell failed: ${errorCode(error)}`));
    });
    // A broken pipe means that the shell has ended, which is reported anyway.
    this.#child.stdin?.on("error", () => {});
    this.#child.stdout?.on("error", () => {});
    this.#child.stdout?.setEncoding("latin1").on("data", (text: string) => this.#hear(text));
    this.send(FUNCTIONS);
    this.send(shellCommand("make_fifos", options.mkfifoPath));
    const timer = setTimeout(() => this.kill(), options.startTimeoutMilliseconds);
    void this.ready.then(() => clearTimeout(timer));
  }

  get pid(): number | null {
    return this.#child.pid ?? null;
  }

  get isUsable(): boolean {
    return this.#isUsable;
  }

  /** Whether it can run a program, and nothing of the last one can read the input of the next one. */
  isFree(): boolean {
    if (!this.#isUsable) return false;
    try {
      closeSync(openSync(this.#input, constants.O_WRONLY | constants.O_NONBLOCK));
      return false;
    } catch (error) {
      return errorCode(error) === "ENXIO";
    }
  }

  /** The shell must be ready and free. @throws if the program cannot be started. The shell is of no use then. */
  run(command: ProgramCommand): ProgramRun {
    const line = startLine(command);
    let inputDescriptor: number | null = null;
    try {
      // Opened in both directions, because the program has not opened it yet.
      inputDescriptor = openSync(this.#input, constants.O_RDWR | constants.O_NONBLOCK);
      const fd = openSync(this.#output, constants.O_RDONLY | constants.O_NONBLOCK);
      const output = new Socket({ fd, readable: true, writable: false });
      const input = { path: this.#input, descriptor: inputDescriptor };
      this.#run = new ProgramRun(this, output, input, command.workingDirectory);
      this.send(line);
      return this.#run;
    } catch (error) {
      if (inputDescriptor !== null) closeSync(inputDescriptor);
      this.close();
      throw error;
    }
  }

  close(): void {
    this.#isUsable = false;
    this.#child.stdin?.end();
  }

  kill(): void {
    this.#isUsable = false;
    const { pid, exitCode, signalCode } = this.#child;
    // Until Node has seen its exit, its process id belongs to no other process.
    if (pid !== undefined && exitCode === null && signalCode === null) killIfThere(-pid);
  }

  send(commands: string): void {
    this.#child.stdin?.write(`${commands}\n`);
  }

  /** @param isClean whether nothing is left of the run */
  endRun(isClean: boolean): void {
    this.#run = null;
    if (!isClean) this.close();
  }

  #hear(text: string): void {
    if (this.#run !== null) {
      this.#run.hear(text);
      return;
    }
    if (text !== "ready\n") this.close();
    this.#ready.resolve();
  }
}

type OpenFifo = Readonly<{ path: string; descriptor: number }>;

export class ProgramRun {
  readonly output: Socket;
  readonly #started = Promise.withResolvers<number | null>();
  readonly ancestorPid = this.#started.promise;
  readonly #ended = Promise.withResolvers<ProgramEnd>();
  readonly end = this.#ended.promise;
  readonly #shell: Shell;
  /** The descriptor keeps the FIFO from ending before it is written. */
  readonly #input: OpenFifo;
  #isInputOpen = true;
  readonly #directory: string;
  readonly #report = new ShellReport();
  #nonce: string | null = null;
  #reportedEnd: ProgramEnd | null = null;
  #isOver = false;
  #timer: NodeJS.Timeout | undefined;

  constructor(shell: Shell, output: Socket, input: OpenFifo, directory: string) {
    this.#shell = shell;
    this.output = output;
    this.#input = input;
    this.#directory = directory;
    output.on("error", () => {});
    output.on("end", () => this.finish());
    output.on("close", () => this.#settleIfOver());
  }

  async write(chunks: readonly Buffer[]): Promise<boolean> {
    await this.ancestorPid;
    // The FIFO may be another program's by now.
    if (this.#isOver) return false;
    const isWritten = await writeFifo(this.#input.path, chunks, { end: this.end, kill: () => this.finish() });
    this.#closeInput();
    return isWritten;
  }

  finish(): void {
    if (this.#isOver || this.#nonce !== null) return;
    this.#nonce = randomUUID();
    this.#timer = setTimeout(() => this.#shell.kill(), this.#shell.answerTimeoutMilliseconds);
    this.#shell.send(shellCommand("finish", this.#nonce));
  }

  hear(text: string): void {
    this.#report.append(text);
    if (this.#report.hasStarted) this.#started.resolve(this.#shell.pid);
    if (this.#report.hasFailedToStart) this.finish();
    if (this.#nonce === null || this.#reportedEnd !== null) return;
    this.#reportedEnd = this.#report.parseEnd(this.#nonce);
    if (this.#reportedEnd === null) return;
    clearTimeout(this.#timer);
    // A program that was not started may not have opened its output.
    if (this.#reportedEnd.kind === "failed") this.output.destroy();
    else this.#timer = setTimeout(() => this.#removeLeftovers(), LEFTOVER_MILLISECONDS);
    this.#settleIfOver();
  }

  /** The shell has ended. Not everything ends with it if it was killed. */
  abandon(reason: string): void {
    this.#killStrays();
    setTimeout(() => this.#killStrays(), LATE_START_MILLISECONDS).unref();
    // A process that keeps the output of a killed program open does not change how that ended.
    const end = this.#reportedEnd;
    const { hasStarted } = this.#report;
    this.#settle(end?.kind === "signalled" ? end : { kind: "failed", reason, hasStarted });
  }

  #removeLeftovers(): void {
    this.#killStrays();
    this.#timer = setTimeout(() => this.#shell.kill(), this.#shell.answerTimeoutMilliseconds);
  }

  #killStrays(): void {
    killStrayProcesses((argument) => argument === this.#directory);
  }

  #settleIfOver(): void {
    if (this.#reportedEnd !== null && (this.output.readableEnded || this.output.destroyed))
      this.#settle(this.#reportedEnd);
  }

  #settle(end: ProgramEnd): void {
    if (this.#isOver) return;
    this.#isOver = true;
    clearTimeout(this.#timer);
    this.#closeInput();
    // Only then is certainly nothing left: after a kill, something may still write to standard error; an output that
    // was closed early may still be held; a shell that could not start a program may have lost a stream.
    this.#shell.endRun(end.kind === "exited" && this.output.readableEnded);
    this.output.destroy();
    this.#started.resolve(null);
    this.#ended.resolve(end);
  }

  #closeInput(): void {
    if (this.#isInputOpen) closeSync(this.#input.descriptor);
    this.#isInputOpen = false;
  }
}

/** On a disk that has become read-only it stays. No other shell uses its name. */
function removeIfPossible(path: string): void {
  try {
    rmSync(path);
  } catch {
    return;
  }
}

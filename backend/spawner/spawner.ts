/**
 * The backend's side of the spawner: starts programs through it, and replaces it when it ends.
 *
 * A program's end (a message from the spawner) and its streams (a connection) arrive separately and in any order. A program
 * is settled when both have arrived, or when one of them can no longer come.
 */

import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { createServer, type Server, type Socket } from "node:net";
import type { Duplex } from "node:stream";
import { fileURLToPath } from "node:url";
import { describeError, ServiceFailure } from "../error-log.ts";
import { killIfThere } from "../proc.mjs";
import { workDirectoryPath } from "../work-directory/paths.ts";
import { killStrayProcesses } from "../work-directory/stray-processes.mjs";
import type { ProgramEnd, ProgramId, SpawnCommand, SpawnerReport, SpawnerRequest } from "./messages.ts";

const PROGRAM = fileURLToPath(new URL("spawner-program.mjs", import.meta.url));
/** Every page of the spawner's memory makes every start slower, and it produces little garbage. */
const SPAWNER_NODE_ARGUMENTS = ["--max-semi-space-size=1"];
/** A spawner that has not acknowledged a kill by then is stuck. */
const ANSWER_TIMEOUT_MILLISECONDS = 5000;
/** How long to wait for the connection of a program that has ended. It connected before it ran, so it comes at once or never. */
const CONNECTION_TIMEOUT_MILLISECONDS = 1000;
/** After this time, a program that was being started when its spawner died has started. */
const LATE_START_MILLISECONDS = 1000;

/** A program that was started, or could not be. */
export interface SpawnedProgram {
  /** Writes to its standard input, reads from its standard output; null if it could not be started. */
  readonly stream: Promise<Duplex | null>;
  /** Its process id; null if it could not be started. */
  readonly pid: Promise<number | null>;
  /** How it ended. Never rejects: when the spawner ends, its programs count as failed. */
  readonly end: Promise<ProgramEnd>;
  /** Kills its process group. */
  kill(): void;
}

/** A program that is not settled. */
class Program {
  /** Its working directory, which it shares with no other running program. */
  readonly directory: string;
  readonly stream = Promise.withResolvers<Duplex | null>();
  readonly pid = Promise.withResolvers<number | null>();
  readonly end = Promise.withResolvers<ProgramEnd>();
  /** Its process group, once it is started. */
  groupId: number | null = null;
  socket: Socket | null = null;
  /** Its end, if that arrived before its connection. */
  earlyEnd: ProgramEnd | null = null;
  killTimer: NodeJS.Timeout | null = null;
  connectionTimer: NodeJS.Timeout | null = null;

  constructor(directory: string) {
    this.directory = directory;
  }
}

export class Spawner {
  readonly #socketPath: string;
  readonly #server: Server;
  readonly #answerTimeoutMilliseconds: number;
  readonly #programs = new Map<ProgramId, Program>();
  #child: ChildProcess | null = null;
  #lastId: ProgramId = 0;
  #isClosed = false;

  private constructor(socketPath: string, server: Server, answerTimeoutMilliseconds: number) {
    this.#socketPath = socketPath;
    this.#server = server;
    this.#answerTimeoutMilliseconds = answerTimeoutMilliseconds;
    server.on("connection", this.#takeConnection);
  }

  /**
   * Opens a spawner with its socket in `workDirectory`, which must exist.
   *
   * @param answerTimeoutMilliseconds how long a spawner process may take to respond before it is killed.
   */
  static async open(workDirectory: string, answerTimeoutMilliseconds = ANSWER_TIMEOUT_MILLISECONDS): Promise<Spawner> {
    const socketPath = workDirectoryPath(workDirectory, "streams");
    return new Spawner(socketPath, await listen(socketPath), answerTimeoutMilliseconds);
  }

  /** Whether it was closed: nothing can be started any more. */
  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** Starts a program. Never throws: a failure to start is reported as the program's end. */
  start(spawnCommand: SpawnCommand): SpawnedProgram {
    const id = ++this.#lastId;
    const program = new Program(spawnCommand.workingDirectory);
    this.#programs.set(id, program);
    this.#send(id, { kind: "start", id, spawnCommand });
    return {
      stream: program.stream.promise,
      pid: program.pid.promise,
      end: program.end.promise,
      kill: () => this.#kill(id),
    };
  }

  /** Ends the spawner and everything that it has started. It cannot be used again. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#server.close();
    const child = this.#child;
    if (child === null) return;
    const gone = new Promise<void>((resolve) => {
      child.once("exit", () => resolve());
      child.once("error", () => resolve());
    });
    if (child.connected) child.disconnect();
    const timer = setTimeout(() => child.kill("SIGKILL"), this.#answerTimeoutMilliseconds);
    await gone;
    clearTimeout(timer);
  }

  #kill(id: ProgramId): void {
    const program = this.#programs.get(id);
    if (program === undefined || program.killTimer !== null) return;
    const child = this.#child;
    program.killTimer = setTimeout(() => child?.kill("SIGKILL"), this.#answerTimeoutMilliseconds);
    this.#send(id, { kind: "kill", id });
  }

  #send(id: ProgramId, request: SpawnerRequest): void {
    try {
      if (this.#isClosed) throw new ServiceFailure("the spawner is closed");
      this.#child ??= this.#startProgram();
      if (!this.#child.connected) throw new ServiceFailure("the spawner cannot be reached");
      // A failure to send means that the child has ended; its `exit` event settles the program.
      this.#child.send(request, () => {});
    } catch (error) {
      const { message, code } = describeError(error);
      this.#settle(id, { kind: "failed", reason: message || code });
    }
  }

  #startProgram(): ChildProcess {
    const child = fork(PROGRAM, [], {
      env: { SPAWNER_SOCKET_PATH: this.#socketPath },
      execArgv: SPAWNER_NODE_ARGUMENTS,
      stdio: ["ignore", "ignore", "inherit", "ipc"],
    });
    child.on("message", (report: SpawnerReport) => this.#hear(report));
    child.on("error", (error) => this.#forget(child, `the spawner failed: ${describeError(error).code}`));
    child.on("exit", (exitCode, signal) => this.#forget(child, `the spawner ended: ${signal ?? exitCode}`));
    return child;
  }

  /** Kills the programs of a spawner that has ended: not all of them end with it. */
  #forget(child: ChildProcess, reason: string): void {
    if (this.#child !== child) return;
    this.#child = null;
    const directories = new Set([...this.#programs.values()].map(({ directory }) => directory));
    const killStrays = () => killStrayProcesses((argument) => directories.has(argument));
    killStrays();
    setTimeout(killStrays, LATE_START_MILLISECONDS).unref();
    for (const [id, { groupId }] of [...this.#programs]) {
      if (groupId !== null) killIfThere(-groupId);
      this.#settle(id, { kind: "failed", reason });
    }
  }

  #hear(report: SpawnerReport): void {
    const program = this.#programs.get(report.id);
    if (program === undefined) return;
    switch (report.kind) {
      case "started":
        program.groupId = report.pid;
        program.pid.resolve(report.pid);
        break;
      case "killed":
        // The spawner responds, so it is not killed. How long the kernel takes to end the program is another matter.
        if (program.killTimer !== null) clearTimeout(program.killTimer);
        break;
      case "ended":
        this.#hearEnd(report.id, program, report.end);
        break;
    }
  }

  #hearEnd(id: ProgramId, program: Program, end: ProgramEnd): void {
    if (end.kind === "failed" || program.socket !== null) {
      this.#settle(id, end);
      return;
    }
    program.earlyEnd = end;
    program.connectionTimer = setTimeout(
      () => this.#settle(id, { kind: "failed", reason: "the connection was lost" }),
      CONNECTION_TIMEOUT_MILLISECONDS,
    );
  }

  #settle(id: ProgramId, end: ProgramEnd): void {
    const program = this.#programs.get(id);
    if (program === undefined) return;
    this.#programs.delete(id);
    if (program.killTimer !== null) clearTimeout(program.killTimer);
    if (program.connectionTimer !== null) clearTimeout(program.connectionTimer);
    if (end.kind === "failed") program.socket?.destroy();
    program.stream.resolve(null);
    program.pid.resolve(null);
    program.end.resolve(end);
  }

  /** The first line of a connection is the program's number; what follows is the program's output. */
  readonly #takeConnection = (socket: Socket): void => {
    // The code that reads the socket gets the error as an exception.
    socket.on("error", () => {});
    socket.once("readable", () => {
      const head: Buffer | null = socket.read();
      // The first line was written in one piece, so it arrives in one piece.
      const lineEnd = head?.indexOf("\n") ?? -1;
      const id: ProgramId = Number(head?.toString("latin1", 0, Math.max(0, lineEnd)));
      const program = this.#programs.get(id);
      // The program has been given up, has a connection already, or never existed.
      if (head === null || program === undefined || program.socket !== null) {
        socket.destroy();
        return;
      }
      socket.unshift(head.subarray(lineEnd + 1));
      program.socket = socket;
      program.stream.resolve(socket);
      if (program.earlyEnd !== null) this.#settle(id, program.earlyEnd);
    });
  };
}

async function listen(socketPath: string): Promise<Server> {
  const server = createServer();
  server.listen(socketPath);
  await once(server, "listening");
  return server;
}

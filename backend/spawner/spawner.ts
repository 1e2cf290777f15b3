/**
 * The backend's side of the spawner: starts programs through it, and starts it anew should it end.
 */

import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { createServer, type Server, type Socket } from "node:net";
import type { Duplex } from "node:stream";
import { fileURLToPath } from "node:url";
import { describeError, ServiceFailure } from "../error-log.ts";
import { killIfThere } from "../proc.mjs";
import type { SpawnCommand } from "../sandbox/sandbox.ts";
import { workDirectoryPath } from "../work-directory/paths.ts";
import { killStrayProcesses } from "../work-directory/stray-processes.mjs";
import type { ProgramEnd, ProgramId, SpawnerReport, SpawnerRequest } from "./messages.ts";

const PROGRAM = fileURLToPath(new URL("spawner-program.mjs", import.meta.url));
/** It makes little garbage, and each page of its memory costs each start. */
const SPAWNER_NODE_ARGUMENTS = ["--max-semi-space-size=1"];
/** A spawner that has not even heard of a kill by then is stuck. */
const ANSWER_TIMEOUT_MILLISECONDS = 5000;
/** For the connection of a program that has ended. It was made before the program ran, so it comes at once or never. */
const CONNECTION_TIMEOUT_MILLISECONDS = 1000;
/** By then a program that was about to start when its spawner died has started. */
const LATE_START_MILLISECONDS = 1000;

/** A program that was started, or could not be. */
export interface SpawnedProgram {
  /** Its standard input, written, and its standard output, read; null where it could not be started. */
  readonly stream: Promise<Duplex | null>;
  /** Its process id; null where it could not be started. */
  readonly pid: Promise<number | null>;
  /** How it ended. Never rejects: with a spawner that ends, its programs have failed. */
  readonly end: Promise<ProgramEnd>;
  /** Kills its process group. */
  kill(): void;
}

/** What is known of a program until both its end and its connection are here. */
class Program {
  /** Where it runs: no other program runs there. */
  readonly directory: string;
  readonly stream = Promise.withResolvers<Duplex | null>();
  readonly pid = Promise.withResolvers<number | null>();
  readonly end = Promise.withResolvers<ProgramEnd>();
  /** Its process group, once it is started. */
  groupId: number | null = null;
  socket: Socket | null = null;
  /** Its end, where that came before its connection. */
  earlyEnd: ProgramEnd | null = null;
  killTimer: NodeJS.Timeout | null = null;
  connectionTimer: NodeJS.Timeout | null = null;

  constructor(directory: string) {
    this.directory = directory;
  }
}

export class Spawner {
  readonly #socketPath: string;
  #server: Server;
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
   * A spawner whose socket lies in `workDirectory`, which must be there.
   *
   * @param answerTimeoutMilliseconds after which a process that does not do as it is told is killed itself.
   */
  static async open(workDirectory: string, answerTimeoutMilliseconds = ANSWER_TIMEOUT_MILLISECONDS): Promise<Spawner> {
    const socketPath = workDirectoryPath(workDirectory, "streams");
    return new Spawner(socketPath, await listen(socketPath), answerTimeoutMilliseconds);
  }

  /** Whether nothing can be started any more. */
  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** Starts a program. Never throws: its end says what becomes of it, whatever that is. */
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

  /**
   * Listens again where the socket has been removed. Programs that run keep their connections.
   *
   * @throws where the work directory is gone.
   */
  async repair(): Promise<void> {
    if (this.#isClosed || existsSync(this.#socketPath)) return;
    // Before the new one is there: it would remove the socket of that name.
    this.#server.close();
    this.#server = (await listen(this.#socketPath)).on("connection", this.#takeConnection);
    if (this.#isClosed) this.#server.close();
  }

  /** Ends the spawner and all that it has started, for good. */
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
      // Whom it cannot reach has ended, which is told by the end.
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

  /** A spawner that ended can kill nobody any more, and not all of its programs end with it. */
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
        // The spawner is well. How long the kernel takes to end the program is no matter of the spawner's.
        if (program.killTimer !== null) clearTimeout(program.killTimer);
        break;
      case "ended":
        this.#hearEnd(report.id, program, report.end);
        break;
    }
  }

  /** The news of an end and the program's connection come by different ways, in any order. */
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

  /** The first line of a connection says whose it is; what follows is the program's output. */
  readonly #takeConnection = (socket: Socket): void => {
    // A reader gets it as an exception of its own.
    socket.on("error", () => {});
    socket.once("readable", () => {
      const head: Buffer | null = socket.read();
      // Written as one piece, so it comes as one.
      const lineEnd = head?.indexOf("\n") ?? -1;
      const id: ProgramId = Number(head?.toString("latin1", 0, Math.max(0, lineEnd)));
      const program = this.#programs.get(id);
      // Nobody waits for it where its program was given up, or has its connection.
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

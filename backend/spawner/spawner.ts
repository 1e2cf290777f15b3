/**
 * The backend's side of the spawner: starts programs through it, and starts it anew should it end.
 */
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { createServer, type Server, type Socket } from "node:net";
import { join } from "node:path";
import type { Duplex } from "node:stream";
import { fileURLToPath } from "node:url";
import type { Launch } from "../sandbox/sandbox.ts";
import type { ProcessEnd, ProcessId, SpawnerReport, SpawnerRequest } from "./messages.ts";

const PROGRAM = fileURLToPath(new URL("spawner-program.mjs", import.meta.url));
/** It makes little garbage, and each page of its memory costs each start. */
const NODE_OPTIONS = ["--max-semi-space-size=1"];
const SOCKET_NAME = "streams";
/** A killed process is gone within a second, even a large one. A spawner that knows of no end by then is stuck. */
const KILL_TIMEOUT_MILLISECONDS = 5000;

/** A program that was started, or could not be. */
export interface SpawnedProcess {
  /** Its standard input, written, and its standard output, read; null where it could not be started. */
  readonly stream: Promise<Duplex | null>;
  /** Its process id; null where it could not be started. */
  readonly pid: Promise<number | null>;
  /** How it ended. Never rejects: with a spawner that ends, its programs have failed. */
  readonly end: Promise<ProcessEnd>;
  /** Kills its process group. */
  kill(): void;
}

/** A program whose end is not reported yet. */
interface Running {
  readonly pid: PromiseWithResolvers<number | null>;
  readonly end: PromiseWithResolvers<ProcessEnd>;
  /** Its process group, once it is started. */
  groupId: number | null;
  stream: Socket | null;
}

export class Spawner {
  readonly #socketPath: string;
  #server: Server;
  readonly #running = new Map<ProcessId, Running>();
  /** Programs whose connection is not here yet; some may have ended. */
  readonly #awaitedStreams = new Map<ProcessId, (stream: Duplex | null) => void>();
  #child: ChildProcess | null = null;
  #lastId: ProcessId = 0;

  private constructor(socketPath: string, server: Server) {
    this.#socketPath = socketPath;
    this.#server = server;
    server.on("connection", this.#takeStream);
  }

  /** A spawner whose socket lies in `workDirectory`, which must be there. */
  static async open(workDirectory: string): Promise<Spawner> {
    const socketPath = join(workDirectory, SOCKET_NAME);
    return new Spawner(socketPath, await listen(socketPath));
  }

  /** Starts a program. Its end says what becomes of it, whatever that is. */
  start(launch: Launch): SpawnedProcess {
    const id = ++this.#lastId;
    const stream = Promise.withResolvers<Duplex | null>();
    const running: Running = {
      pid: Promise.withResolvers(),
      end: Promise.withResolvers(),
      groupId: null,
      stream: null,
    };
    this.#awaitedStreams.set(id, stream.resolve);
    this.#running.set(id, running);
    this.#send({ kind: "start", id, launch });
    return {
      stream: stream.promise,
      pid: running.pid.promise,
      end: running.end.promise,
      kill: () => this.#kill(id),
    };
  }

  /**
   * Listens again where the socket has been removed. Programs that run keep their connections.
   *
   * @throws where the work directory is gone.
   */
  async repair(): Promise<void> {
    if (existsSync(this.#socketPath)) return;
    // Before the new one is there: it would remove the socket of that name.
    this.#server.close();
    this.#server = (await listen(this.#socketPath)).on("connection", this.#takeStream);
  }

  /** Ends the spawner and all that it has started. */
  async close(): Promise<void> {
    this.#server.close();
    const child = this.#child;
    if (child === null) return;
    const exit = once(child, "exit");
    if (child.connected) child.disconnect();
    await exit;
  }

  #kill(id: ProcessId): void {
    const running = this.#running.get(id);
    if (running === undefined) return;
    this.#send({ kind: "kill", id });
    const child = this.#child;
    const timer = setTimeout(() => child?.kill("SIGKILL"), KILL_TIMEOUT_MILLISECONDS);
    void running.end.promise.then(() => clearTimeout(timer));
  }

  #send(request: SpawnerRequest): void {
    this.#child ??= this.#startProgram();
    // Whom it cannot reach has ended, which is told by the end.
    this.#child.send(request, () => {});
  }

  #startProgram(): ChildProcess {
    const child = fork(PROGRAM, [], {
      env: { SPAWNER_SOCKET_PATH: this.#socketPath },
      execArgv: NODE_OPTIONS,
      stdio: ["ignore", "ignore", "inherit", "ipc"],
    });
    child.on("message", (report: SpawnerReport) => this.#hear(report));
    child.on("error", (error) => this.#forget(child, error.message));
    child.on("exit", (exitCode, signal) => this.#forget(child, `the spawner ended: ${signal ?? exitCode}`));
    return child;
  }

  /** A spawner that ended can kill nobody any more; without a sandbox its programs would run on. */
  #forget(child: ChildProcess, why: string): void {
    if (this.#child !== child) return;
    this.#child = null;
    for (const [id, { groupId }] of [...this.#running]) {
      if (groupId !== null) killGroup(groupId);
      this.#settle(id, { exitCode: null, signal: null, failure: why, diagnostics: "", status: "" });
    }
  }

  #hear(report: SpawnerReport): void {
    if (report.kind === "ended") {
      this.#settle(report.id, report.end);
      return;
    }
    const running = this.#running.get(report.id);
    if (running === undefined) return;
    running.groupId = report.pid;
    running.pid.resolve(report.pid);
  }

  #settle(id: ProcessId, end: ProcessEnd): void {
    const running = this.#running.get(id);
    if (running === undefined) return;
    this.#running.delete(id);
    if (end.failure !== null) {
      running.stream?.destroy();
      this.#resolveStream(id, null);
    }
    // Where it ran there is a connection, even if the news of its end are here first.
    running.pid.resolve(null);
    running.end.resolve(end);
  }

  /** The first line of a connection says whose it is; what follows is the program's output. */
  readonly #takeStream = (socket: Socket): void => {
    // Whoever reads it sees an end.
    socket.on("error", () => {});
    socket.once("readable", () => {
      const head: Buffer | null = socket.read();
      // Written as one piece, so it comes as one.
      const lineEnd = head?.indexOf("\n") ?? -1;
      if (head === null || lineEnd < 0) {
        socket.destroy();
        return;
      }
      socket.unshift(head.subarray(lineEnd + 1));
      this.#resolveStream(Number(head.toString("latin1", 0, lineEnd)), socket);
    });
  };

  /** Hands a connection to whom it belongs; nobody waits for it where its process was given up. */
  #resolveStream(id: ProcessId, socket: Socket | null): void {
    const resolve = this.#awaitedStreams.get(id);
    this.#awaitedStreams.delete(id);
    if (resolve === undefined) {
      socket?.destroy();
      return;
    }
    const running = this.#running.get(id);
    if (running !== undefined) running.stream = socket;
    resolve(socket);
  }
}

async function listen(socketPath: string): Promise<Server> {
  // Half open: a program may write on when its input has ended.
  const server = createServer({ allowHalfOpen: true });
  server.listen(socketPath);
  await once(server, "listening");
  return server;
}

function killGroup(groupId: number): void {
  try {
    process.kill(-groupId, "SIGKILL");
  } catch {
    // It has ended with the spawner.
  }
}

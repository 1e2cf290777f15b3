/**
 * The spawner: a small separate process that starts and kills programs for the backend.
 *
 * Node starts a program with fork(2), which copies the page tables of all its memory and blocks the event loop: 1 ms for a
 * process of 50 MB, 8 ms for a backend of 160 MB (measured). So this process stays small: it imports little but Node, no
 * standard output passes through it, and it is plain JavaScript, because loading TypeScript would double its memory.
 *
 * For each program it connects to the backend's socket, sends the program's number, and hands the connection over as the
 * program's standard input and output. It ends with the backend, and kills what still runs.
 */
import { spawn } from "node:child_process";
import { closeSync, openSync } from "node:fs";
import { connect } from "node:net";
import { killIfThere } from "../proc.mjs";
import { killStrayProcesses } from "../work-directory/stray-processes.mjs";

/** @import { ChildProcess } from "node:child_process" */
/** @import { Socket } from "node:net" */
/** @import { Readable } from "node:stream" */
/** @import { ExtraDescriptor, ProgramEnd, ProgramId, ProgramWords, SpawnCommand } from "./messages.ts" */
/** @import { SpawnerReport, SpawnerRequest } from "./messages.ts" */

/** Enough to see how a program ended. The rest of its diagnostics is dropped. */
const MAX_TEXT_LENGTH = 4096;

/** How long killed children may take to end after the backend has ended. */
const MAX_ENDING_MILLISECONDS = 2000;

/** The socket on which the backend accepts the streams of programs. In the environment, so that no command line shows it. */
const socketPath = process.env.SPAWNER_SOCKET_PATH ?? "";

/** The running programs; null for one that is about to be started. @type {Map<ProgramId, ChildProcess | null>} */
const children = new Map();
let isEnding = false;

process.on("message", (/** @type {SpawnerRequest} */ request) => {
  if (request.kind === "start") start(request.id, request.spawnCommand);
  else {
    kill(request.id);
    report({ kind: "killed", id: request.id });
  }
});
process.on("disconnect", () => {
  isEnding = true;
  for (const id of [...children.keys()]) kill(id);
  // A sandbox that is killed just after its start leaves a process behind, which is killed when the sandbox has ended.
  if (children.size === 0) process.exit(0);
  setTimeout(() => process.exit(0), MAX_ENDING_MILLISECONDS);
});
// A terminal sends these to every process of its group. The backend handles them, and ends this process last.
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => {});

/** @param {ProgramId} id @param {SpawnCommand} spawnCommand */
function start(id, spawnCommand) {
  children.set(id, null);
  const socket = connect(socketPath);
  // What the backend writes is for the program and must not be read here.
  socket.pause();
  socket.on("error", (error) => reportFailure(id, error));
  socket.on("connect", () => {
    // Flushed before the program can write, so that the backend reads the number first.
    socket.write(`${id}\n`, (error) => {
      if (error) reportFailure(id, error);
      else run(id, spawnCommand, socket);
    });
  });
}

/** @param {ProgramId} id @param {SpawnCommand} spawnCommand @param {Socket} socket */
function run(id, spawnCommand, socket) {
  // It may have been killed before it was started.
  if (children.has(id)) {
    try {
      children.set(id, spawnOn(id, spawnCommand, socket));
    } catch (error) {
      reportFailure(id, error);
    }
  }
  socket.destroy();
}

/** @param {ProgramId} id @param {SpawnCommand} spawnCommand @param {Socket} socket */
function spawnOn(id, spawnCommand, socket) {
  /** @type {number[]} */
  const opened = [];
  /** @param {ExtraDescriptor} descriptor */
  const stdioOf = (descriptor) => {
    if (descriptor.kind === "report") return "pipe";
    // Opened once per program, because processes that share a descriptor share its position.
    const fd = openSync(descriptor.path, "r");
    opened.push(fd);
    return fd;
  };
  try {
    const child = spawn(spawnCommand.file, spawnCommand.arguments, {
      cwd: spawnCommand.workingDirectory,
      env: spawnCommand.environment,
      stdio: [socket, socket, "pipe", ...spawnCommand.extraDescriptors.map(stdioOf)],
      // A new process group, so that it can be killed as a whole.
      detached: true,
    });
    child.on("error", (error) => reportFailure(id, error));
    // When this process runs out of descriptors, Node returns a child without streams.
    const diagnostics = readHead(child.stdio?.[2]);
    const status = readHead(child.stdio?.slice(3).find(isReadable));
    child.on("exit", (_exitCode, signal) => {
      // A bubblewrap that is killed early may leave its inner process behind, which would keep the streams open for ever.
      if (signal !== null) killStrayProcesses((argument) => argument === spawnCommand.workingDirectory);
    });
    child.on("close", (exitCode, signal) => {
      reportEnd(id, describeEnd(exitCode, signal, { diagnostics: diagnostics(), status: status() }));
    });
    if (child.pid !== undefined) report({ kind: "started", id, pid: child.pid });
    return child;
  } finally {
    for (const fd of opened) closeSync(fd);
  }
}

/** @param {ProgramId} id */
function kill(id) {
  const child = children.get(id);
  if (child === null) reportFailure(id, "killed before it was started");
  // The group may already have ended; its end is then reported anyway.
  if (child?.pid !== undefined) killIfThere(-child.pid);
}

/**
 * @param {number | null} exitCode @param {string | null} signal @param {ProgramWords} words
 * @returns {ProgramEnd}
 */
function describeEnd(exitCode, signal, words) {
  if (exitCode !== null) return { kind: "exited", exitCode, ...words };
  return { kind: "signalled", signal: signal ?? "unknown", ...words };
}

/** @param {ProgramId} id @param {unknown} cause */
function reportFailure(id, cause) {
  reportEnd(id, { kind: "failed", reason: cause instanceof Error ? describe(cause) : String(cause) });
}

/** For the log: messages of the system may name files. @param {NodeJS.ErrnoException} error */
function describe({ name, code, syscall }) {
  return code === undefined ? name : `${code} ${syscall ?? ""}`.trim();
}

/** Reports the end of a program, once. @param {ProgramId} id @param {ProgramEnd} end */
function reportEnd(id, end) {
  if (children.delete(id)) report({ kind: "ended", id, end });
  if (isEnding && children.size === 0) process.exit(0);
}

/** @param {SpawnerReport} message */
function report(message) {
  // A failure to send means that the backend has ended; `disconnect` deals with that.
  process.send?.(message, undefined, undefined, () => {});
}

/**
 * Reads a stream to its end, so that the writer never blocks, and keeps the first bytes as text, one character each.
 *
 * @param {Readable | unknown} stream a pipe from the program, or undefined if it has none.
 */
function readHead(stream) {
  let head = "";
  if (isReadable(stream)) {
    stream.on("data", (chunk) => {
      if (head.length < MAX_TEXT_LENGTH) head += chunk.toString("latin1").slice(0, MAX_TEXT_LENGTH - head.length);
    });
    // Killing a process may break its pipes. Its exit says how it ended.
    stream.on("error", () => {});
  }
  return () => head;
}

/** @param {unknown} stream @returns {stream is Readable} */
function isReadable(stream) {
  return typeof stream === "object" && stream !== null && "read" in stream;
}

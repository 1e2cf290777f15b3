/** The edge as `npm run build:edge` makes it, as a process of its own: for `npm start` in a temporary folder, and for tests. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { get } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { EDGE_PROGRAM, writeEdge } from "../build/edge-folder.ts";
import { LOOPBACK, ServiceStartError, takeFreePort } from "./local-service.ts";

const POLL_MILLISECONDS = 25;

export interface BuiltEdge {
  readonly url: URL;
  readonly process: ChildProcess;
  /** Sends SIGTERM and waits for the end. @returns the exit code: 0 if everything in flight was answered */
  stop(): Promise<number | null>;
}

export interface BuiltEdgeOptions {
  /** Soft and hard. */
  readonly maxOpenFiles?: number;
  readonly stdout?: "ignore" | "pipe" | "inherit";
}

/** Writes the edge to a temporary folder and starts it. Port 0: a free one. @throws {ServiceStartError} */
export async function startEdge(environment: Readonly<Record<string, string>>, port: number): Promise<BuiltEdge> {
  const folder = await mkdtemp(join(tmpdir(), "document-rendering-edge-"));
  const remove = () => rm(folder, { recursive: true, force: true });
  try {
    await writeEdge(folder, "links");
    const edge = await startBuiltEdge(folder, environment, { stdout: "inherit" }, port);
    return {
      ...edge,
      stop: async () => {
        const exitCode = await edge.stop();
        await remove();
        return exitCode;
      },
    };
  } catch (error) {
    await remove();
    throw error;
  }
}

/** Starts it and waits until it answers. @param folder that `writeEdge` has written @throws {ServiceStartError} */
export async function startBuiltEdge(
  folder: string,
  environment: Readonly<Record<string, string>>,
  { maxOpenFiles, stdout = "ignore" }: BuiltEdgeOptions = {},
  wantedPort = 0,
): Promise<BuiltEdge> {
  const port = wantedPort === 0 ? await takeFreePort() : wantedPort;
  const url = new URL(`http://${LOOPBACK}:${port}`);
  const command = [process.execPath, join(folder, EDGE_PROGRAM)];
  const limit = maxOpenFiles === undefined ? [] : ["prlimit", `--nofile=${maxOpenFiles}:${maxOpenFiles}`];
  const [program = "", ...rest] = [...limit, ...command];
  const child = spawn(program, rest, {
    env: {
      PATH: process.env.PATH ?? "",
      ...environment,
      SERVICE_EDGE_HOST: LOOPBACK,
      SERVICE_EDGE_PORT: String(port),
    },
    stdio: ["ignore", stdout, "inherit", "ipc"],
  });
  const ended = once(child, "exit");
  const stop = async (): Promise<number | null> => {
    child.kill("SIGTERM");
    await ended;
    return child.exitCode;
  };
  while (child.exitCode === null && child.signalCode === null) {
    if (await answers(new URL("/health", url))) return { url, process: child, stop };
    await Promise.race([ended, delay(POLL_MILLISECONDS)]);
  }
  throw new ServiceStartError(`The edge has exited (${child.signalCode ?? `exit code ${child.exitCode}`}).`);
}

/** On a connection of its own, which does not stay open. */
function answers(url: URL): Promise<boolean> {
  return new Promise((resolve) => {
    get(url, { agent: false }, (answer) => {
      answer.resume();
      resolve(true);
    }).on("error", () => resolve(false));
  });
}

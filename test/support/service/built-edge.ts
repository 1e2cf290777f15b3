/** The edge as `npm run build:edge` makes it, as its own process with its own environment. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { EDGE_PROGRAM } from "../../../scripts/build/edge-configuration.ts";
import { LOOPBACK, takeFreePort } from "../../../scripts/start/local-service.ts";

export interface BuiltEdgeOptions {
  /** Of workerd. */
  readonly options?: readonly string[];
  /** Soft and hard. */
  readonly maxOpenFiles?: number;
  readonly stdout?: "ignore" | "pipe";
}

/** Starts it on a free port and waits until it answers. @param folder that `writeEdge` has written */
export async function startBuiltEdge(
  folder: string,
  environment: Readonly<Record<string, string>>,
  { options = [], maxOpenFiles, stdout = "ignore" }: BuiltEdgeOptions = {},
) {
  const port = await takeFreePort();
  const url = new URL(`http://${LOOPBACK}:${port}`);
  const command = [process.execPath, join(folder, EDGE_PROGRAM), ...options];
  const limit = maxOpenFiles === undefined ? [] : ["prlimit", `--nofile=${maxOpenFiles}:${maxOpenFiles}`];
  const [program = "", ...rest] = [...limit, ...command];
  const child = spawn(program, rest, {
    env: { PATH: process.env.PATH, ...environment, SERVICE_EDGE_HOST: LOOPBACK, SERVICE_EDGE_PORT: String(port) },
    stdio: ["ignore", stdout, "inherit"],
  });
  const ended = once(child, "exit");
  /** Sends SIGTERM and waits for the end: 0 if everything in flight was answered. */
  const stop = async (): Promise<number | null> => {
    child.kill("SIGTERM");
    const [exitCode] = await ended;
    return exitCode;
  };
  for (;;) {
    if (child.exitCode !== null) throw new Error(`the edge has ended with ${child.exitCode}`);
    const isListening = await fetch(new URL("/health", url)).then(
      () => true,
      () => false,
    );
    if (isListening) return { url, child, stop };
    await Promise.race([ended, new Promise((resolve) => setTimeout(resolve, 25))]);
  }
}

/** The edge as `npm run build:edge` makes it, as its own process with its own environment. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { EDGE_SOCKET } from "../../../scripts/build/edge-configuration.ts";
import { LOOPBACK, takeFreePort } from "../../../scripts/start/local-service.ts";

/**
 * Starts it on a free port and waits until it answers.
 *
 * @param command how the image starts it, in the folder that `writeEdge` has written
 */
export async function startBuiltEdge(
  folder: string,
  command: readonly [program: string, ...options: string[]],
  environment: Readonly<Record<string, string>>,
) {
  const [program, ...options] = command;
  const url = new URL(`http://${LOOPBACK}:${await takeFreePort()}`);
  const child = spawn(program, [...options, "--socket-addr", `${EDGE_SOCKET}=${url.host}`], {
    cwd: folder,
    env: environment,
    stdio: ["ignore", "ignore", "inherit"],
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
    if (isListening) return { url, stop };
    await Promise.race([ended, new Promise((resolve) => setTimeout(resolve, 25))]);
  }
}

/** What the parts of `npm run test:long -- engines` share. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readlink } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { execa } from "execa";
import { EDGE_PROGRAM } from "../../../scripts/build/edge-folder.ts";

export const CHECKOUT = fileURLToPath(new URL("../../..", import.meta.url));
export const API_TOKEN = "a-callers-token-of-the-engines-test";
export const BACKEND_TOKEN = "a-backends-token-of-the-engines-test";
export const TOKEN_VARIABLES = {
  SERVICE_API_TOKENS: `engines-test:${API_TOKEN}`,
  SERVICE_BACKEND_TOKEN: BACKEND_TOKEN,
  SERVICE_BACKEND_TOKENS: BACKEND_TOKEN,
};

const LOAD_PROGRAM = fileURLToPath(new URL("load.ts", import.meta.url));
const WAIT_MILLISECONDS = 180_000;
const POLL_MILLISECONDS = 200;

export interface Context {
  /** An empty folder on a disk, removed at the end. */
  readonly folder: string;
  readonly say: (line: string) => void;
  /** Called at the end, the last one first. */
  readonly atEnd: (cleanUp: () => Promise<unknown>) => void;
}

export type Command = readonly [program: string, ...options: string[]];

/** @throws with all that it said, if it fails. */
export async function run([program, ...options]: Command, environment: Record<string, string> = {}): Promise<string> {
  const { stdout } = await execa(program, options, { stdin: "ignore", cwd: CHECKOUT, env: environment });
  return stdout;
}

/** A network of its own, of loopback alone, by the process that keeps it. */
export async function startNetwork(atEnd: Context["atEnd"]): Promise<number> {
  const network = startDaemon(["unshare", "--net", "sh", "-c", "ip link set lo up && exec sleep infinity"]);
  atEnd(() => network.end("SIGKILL"));
  const { pid } = network;
  await until("a network of its own", async () => {
    const [own, ours] = await Promise.all(["self", pid].map((process) => readlink(`/proc/${process}/ns/net`)));
    return own !== ours && (await run(inNetworkOf(pid, ["ip", "link", "show", "up", "dev", "lo"]))) !== "";
  });
  return pid;
}

/** Runs the edge that `writeEdge` has written into a folder. */
export function edgeCommand(folder: string, address: string): Command {
  const { hostname, port } = new URL(`http://${address}`);
  const settings = [`SERVICE_EDGE_HOST=${hostname}`, `SERVICE_EDGE_PORT=${port}`];
  return ["env", ...settings, process.execPath, join(folder, EDGE_PROGRAM)];
}

/** Runs a command of this machine in the network of a process. */
export function inNetworkOf(pid: number, command: Command): Command {
  return ["nsenter", `--net=/proc/${pid}/ns/net`, ...command];
}

/** Asks from the network of a process, with any certificate accepted. */
export async function curl(pid: number, url: string, ...options: readonly string[]) {
  const command = ["curl", "--insecure", "--silent", "--write-out", "\n%{http_code}", ...options, url] as const;
  const { stdout } = await execa("nsenter", inNetworkOf(pid, command).slice(1), {
    reject: false,
    encoding: "latin1",
    stdin: "ignore",
  });
  const end = stdout.lastIndexOf("\n");
  return { status: Number(stdout.slice(end + 1)), body: stdout.slice(0, end) };
}

/** A render of this source. */
export function renderOptions(source: string): string[] {
  const headers = [`X-Service-Api-Token: ${API_TOKEN}`, "Content-Type: application/json"];
  return [...headers.flatMap((header) => ["--header", header]), "--data", JSON.stringify({ source })];
}

export async function until(what: string, check: () => Promise<boolean>): Promise<void> {
  const deadline = performance.now() + WAIT_MILLISECONDS;
  while (performance.now() < deadline) {
    if (await check().catch(() => false)) return;
    await delay(POLL_MILLISECONDS);
  }
  throw new Error(`never seen: ${what}`);
}

/** A program that runs until `end`. Its output is in its own file or goes nowhere. */
export function startDaemon([program, ...options]: Command, environment: Record<string, string> = {}) {
  const child = spawn(program, options, {
    cwd: CHECKOUT,
    env: { ...process.env, ...environment },
    stdio: ["ignore", "ignore", "ignore"],
  });
  const ended = once(child, "exit");
  return {
    child,
    pid: child.pid ?? -1,
    end: async (signal: NodeJS.Signals) => {
      child.kill(signal);
      await ended;
    },
  };
}

/** Renders sent at a URL while something happens there. */
export interface Load {
  /** Stops when at least this many were sent. */
  finish(): Promise<{ readonly sent: number; readonly lost: Readonly<Record<string, number>> }>;
}

/**
 * Starts clients in the network of a process, and waits for their first answer.
 *
 * @param connections `new`: one for each render. A server that ends closes a kept one, perhaps while a request is on
 *   its way.
 */
export async function startLoad(
  pid: number,
  url: string,
  atLeast: number,
  connections: "kept" | "new" = "kept",
): Promise<Load> {
  const parameters = [url, API_TOKEN, String(atLeast), connections];
  const [program, ...options] = inNetworkOf(pid, [process.execPath, LOAD_PROGRAM, ...parameters]);
  const child: ChildProcess = spawn(program, options, { stdio: ["pipe", "pipe", "inherit"] });
  let output = "";
  child.stdout?.setEncoding("utf8").on("data", (text: string) => {
    output += text;
  });
  const closed = once(child, "close");
  await until("the first answer to a client", async () => output !== "");
  return {
    finish: async () => {
      child.stdin?.end();
      await closed;
      return JSON.parse(output);
    },
  };
}

/** @throws if a render was lost. */
export async function expectNoLoss(load: Load, what: string, say: Context["say"]): Promise<void> {
  const { sent, lost } = await load.finish();
  if (Object.keys(lost).length > 0) throw new Error(`${what}: of ${sent} renders lost ${JSON.stringify(lost)}`);
  say(`${what}: 0 of ${sent} renders lost`);
}

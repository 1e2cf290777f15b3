/** The edge without Cloudflare, as `npm run build:edge` makes it: workerd, the gate in front of it, and what reads its log. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import { LogOutput } from "../logging/log-output.ts";
import { readIntegerSettings, SettingError } from "../rules/settings.ts";
import { Gate } from "./gate.ts";
import { capacityOf, ENOUGH_OPEN_FILES, FEW_OPEN_FILES, MIN_OPEN_FILES, parseMaxOpenFiles } from "./open-files.ts";
import { GATE_INTEGER_SETTINGS } from "./settings.ts";

const OPEN_RENDERS = "SERVICE_MAX_OPEN_RENDERS";
const REPORT_MILLISECONDS = 10_000;

const folder = import.meta.dirname;

const stdout = new LogOutput(process.stdout);
const stderr = new LogOutput(process.stderr);

try {
  const exitCode = await run();
  await Promise.all([stdout.end(), stderr.end()]);
  process.exit(exitCode);
} catch (error) {
  if (!(error instanceof SettingError)) throw error;
  stderr.writeLine(`${error.message}\n`);
  process.exitCode = 1;
}

async function run(): Promise<number> {
  const stopped = new Promise<"stopped">((resolve) => {
    for (const signal of ["SIGTERM", "SIGINT", "SIGHUP"] as const) process.on(signal, () => resolve("stopped"));
    // The program that started it for itself was killed: `npm start`, or a test.
    process.once("disconnect", () => resolve("stopped"));
    // It would keep this program running after a start that fails.
    process.channel?.unref();
  });
  const { edgePort } = readIntegerSettings(GATE_INTEGER_SETTINGS, process.env);
  const capacity = await readCapacity();
  const renders = Math.min(capacity.renders, Number(process.env[OPEN_RENDERS] || capacity.renders));
  const workerd = startWorkerd({ ...process.env, [OPEN_RENDERS]: String(renders) });
  const ended = once(workerd, "exit").then(
    ([exitCode, signal]) => `workerd has ended (${signal ?? exitCode})`,
    (error: Error) => `workerd does not start: ${error.message}`,
  );
  const port = await Promise.race([listeningPort(workerd), ended]);
  if (typeof port === "string") return fail(port);
  const gate = new Gate(port, capacity);
  try {
    await gate.listen(edgePort, process.env.SERVICE_EDGE_HOST || "::");
  } catch (error) {
    return fail(`the edge cannot listen: ${error instanceof Error ? error.message : String(error)}`);
  }
  const reports = setInterval(() => {
    const counts = gate.takeCounts();
    if (counts !== null) stderr.writeLine(`${JSON.stringify({ message: "at the limit on open files", ...counts })}\n`);
  }, REPORT_MILLISECONDS);
  const end = await Promise.race([stopped, ended]);
  clearInterval(reports);
  if (end !== "stopped") return fail(end);
  await gate.close();
  workerd.kill("SIGTERM");
  await ended;
  return workerd.exitCode ?? 1;
}

async function readCapacity() {
  const maxOpenFiles = parseMaxOpenFiles(await readFile("/proc/self/limits", "utf8"));
  if (maxOpenFiles < MIN_OPEN_FILES) {
    throw new SettingError(`The limit on open files is ${maxOpenFiles}; the edge needs ${MIN_OPEN_FILES} (ulimit -n).`);
  }
  const capacity = capacityOf(maxOpenFiles);
  if (maxOpenFiles < FEW_OPEN_FILES) {
    const message = "the limit on open files is low";
    const line = { message, maxOpenFiles, enough: ENOUGH_OPEN_FILES, ...capacity };
    stderr.writeLine(`${JSON.stringify(line)}\n`);
  }
  return capacity;
}

/** On a port of loopback that it reports, and with what the command line of this program adds. */
function startWorkerd(env: NodeJS.ProcessEnv): ChildProcess {
  const options = ["--socket-addr", "http=127.0.0.1:0", "--control-fd", "3", ...process.argv.slice(2)];
  const child = spawn(join(folder, "workerd"), ["serve", "config.capnp", ...options], {
    cwd: folder,
    env,
    stdio: ["ignore", "pipe", "pipe", "pipe"],
    // Ctrl-C in a terminal goes to each program of the group, and workerd would end with what is in flight.
    detached: true,
  });
  // However this program ends.
  process.on("exit", () => child.kill("SIGKILL"));
  if (child.pid !== undefined) killWithThisProgram(child, child.pid);
  const [, out, err] = child.stdio;
  for (const [log, source] of [
    [stdout, out],
    [stderr, err],
  ] as const)
    if (source !== null) void log.copy(source as Readable);
  return child;
}

/** A shell reads a pipe, which ends if this program is killed. It ends first if workerd does, whose number may then be another's. */
function killWithThisProgram(workerd: ChildProcess, pid: number): void {
  const shell = spawn("/bin/sh", ["-c", 'read -r _; kill -KILL "$1"', "sh", String(pid)], {
    // It needs none of the tokens.
    env: {},
    stdio: ["pipe", "ignore", "ignore"],
    detached: true,
  });
  // Without a shell, as before: the container or systemd ends workerd.
  shell.on("error", () => {});
  workerd.once("exit", () => shell.kill("SIGKILL"));
}

async function listeningPort(workerd: ChildProcess): Promise<number> {
  for await (const line of createInterface({ input: workerd.stdio[3] as Readable })) {
    const event = JSON.parse(line);
    if (event.event === "listen") return event.port;
  }
  // It has ended, and how is known elsewhere.
  return new Promise(() => {});
}

function fail(reason: string): 1 {
  stderr.writeLine(`${reason}\n`);
  return 1;
}

/** The edge as a program of Node, as `npm run build:edge` makes it and `npm start` runs it. */
import { readFile } from "node:fs/promises";
import { LogOutput } from "../../../protocol/node/log-output.ts";
import { SettingError } from "../../../rules/settings.ts";
import { startEdge } from "./edge.ts";
import {
  type Capacity,
  capacityOf,
  ENOUGH_OPEN_FILES,
  FEW_OPEN_FILES,
  MIN_OPEN_FILES,
  parseMaxOpenFiles,
} from "./open-files.ts";
import { StaticFiles } from "./static-files.ts";

const REPORT_MILLISECONDS = 10_000;

const stdout = new LogOutput(process.stdout);
const stderr = new LogOutput(process.stderr);

try {
  await run();
} catch (error) {
  if (!(error instanceof SettingError)) throw error;
  stderr.writeLine(`${error.message}\n`);
  process.exitCode = 1;
}

async function run(): Promise<void> {
  const stopped = new Promise<void>((resolve) => {
    for (const signal of ["SIGTERM", "SIGINT", "SIGHUP"] as const) process.on(signal, () => resolve());
    // The program that started it for itself was killed: `npm start`, or a test.
    process.once("disconnect", resolve);
    // An open channel would keep this program running after a start that fails.
    process.channel?.unref();
  });
  const capacity = await readCapacity();
  const files = await StaticFiles.read(import.meta.dirname);
  const { server, stop } = await startEdge(process.env, { capacity, files, stdout, stderr });
  const reports = setInterval(() => {
    const counts = server.takeCounts();
    if (counts !== null) stderr.writeLine(`${JSON.stringify({ message: "at the limit on open files", ...counts })}\n`);
  }, REPORT_MILLISECONDS);
  await stopped;
  clearInterval(reports);
  const isAnswered = await stop();
  await Promise.all([stdout.end(), stderr.end()]);
  process.exit(isAnswered ? 0 : 1);
}

async function readCapacity(): Promise<Capacity> {
  const maxOpenFiles = parseMaxOpenFiles(await readFile("/proc/self/limits", "utf8").catch(() => ""));
  if (maxOpenFiles < MIN_OPEN_FILES) {
    throw new SettingError(`The limit on open files is ${maxOpenFiles}; the edge needs ${MIN_OPEN_FILES} (ulimit -n).`);
  }
  const capacity = capacityOf(maxOpenFiles);
  if (maxOpenFiles < FEW_OPEN_FILES) {
    const { connections, requests, waitingRenders: renders } = capacity;
    const line = { maxOpenFiles, enough: ENOUGH_OPEN_FILES, connections, requests: requests.render, renders };
    stderr.writeLine(`${JSON.stringify({ message: "the limit on open files is low", ...line })}\n`);
  }
  return capacity;
}

/**
 * Finds what tests have left behind: files in their temporary folder, processes that use it, and new files in the
 * project outside version control.
 */
import { spawnSync } from "node:child_process";
import { readdirSync, readlinkSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { killIfThere } from "../backend/processes/proc.ts";
import { listPids, readProc } from "./support/backend/processes.ts";

/** Folders of the project into which tools write; elsewhere only new names at the top level count. */
const TOOL_FOLDERS = [".wrangler", ".local"];
/** Killed processes take a while to disappear on a busy machine. */
const END_TIMEOUT_MILLISECONDS = 10_000;
const LOOK_AGAIN_MILLISECONDS = 100;

export interface Surroundings {
  /** The temporary folder of the tests, empty before them. */
  readonly temporaryFolder: string;
  readonly projectFolder: string;
  /** The result of `projectFiles` before the tests. */
  readonly filesBefore: readonly string[];
}

/**
 * A line for each thing that is left behind.
 *
 * @param isInterrupted whether a signal has ended the tests: Vitest then stops nothing that they have started, so
 *   this does.
 */
export async function leftBehind(
  { temporaryFolder, projectFolder, filesBefore }: Surroundings,
  isInterrupted: boolean,
): Promise<string[]> {
  return [
    ...(await leftProcesses(temporaryFolder, isInterrupted)),
    // What tests had not removed yet when they were ended goes with the folder.
    ...(isInterrupted ? [] : readdirSync(temporaryFolder)).map((name) => `temporary file: ${name}`),
    ...projectFiles(projectFolder)
      .filter((path) => !filesBefore.includes(path))
      .map((path) => `file in the project: ${path}`),
  ];
}

/** The files at the top level of the project and in the folders of tools. */
export function projectFiles(projectFolder: string): string[] {
  const below = TOOL_FOLDERS.flatMap((name) => {
    const inside = read(() => readdirSync(join(projectFolder, name), { encoding: "utf8", recursive: true }), []);
    return inside.map((path) => join(name, path));
  });
  return [...readdirSync(projectFolder), ...below];
}

/** The processes that still exist after the timeout. */
async function leftProcesses(folder: string, isInterrupted: boolean): Promise<string[]> {
  const deadline = performance.now() + END_TIMEOUT_MILLISECONDS;
  for (;;) {
    if (isInterrupted) endWhatUses(folder);
    const found = processesOf(folder);
    if (found.length === 0 || performance.now() > deadline) return found;
    await delay(LOOK_AGAIN_MILLISECONDS);
  }
}

/** Kills the processes that name the folder in their arguments or environment, and removes the mounts in it. */
function endWhatUses(folder: string): void {
  // Not by their mounts: what a test of the superuser has mounted is a mount of every process of the machine.
  const isOurs = (pid: number) => ["cmdline", "environ"].some((name) => readProc(`${pid}/${name}`).includes(folder));
  for (const pid of listPids().filter(isOurs)) killIfThere(pid);
  const mountPoints = readProc("self/mountinfo")
    .split(/\s/)
    .map((word) => word.replaceAll("\\040", " "))
    .filter((path) => path.startsWith(folder));
  if (mountPoints.length > 0) spawnSync("umount", ["--lazy", ...mountPoints], { timeout: END_TIMEOUT_MILLISECONDS });
}

/** The processes that name the folder in their arguments, environment or mounts, or work in it. Linux only. */
function processesOf(folder: string): string[] {
  return listPids().flatMap((pid) => {
    const ofProcess = (name: string) => readProc(`${pid}/${name}`);
    const workingDirectory = read(() => readlinkSync(`/proc/${pid}/cwd`), "");
    const traces = [ofProcess("cmdline"), ofProcess("environ"), ofProcess("mountinfo"), workingDirectory];
    if (!traces.some((trace) => trace.includes(folder))) return [];
    return [`process ${pid}: ${ofProcess("cmdline").replaceAll("\0", " ").trim()}`];
  });
}

/** The result of reading a file or folder, or `otherwise` if it is missing or not readable. */
function read<Content>(attempt: () => Content, otherwise: Content): Content {
  try {
    return attempt();
  } catch {
    return otherwise;
  }
}

/**
 * What tests may leave behind, and must not: files in the temporary folder that is theirs, processes that have to do with
 * it, and new files where the project keeps what is not checked in.
 */
import { readdirSync, readlinkSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { processIds, readProc } from "./support/processes.ts";

/** Folders of the project into which tools write; elsewhere, new names at the top are enough. */
const TOOL_FOLDERS = [".wrangler", ".local"];
/** Processes that are killed are not gone at once, on a machine that is busy. */
const END_TIMEOUT_MILLISECONDS = 10_000;
const LOOK_AGAIN_MILLISECONDS = 100;

export interface Surroundings {
  /** The temporary folder of the tests, empty before them. */
  readonly temporaryFolder: string;
  readonly projectFolder: string;
  /** What `projectFiles` said before the tests. */
  readonly filesBefore: readonly string[];
}

/** A line for each thing that is left. */
export async function leftBehind({ temporaryFolder, projectFolder, filesBefore }: Surroundings): Promise<string[]> {
  return [
    ...(await leftProcesses(temporaryFolder)),
    ...readdirSync(temporaryFolder).map((name) => `temporary file: ${name}`),
    ...projectFiles(projectFolder)
      .filter((path) => !filesBefore.includes(path))
      .map((path) => `file in the project: ${path}`),
  ];
}

/** The files of the project as far as tools write some. */
export function projectFiles(projectFolder: string): string[] {
  const below = TOOL_FOLDERS.flatMap((name) => {
    const inside = read(() => readdirSync(join(projectFolder, name), { encoding: "utf8", recursive: true }), []);
    return inside.map((path) => join(name, path));
  });
  return [...readdirSync(projectFolder), ...below];
}

/** The processes that are still there after some patience. */
async function leftProcesses(folder: string): Promise<string[]> {
  const deadline = performance.now() + END_TIMEOUT_MILLISECONDS;
  for (;;) {
    const found = processesOf(folder);
    if (found.length === 0 || performance.now() > deadline) return found;
    await delay(LOOK_AGAIN_MILLISECONDS);
  }
}

/** Those that name the folder in their arguments, environment or mounts, or work in it. Only Linux says so. */
export function processesOf(folder: string): string[] {
  return processIds().flatMap((pid) => {
    const ofProcess = (name: string) => readProc(`${pid}/${name}`);
    const workingDirectory = read(() => readlinkSync(`/proc/${pid}/cwd`), "");
    const traces = [ofProcess("cmdline"), ofProcess("environ"), ofProcess("mountinfo"), workingDirectory];
    if (!traces.some((trace) => trace.includes(folder))) return [];
    return [`process ${pid}: ${ofProcess("cmdline").replaceAll("\0", " ").trim()}`];
  });
}

/** What is read of a file or folder; something else where it is not there, or not ours to read. */
function read<Content>(attempt: () => Content, otherwise: Content): Content {
  try {
    return attempt();
  } catch {
    return otherwise;
  }
}

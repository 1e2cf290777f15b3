/**
 * `npm test`: runs the tests in a temporary folder of their own, and fails where something is left when they have ended:
 * a file in that folder, a process that has to do with it, or a new file where the project keeps what is not checked in.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readdirSync, readFileSync, readlinkSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";

const PROJECT = fileURLToPath(new URL("../", import.meta.url));
const VITEST = join(PROJECT, "node_modules/vitest/vitest.mjs");
/** Folders of the project into which tools write; of the others, new names at the top are enough. */
const TOOL_FOLDERS = [".wrangler", ".local"];
/** Processes that are killed are not gone at once, on a machine that is busy. */
const END_TIMEOUT_MILLISECONDS = 10_000;
const LOOK_AGAIN_MILLISECONDS = 100;

// A short name: sockets are made below it, and their paths may have some hundred bytes only.
const folder = mkdtempSync(join(tmpdir(), "render-tests-"));
const filesBefore = new Set(projectFiles());

const vitest = spawn(process.execPath, [VITEST, "run", ...process.argv.slice(2)], {
  cwd: PROJECT,
  env: { ...process.env, TMPDIR: folder },
  stdio: "inherit",
});
// A terminal sends its signals to both; vitest ends in its own time.
process.on("SIGINT", () => {});
process.on("SIGTERM", () => vitest.kill("SIGTERM"));
const [exitCode] = await once(vitest, "close");
process.exitCode = exitCode ?? 1;

const left = [
  ...(await leftProcesses()).map(({ pid, command }) => `process ${pid}: ${command}`),
  ...readdirSync(folder).map((name) => `temporary file: ${name}`),
  ...projectFiles()
    .filter((path) => !filesBefore.has(path))
    .map((path) => `file in the project: ${path}`),
];
rmSync(folder, { recursive: true, force: true });
if (left.length > 0) {
  process.stderr.write(`The tests have left something behind:\n${left.map((line) => `  ${line}\n`).join("")}`);
  process.exitCode ||= 1;
}

function projectFiles(): string[] {
  const below = TOOL_FOLDERS.flatMap((name) =>
    read(() => readdirSync(join(PROJECT, name), { encoding: "utf8", recursive: true }), []).map((path) =>
      join(name, path),
    ),
  );
  return [...readdirSync(PROJECT), ...below];
}

interface LeftProcess {
  readonly pid: string;
  readonly command: string;
}

/** The processes that are still there after some patience. */
async function leftProcesses(): Promise<LeftProcess[]> {
  const deadline = performance.now() + END_TIMEOUT_MILLISECONDS;
  for (;;) {
    const found = processesOfFolder();
    if (found.length === 0 || performance.now() > deadline) return found;
    await delay(LOOK_AGAIN_MILLISECONDS);
  }
}

/** Those that name the folder in their arguments, environment or mounts, or work in it. Only Linux says so. */
function processesOfFolder(): LeftProcess[] {
  const pids = read(() => readdirSync("/proc"), []).filter((name) => /^\d+$/.test(name));
  return pids.flatMap((pid) => {
    const traces = [
      ...["cmdline", "environ", "mountinfo"].map((name) =>
        read(() => readFileSync(`/proc/${pid}/${name}`, "latin1"), ""),
      ),
      read(() => readlinkSync(`/proc/${pid}/cwd`), ""),
    ];
    if (!traces.some((trace) => trace.includes(folder))) return [];
    return [{ pid, command: (traces[0] ?? "").replaceAll("\0", " ").trim() }];
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

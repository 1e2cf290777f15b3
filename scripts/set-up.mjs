/**
 * Everything that a fresh clone needs before `npm start` and `npm test`: the npm packages (a current Node
 * among them) and Typst. npm calls it as `prestart` and `pretest`, so a run with nothing to do must cost next
 * to nothing.
 *
 * It runs before node_modules exists and on the machine's own Node: node:* imports only, no syntax or import
 * at the top level that Node 14 lacks, or an old Node would fail with a syntax error instead of the sentence
 * that refuses it. It writes to node_modules, to .local and to the user's cache, and nowhere else.
 */

import { spawn } from "node:child_process";
import { createHash, randomUUID } from "node:crypto";
import { existsSync, realpathSync } from "node:fs";
import {
  chmod,
  link,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  realpath,
  rename,
  rm,
  stat,
  utimes,
  writeFile,
} from "node:fs/promises";
import { homedir, hostname, constants as osConstants } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";

import {
  cachedTypstPath,
  cacheFolder,
  findOnPath,
  locateTypst,
  TYPST_RELEASES,
  TYPST_VERSION,
  typstProblem,
} from "./typst-location.mjs";

/** The first that has all that this script calls; the service itself runs on a newer one. */
const OLDEST_SET_UP_NODE_MAJOR = 20;
/** The first that runs the backend's TypeScript as it is. The npm package `node` brings it. */
const OLDEST_SERVICE_NODE_MAJOR = 24;
/** `rust-version` of typst-cli 0.15.1. */
const OLDEST_RUST = "1.92";

const PROGRESS_INTERVAL_MILLISECONDS = 10_000;
/** From a polite end to a kill: cargo and npm need well under a second to go. */
const KILL_GRACE_MILLISECONDS = 3_000;

const LOCK_POLL_MILLISECONDS = 250;
const LOCK_HEARTBEAT_MILLISECONDS = 5_000;
/** Twelve missed heartbeats. A reused process id can make a dead holder look alive, but only for so long. */
const LOCK_STALE_MILLISECONDS = 60_000;

/**
 * Lines of a failed command's output to keep from its beginning (npm says there what is wrong, and explains
 * its options after that) and from its end (a compiler's message, and where npm's own log is).
 */
const OUTPUT_HEAD_LINES = 20;
const OUTPUT_TAIL_LINES = 20;

/**
 * @typedef {object} DownloadLimits
 * @property {number} answerMilliseconds until the server's first words: some networks never say no
 * @property {number} downloadMilliseconds for the body after that
 * @property {number} archiveBytes the archives have about 20 MB
 */

/** @type {DownloadLimits} */
const RELEASE_LIMITS = {
  answerMilliseconds: 20_000,
  downloadMilliseconds: 300_000,
  archiveBytes: 128 * 1024 * 1024,
};

const PROJECT_FOLDER = path.resolve(fileURLToPath(new URL("..", import.meta.url)));
const NODE_MODULES = path.join(PROJECT_FOLDER, "node_modules");
const PROJECT_BIN = path.join(NODE_MODULES, ".bin");
const PACKAGES_STAMP = path.join(NODE_MODULES, ".set-up-stamp");
/** In the folder that git ignores, and not in node_modules: `npm ci` empties that. */
const PACKAGES_LOCK = path.join(PROJECT_FOLDER, ".local", "set-up.lock");

/** @typedef {import("node:stream").Readable} Readable */
/** @typedef {import("./typst-location.mjs").Environment} Environment */
/** @typedef {import("./typst-location.mjs").TypstRelease} TypstRelease */

/** A failure whose message already says what failed and what to do next. */
class SetUpError extends Error {}

/** A signal asked this process to end; every `finally` on the way out cleans up. */
class Interrupted extends Error {}

// -----------------------------------------------------------------------------------------------------------
// The whole

async function main() {
  const oldNode = oldNodeProblem(process.versions.node);
  if (oldNode !== undefined) return fail(oldNode);

  const interruption = new AbortController();
  const exitCode = endOnSignals(interruption);
  try {
    await setUp(interruption.signal);
  } catch (error) {
    // What a step says that was told to stop is noise.
    if (interruption.signal.aborted) fail("Interrupted. Run it again to finish.", exitCode());
    else fail(failureMessage(error));
  }
}

/** @param {AbortSignal} signal */
async function setUp(signal) {
  const located = await locateTypst();
  const missing = "error" in located;
  // Before the packages: who has mistyped a setting should not wait for npm to hear of it.
  if (missing && located.reason === "wrong_setting") throw new SetUpError(located.error);

  await ensurePackages(signal);
  const typst = missing ? await ensureCachedTypst(signal) : located.path;
  say(`ready (Typst ${TYPST_VERSION}: ${typst})`);
}

/**
 * @param {string} version
 * @returns {string | undefined}
 */
export function oldNodeProblem(version) {
  if (majorOf(version) >= OLDEST_SET_UP_NODE_MAJOR) return undefined;
  const wanted = `the set-up needs Node ${OLDEST_SET_UP_NODE_MAJOR} or newer`;
  return `This is Node ${version}, and ${wanted}: install one (https://nodejs.org) and run it again.`;
}

/**
 * @param {AbortController} interruption
 * @returns {() => number} the exit code that tells a shell which signal it was
 */
function endOnSignals(interruption) {
  let exitCode = 1;
  for (const name of /** @type {const} */ (["SIGINT", "SIGTERM", "SIGHUP"])) {
    process.on(name, () => {
      exitCode = 128 + osConstants.signals[name];
      interruption.abort();
    });
  }
  return () => exitCode;
}

/**
 * @param {string} message
 * @param {number} exitCode
 */
function fail(message, exitCode = 1) {
  process.stderr.write(`set-up: ${message}\n`);
  process.exitCode = exitCode;
}

/** @param {string} line */
function say(line) {
  process.stdout.write(`set-up: ${line}\n`);
}

/** @param {unknown} error */
function failureMessage(error) {
  if (error instanceof SetUpError) return error.message;
  const reason = error instanceof Error ? error.message : String(error);
  return (
    `It failed: ${reason}. It must be able to write to ${PROJECT_FOLDER} and to ${cacheFolder()} ` +
    "(XDG_CACHE_HOME moves the latter). See to that and run it again."
  );
}

// -----------------------------------------------------------------------------------------------------------
// npm packages

/** @param {AbortSignal} signal */
async function ensurePackages(signal) {
  if (await packagesAreCurrent()) return;
  await withLock(PACKAGES_LOCK, "to install the npm packages", signal, async () => {
    // Whoever held the lock before has probably installed them.
    if (await packagesAreCurrent()) return;
    // Read before npm runs: a package.json that changes meanwhile must count as stale.
    const stamp = await packagesStamp();
    await installPackages(signal);
    await checkServiceNode(signal);
    await writeFile(PACKAGES_STAMP, stamp);
  });
}

async function packagesAreCurrent() {
  const [expected, found] = await Promise.all([packagesStamp(), readText(PACKAGES_STAMP)]);
  return expected === found;
}

/**
 * The platform is part of it because esbuild, workerd and Node are binaries: a node_modules that came along
 * in a folder shared with a container is stale there.
 */
async function packagesStamp() {
  const hash = createHash("sha256");
  for (const name of ["package-lock.json", "package.json"]) {
    hash.update(await readFile(path.join(PROJECT_FOLDER, name)));
  }
  return `${hash.digest("hex")} ${process.platform}-${process.arch}\n`;
}

/** @param {AbortSignal} signal */
async function installPackages(signal) {
  say("installing the npm packages (npm ci)");
  const npm = await npmCommand(process.env);
  // A NODE_ENV of production would leave out what the tests need, and the stamp would not know.
  const args = [...npm.args, "ci", "--include=dev", "--no-audit", "--no-fund", "--no-progress"];
  // The old Node that runs npm gets a warning from every package that wants a newer one. That is expected.
  const isNoise = (/** @type {string} */ line) => line.includes("EBADENGINE");
  const options = { cwd: PROJECT_FOLDER, env: npm.env, signal, isNoise };
  const outcome = await withProgress(
    (elapsed) => `npm ci: ${elapsed}`,
    () => runCommand(npm.file, args, options),
  );
  if (outcome.problem === undefined) return;
  const advice = "See to what npm's output below names (often the network) and run the set-up again.";
  throw new SetUpError(withOutput(`\`npm ci\` failed: ${outcome.problem}. ${advice}`, outcome.output));
}

/**
 * The npm that called this script, else the one on PATH; never on the project's own Node, which `npm ci`
 * deletes.
 *
 * @param {Environment} env
 * @returns {Promise<{ file: string, args: string[], env: Environment }>}
 */
async function npmCommand(env) {
  const folders = (env.PATH ?? "").split(path.delimiter).filter((folder) => folder !== PROJECT_BIN);
  const npmEnv = { ...env, PATH: folders.join(path.delimiter) };
  const cli = env.npm_execpath ?? "";
  // pnpm and yarn set it too, to themselves.
  if (!/^npm.*\.[cm]?js$/.test(path.basename(cli))) return { file: "npm", args: [], env: npmEnv };

  const nodes = [env.npm_node_execpath ?? "", process.execPath, ...(await findOnPath("node", npmEnv))];
  const node = nodes.find((file) => file !== "" && !file.startsWith(NODE_MODULES + path.sep));
  return { file: node ?? process.execPath, args: [cli], env: npmEnv };
}

/** @param {AbortSignal} signal */
async function checkServiceNode(signal) {
  const node = path.join(PROJECT_BIN, "node");
  const outcome = await runCommand(node, ["--version"], { cwd: PROJECT_FOLDER, env: process.env, signal });
  const version = outcome.output[0] ?? "";
  if (outcome.problem === undefined && majorOf(version) >= OLDEST_SERVICE_NODE_MAJOR) return;

  const found = outcome.problem ?? `it says ${version}`;
  throw new SetUpError(
    `npm has run, but ${node} is not Node ${OLDEST_SERVICE_NODE_MAJOR} or newer: ${found}. It comes ` +
      "with the install script of the npm package `node`, which needs `npm` on PATH, the registry, and scripts " +
      "allowed: if `npm config get ignore-scripts` says true, run " +
      "`npm_config_ignore_scripts=false node scripts/set-up.mjs`.",
  );
}

// -----------------------------------------------------------------------------------------------------------
// Typst

/**
 * @param {AbortSignal} signal
 * @returns {Promise<string>}
 */
async function ensureCachedTypst(signal) {
  const cache = cacheFolder();
  const lock = path.join(cache, `typst-${TYPST_VERSION}.lock`);
  return withLock(lock, `to install Typst ${TYPST_VERSION}`, signal, async () => {
    const target = cachedTypstPath();
    // Whoever held the lock before has probably installed it.
    if ((await typstProblem(target)) === undefined) return target;
    const workPrefix = path.join(cache, `typst-${TYPST_VERSION}.work-`);
    await removeLeftovers(workPrefix);
    const workFolder = await mkdtemp(workPrefix);
    try {
      await installTypst(await obtainTypst(workFolder, signal), target);
    } finally {
      await rm(workFolder, { recursive: true, force: true, maxRetries: 3 });
    }
    return target;
  });
}

/**
 * A set-up that was killed could not clean up after itself. Only the holder of the lock has a folder like
 * these, so all that are there now are dead.
 *
 * @param {string} prefix
 */
async function removeLeftovers(prefix) {
  const folder = path.dirname(prefix);
  const leftovers = (await readdir(folder)).filter((name) => name.startsWith(path.basename(prefix)));
  for (const name of leftovers) await rm(path.join(folder, name), { recursive: true, force: true });
}

/**
 * @param {string} workFolder
 * @param {AbortSignal} signal
 * @returns {Promise<string>} a binary inside the work folder that answers with the right version
 */
async function obtainTypst(workFolder, signal) {
  const release = TYPST_RELEASES[`${process.platform}-${process.arch}`];
  const fetched = await fetchRelease(release, workFolder, signal);
  if ("binary" in fetched) return fetched.binary;
  say(`Typst ${TYPST_VERSION}: ${fetched.reason}; it is being built instead`);
  return buildTypst(workFolder, signal);
}

/**
 * By rename within one file system, so that nobody ever sees half a binary there.
 *
 * @param {string} binary
 * @param {string} target
 */
async function installTypst(binary, target) {
  await mkdir(path.dirname(target), { recursive: true });
  await chmod(binary, 0o755);
  await rename(binary, target);
}

// -----------------------------------------------------------------------------------------------------------
// Typst from the official release

/**
 * Downloads, checks and unpacks the official release.
 *
 * @param {TypstRelease | undefined} release
 * @param {string} workFolder
 * @param {AbortSignal} signal
 * @param {DownloadLimits} limits
 * @returns {Promise<{ binary: string } | { reason: string }>} the reason why another way must be found
 */
export async function fetchRelease(release, workFolder, signal, limits = RELEASE_LIMITS) {
  if (release === undefined) return { reason: `there is no release for ${process.platform}-${process.arch}` };
  const { host } = new URL(release.url);
  say(`downloading Typst ${TYPST_VERSION} from ${host}`);
  const answer = await withProgress(
    (elapsed) => `Typst download: ${elapsed}`,
    () => download(release.url, signal, limits),
  );
  if ("reason" in answer) return { reason: `the release on ${host} cannot be reached (${answer.reason})` };
  refuseOtherChecksum(release, answer.content);
  return unpackRelease(release, answer.content, workFolder, signal);
}

/**
 * A wrong checksum is an attack, or a proxy that answers for others. Either way nothing may go on from here:
 * falling back to the build would hide it.
 *
 * @param {TypstRelease} release
 * @param {Uint8Array} content
 */
function refuseOtherChecksum(release, content) {
  const sha256 = createHash("sha256").update(content).digest("hex");
  if (sha256 === release.sha256) return;
  throw new SetUpError(
    `${release.url} has the SHA-256 ${sha256}, not the pinned ${release.sha256}; nothing of it was ` +
      "unpacked. Find out what answers in place of the release (a proxy, a sign-in page?) and run the set-up " +
      `again, or get Typst ${TYPST_VERSION} yourself and name the binary in SERVICE_TYPST_BIN.`,
  );
}

/**
 * @param {TypstRelease} release
 * @param {Uint8Array} content
 * @param {string} workFolder
 * @param {AbortSignal} signal
 * @returns {Promise<{ binary: string } | { reason: string }>}
 */
async function unpackRelease(release, content, workFolder, signal) {
  const archive = path.join(workFolder, "release.tar.xz");
  await writeFile(archive, content);
  // -o: root would otherwise give the binary to whoever has the packager's user id on this machine.
  const args = ["-xJf", archive, "-o", "-C", workFolder];
  const outcome = await runCommand("tar", args, { cwd: workFolder, env: process.env, signal });
  if (outcome.problem !== undefined) {
    return { reason: `\`tar -xJf\` cannot unpack the release (${outcome.problem}; is xz installed?)` };
  }
  const binary = path.join(workFolder, release.folder, "typst");
  const problem = await typstProblem(binary);
  return problem === undefined ? { binary } : { reason: `the release does not work here: ${problem}` };
}

/**
 * @param {string} url
 * @param {AbortSignal} signal
 * @param {DownloadLimits} limits
 * @returns {Promise<{ content: Uint8Array } | { reason: string }>}
 */
async function download(url, signal, limits) {
  if (signal.aborted) throw new Interrupted();
  const controller = new AbortController();
  const stop = () => controller.abort();
  signal.addEventListener("abort", stop, { once: true });
  let timer = setTimeout(stop, limits.answerMilliseconds);
  try {
    const response = await fetch(url, { signal: controller.signal });
    if (response.status !== 200 || response.body === null) return { reason: `HTTP ${response.status}` };
    clearTimeout(timer);
    timer = setTimeout(stop, limits.downloadMilliseconds);
    return { content: await readAtMost(response.body, limits.archiveBytes) };
  } catch (error) {
    if (signal.aborted) throw new Interrupted();
    return { reason: controller.signal.aborted ? "it takes too long" : networkReason(error) };
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", stop);
    // Drops a connection whose body nobody has read.
    controller.abort();
  }
}

/**
 * @param {AsyncIterable<Uint8Array>} body
 * @param {number} limitBytes
 */
async function readAtMost(body, limitBytes) {
  /** @type {Uint8Array[]} */
  const chunks = [];
  let sizeBytes = 0;
  for await (const chunk of body) {
    sizeBytes += chunk.byteLength;
    if (sizeBytes > limitBytes) throw new Error(`more than ${limitBytes} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

/** @param {unknown} error */
function networkReason(error) {
  if (!(error instanceof Error)) return String(error);
  // fetch itself says only "fetch failed"; the system's code is in the cause.
  const { cause } = error;
  if (typeof cause === "object" && cause !== null && "code" in cause) return String(cause.code);
  return error.message;
}

// -----------------------------------------------------------------------------------------------------------
// Typst from its source

/**
 * @param {string} workFolder
 * @param {AbortSignal} signal
 * @returns {Promise<string>}
 */
async function buildTypst(workFolder, signal) {
  const cargo = await findBuildTools(signal);
  const env = await cargoEnvironment(cargo, process.env);
  say(`building Typst ${TYPST_VERSION} with ${cargo}: about ten minutes on two cores, once for this user`);

  const installRoot = path.join(workFolder, "install");
  const args = ["install", "--locked", `typst-cli@${TYPST_VERSION}`, "--root", installRoot];
  // In the work folder too, since cargo's own choice is TMPDIR: often small, and not cleaned up after a kill.
  args.push("--target-dir", path.join(workFolder, "target"));
  const watch = watchCargo();
  // In the work folder, so that no .cargo/config.toml or rust-toolchain.toml of a folder above has a say.
  const options = { cwd: workFolder, env, signal, onLine: watch.onLine, isNoise: isCargoProgress };
  const outcome = await withProgress(
    (elapsed) => `Typst build: ${elapsed}, ${watch.describe()}`,
    () => runCommand(cargo, args, options),
  );
  const binary = path.join(installRoot, "bin", "typst");
  const problem = outcome.problem ?? (await typstProblem(binary));
  if (problem !== undefined) throw new SetUpError(buildFailureMessage(problem, outcome.output));
  return binary;
}

/**
 * @param {AbortSignal} signal
 * @returns {Promise<string>} the path of cargo
 */
async function findBuildTools(signal) {
  const { env } = process;
  // rustup's installer adds its folder to the shell's start-up files: a shell that was open before lacks it.
  const rustupBin = path.join(env.HOME || homedir(), ".cargo", "bin");
  const searchPath = [env.PATH ?? "", rustupBin].join(path.delimiter);
  const [cargo] = await findOnPath("cargo", { ...env, PATH: searchPath });
  // Run, not only looked for: macOS has a `cc` that does nothing but say that the tools are missing.
  const compiler = await runCommand("cc", ["--version"], { cwd: PROJECT_FOLDER, env, signal });
  if (cargo !== undefined && compiler.problem === undefined) return cargo;

  const missing = [
    ...(cargo === undefined ? ["Rust (`cargo`)"] : []),
    ...(compiler.problem === undefined ? [] : ["C compiler (`cc`)"]),
  ];
  throw new SetUpError(missingToolsMessage(missing.join(" and no ")));
}

/** @param {string} missing */
function missingToolsMessage(missing) {
  const rustup = "`curl --proto '=https' --tlsv1.2 -sSf https://sh.rustup.rs | sh` (https://rustup.rs)";
  const remedy =
    process.platform === "darwin"
      ? `run \`xcode-select --install\` for the C compiler and ${rustup} for Rust`
      : "run `apt-get install -y build-essential cargo` (Debian, Ubuntu) or your system's equivalent; if its " +
        `cargo is older than ${OLDEST_RUST}, take Rust from ${rustup}`;
  return (
    `Typst ${TYPST_VERSION} has to be built here, and there is no ${missing}. To get what is missing, ` +
    `${remedy}; then run the set-up again. Or name a Typst ${TYPST_VERSION} binary in SERVICE_TYPST_BIN.`
  );
}

/**
 * @param {string} problem
 * @param {readonly string[]} output
 */
function buildFailureMessage(problem, output) {
  const advice =
    `It needs Rust ${OLDEST_RUST} or newer (\`rustup update stable\`), a C compiler and the crates.io ` +
    `registry. See to that and run the set-up again, or name a Typst ${TYPST_VERSION} binary in SERVICE_TYPST_BIN.`;
  return withOutput(`Building Typst ${TYPST_VERSION} failed: ${problem}. ${advice}`, output);
}

/**
 * `cargo` may be rustup's proxy, which looks for its toolchains below HOME. Under another HOME (a container,
 * a service account, `sudo`) it finds none, though they are still beside the proxy. CARGO_HOME is left alone:
 * it is written to.
 *
 * @param {string} cargo
 * @param {Environment} env
 * @returns {Promise<Environment>}
 */
export async function cargoEnvironment(cargo, env) {
  const cargoEnv = {
    ...env,
    CARGO_TERM_COLOR: "never",
    // The progress bar is the only thing that names the total; without a terminal it must be asked for, with
    // a width.
    CARGO_TERM_PROGRESS_WHEN: "always",
    CARGO_TERM_PROGRESS_WIDTH: "80",
  };
  if (env.RUSTUP_HOME || existsSync(path.join(env.HOME || homedir(), ".rustup"))) return cargoEnv;

  const proxies = [cargo, await realpath(cargo).catch(() => cargo)];
  const homes = proxies.filter((file) => path.dirname(file).endsWith(path.join(path.sep, ".cargo", "bin")));
  const rustupHomes = homes.map((file) => path.join(path.dirname(file), "..", "..", ".rustup"));
  const rustupHome = rustupHomes.find((folder) => existsSync(folder));
  return rustupHome === undefined ? cargoEnv : { ...cargoEnv, RUSTUP_HOME: rustupHome };
}

/** Reads how far cargo is from its own lines. */
export function watchCargo() {
  let crates = 0;
  let step = "";
  return {
    /** @param {string} line */
    onLine(line) {
      if (/^\s*Compiling /.test(line)) crates += 1;
      const bar = /^\s*Building \[.*\] (\d+)\/(\d+)/.exec(line);
      if (bar !== null) step = ` (step ${bar[1]} of ${bar[2]})`;
    },
    describe() {
      return crates === 0 ? "fetching the crates" : `${crates} crates compiled${step}`;
    },
  };
}

/** @param {string} line */
function isCargoProgress(line) {
  return /^\s*(Building|Compiling|Downloading|Downloaded|Fetch|Updating) /.test(line);
}

// -----------------------------------------------------------------------------------------------------------
// Commands

/**
 * @typedef {object} CommandOptions
 * @property {string} cwd
 * @property {Environment} env
 * @property {AbortSignal} signal
 * @property {(line: string) => void} [onLine]
 * @property {(line: string) => boolean} [isNoise] of lines that say nothing about a failure
 *
 * @typedef {object} CommandOutcome
 * @property {string} [problem] why it failed; absent on success
 * @property {string[]} output the first and the last lines of stdout and stderr, as they came
 */

/**
 * Runs a command to its end, or ends it with all its descendants when the signal says so.
 *
 * @param {string} file
 * @param {readonly string[]} args
 * @param {CommandOptions} options
 * @returns {Promise<CommandOutcome>}
 */
function runCommand(file, args, { cwd, env, signal, onLine, isNoise }) {
  if (signal.aborted) return Promise.reject(new Interrupted());
  return new Promise((resolve, reject) => {
    // A process group of its own: cargo's compilers and npm's scripts have to go with it. A session of its
    // own, too, so nothing in it can ask the terminal for a password.
    const child = spawn(file, args, { cwd, env, detached: true, stdio: ["ignore", "pipe", "pipe"] });
    const excerpt = outputExcerpt();
    for (const stream of [child.stdout, child.stderr]) {
      onEachLine(stream, (line) => {
        onLine?.(line);
        if (!isNoise?.(line)) excerpt.add(line);
      });
    }
    const stopKilling = killGroupOnAbort(child, signal);
    /** @param {string | undefined} problem */
    const finish = (problem) => {
      stopKilling();
      if (signal.aborted) reject(new Interrupted());
      else resolve({ ...(problem !== undefined && { problem }), output: excerpt.lines() });
    };
    child.once("error", (error) => finish(startProblem(file, error)));
    child.once("close", (exitCode, exitSignal) => {
      if (exitCode === 0) finish(undefined);
      else finish(exitCode === null ? `ended by ${exitSignal}` : `exit code ${exitCode}`);
    });
  });
}

/**
 * @param {string} file
 * @param {NodeJS.ErrnoException} error
 */
function startProblem(file, error) {
  return error.code === "ENOENT" ? `there is no \`${file}\`` : error.message;
}

function outputExcerpt() {
  /** @type {string[]} */
  const head = [];
  /** @type {string[]} */
  const tail = [];
  let dropped = 0;
  return {
    /** @param {string} line */
    add(line) {
      if (head.length < OUTPUT_HEAD_LINES) head.push(line);
      else tail.push(line);
      if (tail.length <= OUTPUT_TAIL_LINES) return;
      tail.shift();
      dropped += 1;
    },
    lines() {
      return dropped === 0 ? [...head, ...tail] : [...head, `... (${dropped} more lines) ...`, ...tail];
    },
  };
}

/**
 * @param {import("node:child_process").ChildProcessByStdio<null, Readable, Readable>} child
 * @param {AbortSignal} signal
 * @returns {() => void}
 */
function killGroupOnAbort(child, signal) {
  /** @type {NodeJS.Timeout | undefined} */
  let timer;
  const onAbort = () => {
    killGroup(child.pid, "SIGTERM");
    timer = setTimeout(() => {
      killGroup(child.pid, "SIGKILL");
      // Something that left the group may still hold the pipes, and "close" would wait for it.
      child.stdout.destroy();
      child.stderr.destroy();
    }, KILL_GRACE_MILLISECONDS);
  };
  signal.addEventListener("abort", onAbort, { once: true });
  return () => {
    clearTimeout(timer);
    signal.removeEventListener("abort", onAbort);
  };
}

/**
 * @param {number | undefined} leader
 * @param {NodeJS.Signals} name
 */
function killGroup(leader, name) {
  if (leader === undefined) return;
  try {
    process.kill(-leader, name);
  } catch {
    // Gone already, which is what was wanted.
  }
}

/**
 * @param {Readable} stream
 * @param {(line: string) => void} onLine
 */
function onEachLine(stream, onLine) {
  let rest = "";
  stream.setEncoding("utf8");
  stream.on("data", (/** @type {string} */ text) => {
    // A progress bar ends its lines with a carriage return only.
    const lines = (rest + text).split(/[\r\n]+/);
    rest = lines.pop() ?? "";
    for (const line of lines) if (line.trim() !== "") onLine(line.trimEnd());
  });
  stream.on("end", () => {
    if (rest.trim() !== "") onLine(rest.trimEnd());
  });
}

/**
 * @template T
 * @param {(elapsed: string) => string} describe
 * @param {() => Promise<T>} action
 * @returns {Promise<T>}
 */
async function withProgress(describe, action) {
  const startedMilliseconds = Date.now();
  const timer = setInterval(
    () => say(describe(elapsedText(Date.now() - startedMilliseconds))),
    PROGRESS_INTERVAL_MILLISECONDS,
  );
  try {
    return await action();
  } finally {
    clearInterval(timer);
  }
}

/** @param {number} milliseconds */
function elapsedText(milliseconds) {
  const seconds = Math.round(milliseconds / 1000);
  return seconds < 60 ? `${seconds} s` : `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
}

/**
 * @param {string} message
 * @param {readonly string[]} output
 */
function withOutput(message, output) {
  return [message, ...output.map((line) => `  ${line}`)].join("\n");
}

// -----------------------------------------------------------------------------------------------------------
// One set-up at a time

/**
 * Node has no lock that the system releases when a process dies. So the file names its holder, who touches it
 * every few seconds; it is stale when the holder is dead or has been silent for long.
 *
 * @template T
 * @param {string} file
 * @param {string} purpose
 * @param {AbortSignal} signal
 * @param {() => Promise<T>} action
 * @returns {Promise<T>}
 */
async function withLock(file, purpose, signal, action) {
  await mkdir(path.dirname(file), { recursive: true });
  const claim = await takeLock(file, purpose, signal);
  const heartbeat = setInterval(() => {
    const now = new Date();
    utimes(file, now, now).catch(() => {});
  }, LOCK_HEARTBEAT_MILLISECONDS);
  try {
    return await action();
  } finally {
    clearInterval(heartbeat);
    // Somebody may have taken it over, after this computer slept for instance: then it is theirs.
    if ((await readText(file)) === claim) await rm(file, { force: true });
  }
}

/**
 * @param {string} file
 * @param {string} purpose
 * @param {AbortSignal} signal
 * @returns {Promise<string>} what the lock file says while it is ours
 */
async function takeLock(file, purpose, signal) {
  const claim = JSON.stringify({ process: process.pid, host: hostname(), id: randomUUID() });
  if (await createFile(file, claim)) return claim;
  await breakStaleLock(file);
  if (await createFile(file, claim)) return claim;

  say(`waiting for another set-up ${purpose} (${file})`);
  return withProgress(
    (elapsed) => `still waiting for the other set-up: ${elapsed}`,
    async () => {
      for (;;) {
        await pause(LOCK_POLL_MILLISECONDS, signal);
        await breakStaleLock(file);
        if (await createFile(file, claim)) return claim;
      }
    },
  );
}

/**
 * @param {string} file
 * @param {string} content
 * @returns {Promise<boolean>} false when there is one already
 */
async function createFile(file, content) {
  try {
    await writeFile(file, content, { flag: "wx" });
    return true;
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "EEXIST") return false;
    throw error;
  }
}

/** @param {string} file */
async function breakStaleLock(file) {
  const seen = await readText(file);
  if (seen === undefined || !(await isStaleLock(file, seen))) return;
  // Moved away before it is removed: of two that find it stale, the slower one may move a lock that the
  // faster one has made since. It sees so in the content, and puts it back.
  const moved = `${file}.${randomUUID()}`;
  await rename(file, moved).catch(() => {});
  const taken = await readText(moved);
  if (taken !== undefined && taken !== seen) await link(moved, file).catch(() => {});
  await rm(moved, { force: true });
}

/**
 * @param {string} file
 * @param {string} claim
 */
async function isStaleLock(file, claim) {
  const touchedMilliseconds = (await stat(file).catch(() => undefined))?.mtimeMs;
  if (touchedMilliseconds === undefined) return false;
  return Date.now() - touchedMilliseconds > LOCK_STALE_MILLISECONDS || isHolderDead(claim);
}

/** @param {string} claim */
function isHolderDead(claim) {
  const holder = /^\{"process":(\d+),"host":"([^"]*)"/.exec(claim);
  // Another host's process ids say nothing here, and neither does a file whose holder is still writing it.
  if (holder === null || holder[2] !== hostname()) return false;
  try {
    process.kill(Number(holder[1]), 0);
    return false;
  } catch (error) {
    // EPERM: it lives, and is somebody else's.
    return error instanceof Error && "code" in error && error.code === "ESRCH";
  }
}

/**
 * @param {number} milliseconds
 * @param {AbortSignal} signal
 * @returns {Promise<void>}
 */
function pause(milliseconds, signal) {
  if (signal.aborted) return Promise.reject(new Interrupted());
  return new Promise((resolve, reject) => {
    const onAbort = () => {
      clearTimeout(timer);
      reject(new Interrupted());
    };
    const timer = setTimeout(() => {
      signal.removeEventListener("abort", onAbort);
      resolve();
    }, milliseconds);
    signal.addEventListener("abort", onAbort, { once: true });
  });
}

// -----------------------------------------------------------------------------------------------------------

/**
 * @param {string} file
 * @returns {Promise<string | undefined>}
 */
async function readText(file) {
  try {
    return await readFile(file, "utf8");
  } catch {
    return undefined;
  }
}

/** @param {string} version `v26.10.0` or `26.10.0` */
function majorOf(version) {
  const digits = /^v?(\d+)\./.exec(version)?.[1];
  return digits === undefined ? 0 : Number(digits);
}

// Tests import this file; only `node scripts/set-up.mjs` runs it.
const started = process.argv[1];
if (started !== undefined && realpathSync(started) === fileURLToPath(import.meta.url)) await main();

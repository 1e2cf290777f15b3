/**
 * Where a program of the service may already be: named by a setting, on PATH, or in the user's cache, in this order.
 *
 * It only looks. It never downloads, builds or writes, and it runs before node_modules exists: node:* imports
 * only, and only such as Node 14 has too, so that an old Node gets as far as the sentence that refuses it.
 */

import { execFile } from "node:child_process";
import { constants } from "node:fs";
import { access, realpath, stat } from "node:fs/promises";
import { homedir } from "node:os";
import path from "node:path";

/** `typst --version` takes 3 ms; a program that needs longer than this is not the one that is meant. */
const VERSION_CHECK_LIMIT_MILLISECONDS = 10_000;

/** @typedef {Readonly<Record<string, string | undefined>>} Environment */

/**
 * @typedef {object} Program
 * @property {string} title its own name, with the version where only one will do
 * @property {string} name of its file on PATH
 * @property {string} setting the variable that names its file
 * @property {(env: Environment) => string} cachedPath where the set-up puts it
 * @property {(file: string, env: Environment) => Promise<string | undefined>} problem
 *   why a file is not this program; undefined when it is
 *
 * @typedef {"setting" | "path" | "cache"} ProgramSource
 * @typedef {{ path: string, source: ProgramSource }} LocatedProgram
 * @typedef {{ error: string, reason: "wrong_setting" | "not_found" }} MissingProgram
 *   `wrong_setting` must stop the caller: who names a binary does not want another one
 */

/**
 * The project's folder in the user's cache: outside the checkout, so that a fresh clone does not build Typst
 * again.
 *
 * @param {Environment} env
 * @param {string} platform
 */
export function cacheFolder(env = process.env, platform = process.platform) {
  const xdgCacheHome = env.XDG_CACHE_HOME ?? "";
  const home = env.HOME || homedir();
  const platformCache = path.join(home, ...(platform === "darwin" ? ["Library", "Caches"] : [".cache"]));
  // The XDG specification says to ignore a relative path: each working directory would have a cache of its
  // own.
  const cache = path.isAbsolute(xdgCacheHome) ? xdgCacheHome : platformCache;
  return path.join(cache, "document-rendering-service");
}

/**
 * Finds a program where it may already be. Every candidate is run, since a name proves nothing.
 *
 * @param {Program} program
 * @param {Environment} env
 * @returns {Promise<LocatedProgram | MissingProgram>}
 */
export async function locateProgram(program, env) {
  const setting = env[program.setting];
  if (setting) return locateBySetting(program, setting, env);

  /** @type {string[]} */
  const rejected = [];
  for (const candidate of await searchCandidates(program, env)) {
    const problem = await program.problem(candidate.path, env);
    if (problem === undefined) return candidate;
    rejected.push(problem);
  }
  return { error: notFoundMessage(program, rejected), reason: "not_found" };
}

/**
 * Every executable file of that name on PATH, first one first.
 *
 * @param {string} name
 * @param {Environment} env
 * @returns {Promise<string[]>}
 */
export async function findOnPath(name, env = process.env) {
  // A relative or empty entry means "the folder I happen to be in": a program from there is never meant.
  const folders = (env.PATH ?? "").split(path.delimiter).filter((folder) => path.isAbsolute(folder));
  const files = [...new Set(folders)].map((folder) => path.join(folder, name));
  const executable = await Promise.all(files.map(isExecutableFile));
  return files.filter((_, index) => executable[index]);
}

/**
 * @param {string} file
 * @param {Environment} env
 * @returns {Promise<{ line: string, error?: undefined } | { error: string }>} the first line of `--version`
 */
export function firstLineOfVersion(file, env) {
  const options = {
    env,
    timeout: VERSION_CHECK_LIMIT_MILLISECONDS,
    killSignal: /** @type {const} */ ("SIGKILL"),
  };
  return new Promise((resolve) => {
    execFile(file, ["--version"], options, (error, stdout) => {
      resolve(error === null ? { line: (stdout.split("\n")[0] ?? "").trim() } : { error: runProblem(error) });
    });
  });
}

/**
 * @param {Program} program
 * @param {string} setting
 * @param {Environment} env
 * @returns {Promise<LocatedProgram | MissingProgram>}
 */
async function locateBySetting(program, setting, env) {
  const file = path.resolve(setting);
  const problem = await program.problem(file, env);
  if (problem === undefined) return { path: file, source: "setting" };
  const advice = `Name a ${program.title} binary in it, or unset it: the set-up then gets one.`;
  return { error: `${program.setting} is wrong: ${problem}. ${advice}`, reason: "wrong_setting" };
}

/**
 * @param {Program} program
 * @param {Environment} env
 * @returns {Promise<LocatedProgram[]>}
 */
async function searchCandidates(program, env) {
  /** @type {LocatedProgram[]} */
  const candidates = [];
  const seen = new Set();
  for (const file of await findOnPath(program.name, env)) {
    // /bin and /usr/bin are often one folder: one check, and one complaint, is enough.
    const real = await realpath(file).catch(() => file);
    if (!seen.has(real)) candidates.push({ path: file, source: "path" });
    seen.add(real);
  }
  const cached = program.cachedPath(env);
  if (await isExecutableFile(cached)) candidates.push({ path: cached, source: "cache" });
  return candidates;
}

/** @param {Program} program @param {readonly string[]} rejected */
function notFoundMessage(program, rejected) {
  const found = rejected.length > 0 ? ` (${rejected.join("; ")})` : "";
  return `${program.title} is not installed${found}. Run \`node scripts/set-up.mjs\` to install it.`;
}

/**
 * @param {string} file
 * @returns {Promise<boolean>}
 */
async function isExecutableFile(file) {
  try {
    await access(file, constants.X_OK);
    return (await stat(file)).isFile();
  } catch {
    return false;
  }
}

/** @param {import("node:child_process").ExecFileException} error */
function runProblem(error) {
  if (error.code === "ENOENT") return "there is no such file, or not the loader that it needs";
  if (error.code === "EACCES") return "it is not an executable file";
  if (error.killed) return `no answer within ${VERSION_CHECK_LIMIT_MILLISECONDS / 1000} s`;
  if (typeof error.code === "number") return `exit code ${error.code}`;
  return error.code ?? error.signal ?? "it cannot be started";
}

/**
 * Where Typst is: the one place that knows the order of the search. The set-up, the start script and the tests all
 * ask here.
 *
 * It only looks. It never downloads, builds or writes, and it runs before node_modules exists: node:* imports
 * only, and only such as Node 14 has too, so that an old Node gets as far as the sentence that refuses it.
 */

import { execFile } from "node:child_process";
import { constants } from "node:fs";
import { access, realpath, stat } from "node:fs/promises";
import { homedir } from "node:os";
import path from "node:path";

import { TYPST_VERSION } from "../backend/typst-release.mjs";

/** `typst --version` takes 3 ms; a program that needs longer than this is not Typst. */
const VERSION_CHECK_LIMIT_MILLISECONDS = 10_000;

/** @typedef {Readonly<Record<string, string | undefined>>} Environment */

/**
 * @typedef {"setting" | "path" | "cache"} TypstSource
 *   `SERVICE_TYPST_BIN`, a folder on PATH, or the user cache that the set-up fills
 * @typedef {{ path: string, source: TypstSource }} LocatedTypst
 * @typedef {{ error: string, reason: "wrong_setting" | "not_found" }} MissingTypst
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
 * @param {Environment} env
 * @param {string} platform
 */
export function cachedTypstPath(env = process.env, platform = process.platform) {
  return path.join(cacheFolder(env, platform), `typst-${TYPST_VERSION}`, "bin", "typst");
}

/**
 * Finds Typst where it may already be. Every candidate is run, since a name proves no version.
 *
 * @param {Environment} env
 * @returns {Promise<LocatedTypst | MissingTypst>}
 */
export async function locateTypst(env = process.env) {
  if (env.SERVICE_TYPST_BIN) return locateBySetting(env.SERVICE_TYPST_BIN, env);

  /** @type {string[]} */
  const rejected = [];
  for (const candidate of await searchCandidates(env)) {
    const problem = await typstProblem(candidate.path, env);
    if (problem === undefined) return candidate;
    rejected.push(problem);
  }
  return { error: notFoundMessage(rejected), reason: "not_found" };
}

/**
 * Says why a file is not the Typst that the service needs.
 *
 * @param {string} file
 * @param {Environment} env
 * @returns {Promise<string | undefined>} undefined when it is the right one
 */
export async function typstProblem(file, env = process.env) {
  const answer = await firstLineOfVersion(file, env);
  if (answer.error !== undefined) return `${file} does not run (${answer.error})`;
  if (answer.line.split(" ").slice(0, 2).join(" ") === `typst ${TYPST_VERSION}`) return undefined;
  return `${file} says "${answer.line.slice(0, 80)}", not "typst ${TYPST_VERSION}"`;
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
 * @param {string} setting
 * @param {Environment} env
 * @returns {Promise<LocatedTypst | MissingTypst>}
 */
async function locateBySetting(setting, env) {
  const file = path.resolve(setting);
  const problem = await typstProblem(file, env);
  if (problem === undefined) return { path: file, source: "setting" };
  const advice = `Name a Typst ${TYPST_VERSION} binary in it, or unset it: the set-up then gets one.`;
  return { error: `SERVICE_TYPST_BIN is wrong: ${problem}. ${advice}`, reason: "wrong_setting" };
}

/**
 * @param {Environment} env
 * @returns {Promise<LocatedTypst[]>}
 */
async function searchCandidates(env) {
  /** @type {LocatedTypst[]} */
  const candidates = [];
  const seen = new Set();
  for (const file of await findOnPath("typst", env)) {
    // /bin and /usr/bin are often one folder: one check, and one complaint, is enough.
    const real = await realpath(file).catch(() => file);
    if (!seen.has(real)) candidates.push({ path: file, source: "path" });
    seen.add(real);
  }
  const cached = cachedTypstPath(env);
  if (await isExecutableFile(cached)) candidates.push({ path: cached, source: "cache" });
  return candidates;
}

/** @param {readonly string[]} rejected */
function notFoundMessage(rejected) {
  const found = rejected.length > 0 ? ` (${rejected.join("; ")})` : "";
  return `Typst ${TYPST_VERSION} is not installed${found}. Run \`node scripts/set-up.mjs\` to install it.`;
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

/**
 * @param {string} file
 * @param {Environment} env
 * @returns {Promise<{ line: string, error?: undefined } | { error: string }>}
 */
function firstLineOfVersion(file, env) {
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

/** @param {import("node:child_process").ExecFileException} error */
function runProblem(error) {
  if (error.code === "ENOENT") return "there is no such file, or not the loader that it needs";
  if (error.code === "EACCES") return "it is not an executable file";
  if (error.killed) return `no answer within ${VERSION_CHECK_LIMIT_MILLISECONDS / 1000} s`;
  if (typeof error.code === "number") return `exit code ${error.code}`;
  return error.code ?? error.signal ?? "it cannot be started";
}

/**
 * Finds Typst and bubblewrap: named by a setting, on PATH, or in the user's cache, in this order. Runs before there are
 * packages, on Node 14, so that an old Node gets as far as the error that rejects it.
 */
import { realpath } from "node:fs/promises";
import path from "node:path";
import { cacheFolder } from "./cache-folder.mjs";
import { findOnPath, isExecutableFile, versionProblem } from "./programs.mjs";
import { TYPST_VERSION, typstProblem } from "./typst-release.mjs";

/** @typedef {import("./programs.mjs").Environment} Environment */

/**
 * @typedef {object} Program
 * @property {string} title its name, with the version if only one will do
 * @property {string} name of its file on PATH
 * @property {string} setting the variable that names its file
 * @property {string} cachedPath the path to which the set-up installs it
 * @property {(file: string, env: Environment) => Promise<string | undefined>} problem why a file is not this program
 *
 * @typedef {{ path: string, source: "setting" | "path" | "cache" }} LocatedProgram
 * @typedef {{ error: string, reason: "wrong_setting" | "not_found" }} MissingProgram `wrong_setting` must stop the
 *   caller: an operator who names a binary does not want another one
 */

export function locateTypst(env = process.env) {
  const names = { title: `Typst ${TYPST_VERSION}`, name: "typst", setting: "SERVICE_TYPST_BIN" };
  return locateProgram({ ...names, cachedPath: cachedTypstPath(env), problem: typstProblem }, env);
}

/** For programs that cannot go on without it. @returns {Promise<string>} its path */
export async function requireTypst() {
  const typst = await locateTypst();
  if ("error" in typst) throw new Error(typst.error);
  return typst.path;
}

export function cachedTypstPath(env = process.env) {
  return path.join(cacheFolder(env), `typst-${TYPST_VERSION}`, "bin", "typst");
}

export function locateBubblewrap(env = process.env) {
  const names = { title: "bubblewrap", name: "bwrap", setting: "SERVICE_BUBBLEWRAP_BIN" };
  return locateProgram({ ...names, cachedPath: cachedBubblewrapPath(env), problem: bubblewrapProblem }, env);
}

export function cachedBubblewrapPath(env = process.env) {
  return path.join(cacheFolder(env), "bubblewrap", "bin", "bwrap");
}

/**
 * A cache from another machine may contain one that does not run here.
 * @param {string} file
 * @returns {Promise<string | undefined>} why it is not bubblewrap; undefined when it is
 */
export function bubblewrapProblem(file, env = process.env) {
  return versionProblem(file, "bubblewrap", env);
}

/**
 * Every candidate is run, because a file name proves nothing.
 * @param {Program} program @param {Environment} env @returns {Promise<LocatedProgram | MissingProgram>}
 */
async function locateProgram(program, env) {
  const setting = env[program.setting];
  if (setting) {
    const file = path.resolve(setting);
    const problem = await program.problem(file, env);
    if (problem === undefined) return { path: file, source: "setting" };
    const advice = `Name a ${program.title} binary in it, or unset it: the set-up then gets one.`;
    return { error: `${program.setting} is wrong: ${problem}. ${advice}`, reason: "wrong_setting" };
  }

  /** @type {string[]} */
  const rejected = [];
  for (const candidate of await searchCandidates(program, env)) {
    const problem = await program.problem(candidate.path, env);
    if (problem === undefined) return candidate;
    rejected.push(problem);
  }
  return { error: notFoundMessage(program, rejected), reason: "not_found" };
}

/** @param {Program} program @param {Environment} env @returns {Promise<LocatedProgram[]>} */
async function searchCandidates({ name, cachedPath }, env) {
  /** @type {LocatedProgram[]} */
  const candidates = [];
  const seen = new Set();
  for (const file of findOnPath(name, env)) {
    // /bin and /usr/bin are often the same folder: check it once and report it once.
    const real = await realpath(file).catch(() => file);
    if (!seen.has(real)) candidates.push({ path: file, source: "path" });
    seen.add(real);
  }
  if (isExecutableFile(cachedPath)) candidates.push({ path: cachedPath, source: "cache" });
  return candidates;
}

/** @param {Program} program @param {readonly string[]} rejected */
function notFoundMessage(program, rejected) {
  const found = rejected.length > 0 ? ` (${rejected.join("; ")})` : "";
  return `${program.title} is not installed${found}. Run \`node scripts/set-up.mjs\` in the checkout to install it.`;
}

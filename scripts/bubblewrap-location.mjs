/**
 * Where bubblewrap is. The set-up, the start script and the tests all ask here.
 *
 * The set-up loads it before node_modules exists and on any Node from 14 on: node:* imports only.
 */
import path from "node:path";
import { cacheFolder, firstLineOfVersion, locateProgram } from "./program-location.mjs";

/** @typedef {import("./program-location.mjs").Environment} Environment */

/** @type {import("./program-location.mjs").Program} */
const BUBBLEWRAP = {
  title: "bubblewrap",
  name: "bwrap",
  setting: "SERVICE_BUBBLEWRAP_BIN",
  cachedPath: cachedBubblewrapPath,
  problem: bubblewrapProblem,
};

/** @param {Environment} env */
export function locateBubblewrap(env = process.env) {
  return locateProgram(BUBBLEWRAP, env);
}

/** @param {Environment} env */
export function cachedBubblewrapPath(env = process.env) {
  return path.join(cacheFolder(env), "bubblewrap", "bin", "bwrap");
}

/**
 * Says why a file is not bubblewrap: a cache that came from another machine may hold one that does not run here.
 *
 * @param {string} file
 * @param {Environment} env
 * @returns {Promise<string | undefined>} undefined when it is
 */
export async function bubblewrapProblem(file, env = process.env) {
  const answer = await firstLineOfVersion(file, env);
  if (answer.error !== undefined) return `${file} does not run (${answer.error})`;
  if (answer.line.startsWith("bubblewrap ")) return undefined;
  return `${file} says "${answer.line.slice(0, 80)}", not "bubblewrap" and a version`;
}

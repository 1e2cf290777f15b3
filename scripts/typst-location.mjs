/**
 * Where Typst is. The set-up, the start script and the tests all ask here.
 *
 * The set-up loads it before node_modules exists and on any Node from 14 on: node:* imports only.
 */
import path from "node:path";
import { TYPST_VERSION } from "../backend/typst/release.mjs";
import { cacheFolder, firstLineOfVersion, locateProgram } from "./program-location.mjs";

/** @typedef {import("./program-location.mjs").Environment} Environment */

/** @type {import("./program-location.mjs").Program} */
const TYPST = {
  title: `Typst ${TYPST_VERSION}`,
  name: "typst",
  setting: "SERVICE_TYPST_BIN",
  cachedPath: cachedTypstPath,
  problem: typstProblem,
};

/** @param {Environment} env */
export function locateTypst(env = process.env) {
  return locateProgram(TYPST, env);
}

/** @param {Environment} env */
export function cachedTypstPath(env = process.env) {
  return path.join(cacheFolder(env), `typst-${TYPST_VERSION}`, "bin", "typst");
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

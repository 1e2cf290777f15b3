/**
 * Whether a program is the Typst that the service needs, for the backend and the set-up alike.
 *
 * Plain JavaScript with node:* imports only, because the set-up loads it before node_modules exists and on any Node
 * from 14 on.
 */
import { versionProblem } from "./programs.mjs";
import { TYPST_VERSION } from "./typst-release.mjs";

/**
 * Says why a file is not the right Typst.
 *
 * @param {string} file
 * @param {import("./programs.mjs").Environment} env of the program
 * @returns {Promise<string | undefined>} undefined when it is
 */
export function typstProblem(file, env = process.env) {
  return versionProblem(file, `typst ${TYPST_VERSION}`, env);
}

/**
 * Says why a file is not a Typst of any version.
 *
 * @param {string} file
 * @returns {Promise<string | undefined>} undefined when it is
 */
export function anyTypstProblem(file) {
  return versionProblem(file, "typst", process.env);
}

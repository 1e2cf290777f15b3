/** Whether a program is the Typst that the service needs. Runs before there are packages, on Node 14. */
import { versionProblem } from "./programs.mjs";
import { TYPST_VERSION } from "./typst-release.mjs";

/**
 * Says why a file is not the right Typst.
 * @param {string} file
 * @param {import("./programs.mjs").Environment} env of the program
 * @returns {Promise<string | undefined>} undefined when it is
 */
export function typstProblem(file, env = process.env) {
  return versionProblem(file, `typst ${TYPST_VERSION}`, env);
}

/**
 * Says why a file is not a Typst of any version.
 * @param {string} file
 * @returns {Promise<string | undefined>} undefined when it is
 */
export function anyTypstProblem(file) {
  return versionProblem(file, "typst", process.env);
}

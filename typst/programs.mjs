/** Finds a program and checks that it is the right one. Runs before there are packages, on Node 14. */
import { execFile } from "node:child_process";
import { accessSync, constants, statSync } from "node:fs";
import path from "node:path";

/** @typedef {Readonly<Record<string, string | undefined>>} Environment */

/** `typst --version` takes milliseconds. A program that takes longer than this is not the right one. */
const ANSWER_TIMEOUT_MILLISECONDS = 10_000;
const MAX_QUOTED_LENGTH = 80;

/** In the order of PATH. @param {string} name @param {Environment} env @returns {string[]} absolute paths */
export function findOnPath(name, env = process.env) {
  // A relative or empty entry depends on the current folder, from which no program should be run.
  const folders = (env.PATH ?? "").split(path.delimiter).filter((folder) => path.isAbsolute(folder));
  return [...new Set(folders)].map((folder) => path.join(folder, name)).filter(isExecutableFile);
}

/** @param {string} file */
export function isExecutableFile(file) {
  try {
    accessSync(file, constants.X_OK);
    return statSync(file).isFile();
  } catch {
    return false;
  }
}

/**
 * Says why a file is not the program whose `--version` begins with certain words, such as "typst 0.15.1".
 * @param {string} file @param {string} words whole words @param {Environment} env of the program
 * @returns {Promise<string | undefined>} undefined when it is
 */
export async function versionProblem(file, words, env) {
  const { error, stdout } = await runProgram(file, ["--version"], env);
  if (error !== null) return `${file} does not run (${runProblem(error)})`;
  const line = (stdout.split("\n")[0] ?? "").trim();
  if (`${line} `.startsWith(`${words} `)) return undefined;
  return `${file} says "${line.slice(0, MAX_QUOTED_LENGTH)}", not "${words}"`;
}

/**
 * Runs a program without input. It is killed if it takes too long, and when this process ends.
 * @param {string} file
 * @param {readonly string[]} programArguments
 * @param {Environment} env all its environment variables
 * @returns {Promise<{ error: import("node:child_process").ExecFileException | null, stdout: string, stderr: string
 *   }>} never rejects; `error` is null if the exit code is 0
 */
export function runProgram(file, programArguments, env) {
  const killSignal = /** @type {const} */ ("SIGKILL");
  const options = { env, timeout: ANSWER_TIMEOUT_MILLISECONDS, killSignal };
  return new Promise((resolve) => {
    const child = execFile(file, programArguments, options, (error, stdout, stderr) => {
      process.off("exit", kill);
      resolve({ error, stdout, stderr });
    });
    const kill = () => child.kill("SIGKILL");
    process.once("exit", kill);
    child.stdin?.end();
  });
}

/** @param {import("node:child_process").ExecFileException} error */
function runProblem(error) {
  if (error.code === "ENOENT") return "there is no such file, or not the loader that it needs";
  if (error.code === "EACCES") return "it is not an executable file";
  if (error.killed) return `no answer within ${ANSWER_TIMEOUT_MILLISECONDS / 1000} s`;
  if (typeof error.code === "number") return `exit code ${error.code}`;
  return error.code ?? error.signal ?? "it cannot be started";
}

/** Finds bubblewrap. Runs before there are packages, on Node 14: node:* imports only. */
import path from "node:path";
import { cacheFolder } from "./cache-folder.mjs";
import { locateProgram } from "./program-location.mjs";
import { versionProblem } from "./programs.mjs";

export function locateBubblewrap(env = process.env) {
  return locateProgram(
    {
      title: "bubblewrap",
      name: "bwrap",
      setting: "SERVICE_BUBBLEWRAP_BIN",
      cachedPath: cachedBubblewrapPath(env),
      problem: bubblewrapProblem,
    },
    env,
  );
}

export function cachedBubblewrapPath(env = process.env) {
  return path.join(cacheFolder(env), "bubblewrap", "bin", "bwrap");
}

/**
 * Says why a file is not bubblewrap. A cache from another machine may contain one that does not run here.
 * @param {string} file
 * @returns {Promise<string | undefined>} undefined when it is
 */
export function bubblewrapProblem(file, env = process.env) {
  return versionProblem(file, "bubblewrap", env);
}

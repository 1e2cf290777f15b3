/** Finds Typst. Runs before there are packages, on Node 14: node:* imports only. */
import path from "node:path";
import { cacheFolder } from "./cache-folder.mjs";
import { locateProgram } from "./program-location.mjs";
import { TYPST_VERSION } from "./typst-release.mjs";
import { typstProblem } from "./typst-version.mjs";

export function locateTypst(env = process.env) {
  return locateProgram(
    {
      title: `Typst ${TYPST_VERSION}`,
      name: "typst",
      setting: "SERVICE_TYPST_BIN",
      cachedPath: cachedTypstPath(env),
      problem: typstProblem,
    },
    env,
  );
}

/**
 * The path of Typst, for programs that cannot go on without it.
 * @returns {Promise<string>}
 * @throws {Error} with what to do if there is none
 */
export async function requireTypst() {
  const typst = await locateTypst();
  if ("error" in typst) throw new Error(typst.error);
  return typst.path;
}

export function cachedTypstPath(env = process.env) {
  return path.join(cacheFolder(env), `typst-${TYPST_VERSION}`, "bin", "typst");
}

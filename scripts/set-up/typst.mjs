/** Puts Typst into the user's cache: the official release, or a build from source when the release cannot be used. */
import { cachedTypstPath } from "../../typst/program-location.mjs";
import { TYPST_RELEASES, TYPST_VERSION, typstProblem } from "../../typst/typst-release.mjs";
import { ensureCached } from "./cached-program.mjs";
import { say } from "./report.mjs";
import { buildTypst, findBuildTools } from "./typst-build.mjs";
import { fetchRelease, releaseObstacle } from "./typst-download.mjs";

const RELEASE = TYPST_RELEASES[`${process.platform}-${process.arch}`];

/** @param {AbortSignal} signal @returns {Promise<string>} the path of the binary */
export function ensureCachedTypst(signal) {
  const name = `typst-${TYPST_VERSION}`;
  const make = async (/** @type {string} */ workFolder) => {
    const fetched = await fetchRelease(RELEASE, workFolder, signal);
    if ("binary" in fetched) return fetched.binary;
    say(`Typst ${TYPST_VERSION}: ${fetched.reason}; it is being built instead`);
    return buildTypst(workFolder, signal);
  };
  return ensureCached({ name, target: cachedTypstPath(), problem: typstProblem, make }, signal);
}

/** Why Typst can be neither downloaded nor built here, before any long step. @param {AbortSignal} signal */
export async function typstObstacle(signal) {
  const tools = await findBuildTools(signal);
  if ("cargo" in tools) return undefined;
  const obstacle = await releaseObstacle(RELEASE, signal);
  if (obstacle === undefined) return undefined;
  // The program that unpacks the release is a small package, unlike the tools that build Typst.
  if (obstacle.remedy !== undefined)
    return `Typst ${TYPST_VERSION} cannot be unpacked: ${obstacle.reason}. ${obstacle.remedy}`;
  return `Typst ${TYPST_VERSION} has to be built here, since ${obstacle.reason}, and ${tools.problem}`;
}

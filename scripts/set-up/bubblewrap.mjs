/** bubblewrap from the distribution's package, in the user's cache: downloading it needs no root. */
import path from "node:path";
import { bubblewrapProblem, cachedBubblewrapPath } from "../../typst/program-location.mjs";
import { findOnPath } from "../../typst/programs.mjs";
import { ensureCached } from "./cached-program.mjs";
import { downloadDebianPackages } from "./debian-packages.mjs";
import { SetUpError, say, withProgress } from "./report.mjs";
import { runCommand } from "./run-command.mjs";

const PACKAGE = "bubblewrap";

export function canFetchBubblewrap() {
  return ["apt-get", "dpkg"].every((program) => findOnPath(program).length > 0);
}

/** @param {AbortSignal} signal @returns {Promise<string>} the path of the binary */
export function ensureCachedBubblewrap(signal) {
  const make = async (/** @type {string} */ workFolder) => {
    say("fetching bubblewrap with apt-get, for this user alone");
    const fetching = downloadDebianPackages(workFolder, [PACKAGE], signal);
    const [archive = ""] = await withProgress((elapsed) => `bubblewrap: ${elapsed}`, fetching);
    const root = path.join(workFolder, "root");
    const unpacked = await runCommand("dpkg", ["-x", archive, root], { signal });
    const binary = path.join(root, "usr", "bin", "bwrap");
    const problem = unpacked.problem ?? (await bubblewrapProblem(binary));
    if (problem !== undefined) throw new SetUpError(`the package does not work here: ${problem}`, unpacked.output);
    return binary;
  };
  return ensureCached({ name: PACKAGE, target: cachedBubblewrapPath(), problem: bubblewrapProblem, make }, signal);
}

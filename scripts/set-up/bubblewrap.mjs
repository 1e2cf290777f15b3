/**
 * Puts bubblewrap into the user's cache, from the package of the distribution: on Debian and Ubuntu any user can download
 * it (47 KB), while installing it needs root.
 */
import { mkdir, readdir } from "node:fs/promises";
import path from "node:path";
import { findOnPath } from "../../backend/programs.mjs";
import { bubblewrapProblem, cachedBubblewrapPath } from "../bubblewrap-location.mjs";
import { ensureCached } from "./cached-program.mjs";
import { SetUpError, say, withProgress } from "./report.mjs";
import { runCommand } from "./run-command.mjs";

const PACKAGE = "bubblewrap";

/** Options of apt-get that override the configuration of the machine. */
const APT_OPTIONS = [
  // Only packages that are signed by a key that the machine trusts.
  "APT::Get::AllowUnauthenticated=false",
  "Acquire::AllowInsecureRepositories=false",
  "Acquire::AllowWeakRepositories=false",
  "Acquire::AllowDowngradeToInsecureRepositories=false",
  // Some networks drop packets instead of rejecting them.
  "Acquire::Retries=1",
  "Acquire::http::Timeout=15",
  "Acquire::https::Timeout=15",
];

/** Whether this machine can download and unpack Debian packages. */
export async function canFetchBubblewrap(env = process.env) {
  const found = await Promise.all(["apt-get", "dpkg"].map((program) => findOnPath(program, env)));
  return found.every((files) => files.length > 0);
}

/**
 * @param {AbortSignal} signal
 * @returns {Promise<string>} the path of the binary
 * @throws {SetUpError} with the output of apt-get when it cannot download the package
 */
export function ensureCachedBubblewrap(signal) {
  return ensureCached(
    {
      title: PACKAGE,
      prefix: PACKAGE,
      target: cachedBubblewrapPath(),
      problem: bubblewrapProblem,
      make: (workFolder) => fetchBubblewrap(workFolder, signal),
    },
    signal,
  );
}

/** @param {string} workFolder @param {AbortSignal} signal */
async function fetchBubblewrap(workFolder, signal) {
  say("fetching bubblewrap with apt-get, for this user alone");
  const fetching = downloadPackage(workFolder, signal);
  const archive = await withProgress((elapsed) => `bubblewrap: ${elapsed}`, fetching);
  const root = path.join(workFolder, "root");
  const unpacked = await runCommand("dpkg", ["-x", archive, root], { signal });
  const binary = path.join(root, "usr", "bin", "bwrap");
  const problem = unpacked.problem ?? (await bubblewrapProblem(binary));
  if (problem !== undefined) throw new SetUpError(`the package does not work here: ${problem}`, unpacked.output);
  return binary;
}

/** @param {string} workFolder @param {AbortSignal} signal @returns {Promise<string>} the path of the archive */
async function downloadPackage(workFolder, signal) {
  const options = { cwd: workFolder, signal, env: { ...process.env, LC_ALL: "C", DEBIAN_FRONTEND: "noninteractive" } };
  /** @param {readonly string[]} settings @param {readonly string[]} command */
  const aptGet = (settings, command) =>
    runCommand(
      "apt-get",
      ["-q", ...[...APT_OPTIONS, ...settings].flatMap((setting) => ["-o", setting]), ...command],
      options,
    );

  let outcome = await aptGet([], ["download", PACKAGE]);
  if (outcome.problem !== undefined) {
    // The package lists of the machine are missing, as in Debian's images, or outdated: download temporary ones.
    const own = [`Dir::State=${path.join(workFolder, "state")}`, `Dir::Cache=${path.join(workFolder, "cache")}`];
    for (const folder of ["state/lists/partial", "cache/archives/partial"]) {
      await mkdir(path.join(workFolder, folder), { recursive: true });
    }
    // The result of the update is ignored: one of several sources may be broken, and the download decides.
    const update = await aptGet(own, ["update"]);
    outcome = await aptGet(own, ["download", PACKAGE]);
    if (outcome.problem !== undefined) {
      throw new SetUpError(`apt-get cannot fetch it (${outcome.problem})`, [...update.output, ...outcome.output]);
    }
  }
  const archive = (await readdir(workFolder)).find((name) => name.endsWith(".deb"));
  if (archive === undefined) throw new SetUpError("apt-get has fetched nothing", outcome.output);
  return path.join(workFolder, archive);
}

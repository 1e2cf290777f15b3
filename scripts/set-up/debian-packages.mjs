/** Downloads packages of the machine's Debian or Ubuntu, as any user. apt checks their signatures. */
import { mkdir, readdir } from "node:fs/promises";
import path from "node:path";
import { SetUpError } from "./report.mjs";
import { runCommand } from "./run-command.mjs";

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

/**
 * @param {string} workFolder an empty folder @param {readonly string[]} packages @param {AbortSignal} signal
 * @returns {Promise<string[]>} the paths of their archives
 */
export async function downloadDebianPackages(workFolder, packages, signal) {
  const env = { ...process.env, LC_ALL: "C", DEBIAN_FRONTEND: "noninteractive" };
  const aptGet = (/** @type {readonly string[]} */ settings, /** @type {readonly string[]} */ command) => {
    const options = [...APT_OPTIONS, ...settings].flatMap((setting) => ["-o", setting]);
    return runCommand("apt-get", ["-q", ...options, ...command], { cwd: workFolder, signal, env });
  };
  let outcome = await aptGet([], ["download", ...packages]);
  if (outcome.problem !== undefined) {
    // The package lists of the machine are missing, as in Debian's images, or outdated: download temporary ones.
    const own = [`Dir::State=${path.join(workFolder, "state")}`, `Dir::Cache=${path.join(workFolder, "cache")}`];
    for (const folder of ["state/lists/partial", "cache/archives/partial"]) {
      await mkdir(path.join(workFolder, folder), { recursive: true });
    }
    // One of several sources may be broken: the download decides.
    const update = await aptGet(own, ["update"]);
    outcome = await aptGet(own, ["download", ...packages]);
    if (outcome.problem !== undefined) {
      throw new SetUpError(`apt-get cannot fetch it (${outcome.problem})`, [...update.output, ...outcome.output]);
    }
  }
  const archives = (await readdir(workFolder)).filter((name) => name.endsWith(".deb"));
  if (archives.length < packages.length) throw new SetUpError("apt-get has fetched nothing", outcome.output);
  return archives.map((name) => path.join(workFolder, name));
}

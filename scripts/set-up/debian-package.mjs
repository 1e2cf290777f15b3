/**
 * A package of the machine's distribution, downloaded and unpacked without root: apt-get checks its signature, and nothing is
 * installed.
 */
import { mkdir, readdir } from "node:fs/promises";
import path from "node:path";
import { SetUpError } from "./report.mjs";
import { runCommand } from "./run-command.mjs";

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

/**
 * Downloads a package and unpacks it, without those that it depends on.
 *
 * @param {string} name of the package
 * @param {string} workFolder an empty folder
 * @param {AbortSignal} signal
 * @returns {Promise<string>} the folder that holds its files as the root of a machine would
 * @throws {SetUpError} with the output of the command that failed
 */
export async function fetchDebianPackage(name, workFolder, signal) {
  const archive = await download(name, workFolder, signal);
  const root = path.join(workFolder, "root");
  const { problem, output } = await runCommand("dpkg", ["-x", archive, root], { signal });
  if (problem !== undefined) throw new SetUpError(`the package cannot be unpacked: ${problem}`, output);
  return root;
}

/**
 * @param {string} name of the package
 * @param {string} workFolder
 * @param {AbortSignal} signal
 * @returns {Promise<string>} the path of the archive
 */
async function download(name, workFolder, signal) {
  const options = { cwd: workFolder, signal, env: { ...process.env, LC_ALL: "C", DEBIAN_FRONTEND: "noninteractive" } };
  /** @param {readonly string[]} settings @param {readonly string[]} command */
  const aptGet = (settings, command) =>
    runCommand(
      "apt-get",
      ["-q", ...[...APT_OPTIONS, ...settings].flatMap((setting) => ["-o", setting]), ...command],
      options,
    );

  let outcome = await aptGet([], ["download", name]);
  if (outcome.problem !== undefined) {
    // The package lists of the machine are missing, as in Debian's images, or outdated: download temporary ones.
    const own = [`Dir::State=${path.join(workFolder, "state")}`, `Dir::Cache=${path.join(workFolder, "cache")}`];
    for (const folder of ["state/lists/partial", "cache/archives/partial"]) {
      await mkdir(path.join(workFolder, folder), { recursive: true });
    }
    // The result of the update is ignored: one of several sources may be broken, and the download decides.
    const update = await aptGet(own, ["update"]);
    outcome = await aptGet(own, ["download", name]);
    if (outcome.problem !== undefined) {
      throw new SetUpError(`apt-get cannot fetch it (${outcome.problem})`, [...update.output, ...outcome.output]);
    }
  }
  const archive = (await readdir(workFolder)).find((name) => name.endsWith(".deb"));
  if (archive === undefined) throw new SetUpError("apt-get has fetched nothing", outcome.output);
  return path.join(workFolder, archive);
}

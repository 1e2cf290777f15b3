/** Typst from its official release: download, check, unpack. */
import { createHash } from "node:crypto";
import { writeFile } from "node:fs/promises";
import path from "node:path";
import { findOnPath } from "../../typst/programs.mjs";
import { TYPST_VERSION, typstProblem } from "../../typst/typst-release.mjs";
import { download } from "./download.mjs";
import { SetUpError, say, withProgress } from "./report.mjs";
import { runCommand } from "./run-command.mjs";

const DOWNLOAD_LIMITS = {
  answerMilliseconds: 20_000,
  downloadMilliseconds: 300_000,
  maxBytes: 128 * 1024 * 1024, // the archives have about 20 MB
};

const NO_RELEASE = { reason: `there is no release for ${process.platform}-${process.arch}` };

/** @typedef {import("../../typst/typst-release.mjs").TypstRelease} TypstRelease */

/**
 * @param {TypstRelease | undefined} release @param {string} workFolder @param {AbortSignal} signal
 * @returns {Promise<{ binary: string } | { reason: string }>} the reason why another way must be found
 */
export async function fetchRelease(release, workFolder, signal, limits = DOWNLOAD_LIMITS) {
  if (release === undefined) return NO_RELEASE;
  say(`downloading Typst ${TYPST_VERSION} from ${new URL(release.url).host}`);
  const downloading = download(release.url, limits, { signal });
  const answer = await withProgress((elapsed) => `Typst download: ${elapsed}`, downloading);
  if ("reason" in answer) return unreachable(release, answer.reason);
  refuseOtherChecksum(release, answer.content);
  const archive = path.join(workFolder, "release.tar.xz");
  await writeFile(archive, answer.content);
  // -o: otherwise root would give the binary to the user who has the packager's user id on this machine.
  const unpacked = await runCommand("tar", ["-xJf", archive, "-o", "-C", workFolder], { signal });
  if (unpacked.problem !== undefined) {
    return { reason: `\`tar -xJf\` cannot unpack the release (${unpacked.problem}; is xz installed?)` };
  }
  const binary = path.join(workFolder, release.folder, "typst");
  const problem = await typstProblem(binary);
  return problem === undefined ? { binary } : { reason: `the release does not work here: ${problem}` };
}

/**
 * Why the release cannot be used, as far as a HEAD request and a search for `xz` can tell.
 *
 * @param {TypstRelease | undefined} release @param {AbortSignal} signal
 * @returns {Promise<{ reason: string, remedy?: string } | undefined>}
 */
export async function releaseObstacle(release, signal) {
  if (release === undefined) return NO_RELEASE;
  const answer = await download(release.url, DOWNLOAD_LIMITS, { signal, method: "HEAD" });
  if ("reason" in answer) return unreachable(release, answer.reason);
  // The tar of macOS can unpack the format by itself.
  if (process.platform === "darwin" || findOnPath("xz").length > 0) return undefined;
  return {
    reason: "there is no `xz`",
    remedy: "Install it and run the set-up again; on Debian and Ubuntu: sudo apt-get install -y xz-utils",
  };
}

/** @param {TypstRelease} release @param {string} reason */
function unreachable(release, reason) {
  return { reason: `the release on ${new URL(release.url).host} cannot be reached (${reason})` };
}

/** Stops the set-up: a build instead would hide an attack. @param {TypstRelease} release @param {Uint8Array} content */
function refuseOtherChecksum(release, content) {
  const sha256 = createHash("sha256").update(content).digest("hex");
  if (sha256 === release.sha256) return;
  throw new SetUpError(
    `${release.url} has the SHA-256 ${sha256}, not the pinned ${release.sha256}; nothing of it was ` +
      "unpacked. Find out what answers in place of the release (a proxy, a sign-in page?) and run the set-up " +
      `again, or get Typst ${TYPST_VERSION} yourself and name the binary in SERVICE_TYPST_BIN.`,
  );
}

/** Typst from its official release: download, check, unpack. */
import { createHash } from "node:crypto";
import { writeFile } from "node:fs/promises";
import path from "node:path";
import { findOnPath } from "../../typst/programs.mjs";
import { TYPST_VERSION, typstProblem } from "../../typst/typst-release.mjs";
import { SetUpError, say, withProgress } from "./report.mjs";
import { runCommand } from "./run-command.mjs";

const DOWNLOAD_LIMITS = {
  answerMilliseconds: 20_000, // until the answer begins: some networks never refuse
  downloadMilliseconds: 300_000, // until the whole body has arrived
  archiveBytes: 128 * 1024 * 1024, // the archives have about 20 MB
};

/** @typedef {import("../../typst/typst-release.mjs").TypstRelease} TypstRelease */

/**
 * @param {TypstRelease | undefined} release
 * @param {string} workFolder
 * @param {AbortSignal} signal
 * @returns {Promise<{ binary: string } | { reason: string }>} the reason why another way must be found
 */
export async function fetchRelease(release, workFolder, signal, limits = DOWNLOAD_LIMITS) {
  if (release === undefined) return { reason: `there is no release for ${process.platform}-${process.arch}` };
  const { host } = new URL(release.url);
  say(`downloading Typst ${TYPST_VERSION} from ${host}`);
  const downloading = download(release.url, signal, limits);
  const answer = await withProgress((elapsed) => `Typst download: ${elapsed}`, downloading);
  if ("reason" in answer) return { reason: unreachable(release, answer.reason) };
  refuseOtherChecksum(release, answer.content);
  return unpackRelease(release, answer.content, workFolder, signal);
}

/**
 * Says why a release cannot be installed here. It only sends a HEAD request and looks for the program that unpacks it.
 *
 * @param {TypstRelease | undefined} release
 * @param {AbortSignal} signal
 * @returns {Promise<{ reason: string, remedy?: string } | undefined>} undefined when it should work
 */
export async function releaseObstacle(release, signal) {
  if (release === undefined) return { reason: `there is no release for ${process.platform}-${process.arch}` };
  const answer = await download(release.url, signal, DOWNLOAD_LIMITS, "HEAD");
  if ("reason" in answer) return { reason: unreachable(release, answer.reason) };
  // The tar of macOS can unpack the format by itself.
  if (process.platform === "darwin" || findOnPath("xz").length > 0) return undefined;
  return {
    reason: "there is no `xz`",
    remedy: "Install it and run the set-up again; on Debian and Ubuntu: sudo apt-get install -y xz-utils",
  };
}

/** @param {TypstRelease} release @param {string} reason */
function unreachable(release, reason) {
  return `the release on ${new URL(release.url).host} cannot be reached (${reason})`;
}

/**
 * @param {string} url
 * @param {AbortSignal} signal
 * @param {typeof DOWNLOAD_LIMITS} limits
 * @param {"GET" | "HEAD"} method
 * @returns {Promise<{ content: Uint8Array } | { reason: string }>}
 */
async function download(url, signal, limits, method = "GET") {
  signal.throwIfAborted();
  const controller = new AbortController();
  const stop = () => controller.abort();
  signal.addEventListener("abort", stop, { once: true });
  let timer = setTimeout(stop, limits.answerMilliseconds);
  try {
    const response = await fetch(url, { method, signal: controller.signal });
    if (response.status !== 200) return { reason: `HTTP ${response.status}` };
    clearTimeout(timer);
    timer = setTimeout(stop, limits.downloadMilliseconds);
    const chunks = [];
    let sizeBytes = 0;
    for await (const chunk of response.body ?? []) {
      sizeBytes += chunk.byteLength;
      if (sizeBytes > limits.archiveBytes) return { reason: `more than ${limits.archiveBytes} bytes` };
      chunks.push(chunk);
    }
    return { content: Buffer.concat(chunks) };
  } catch (error) {
    signal.throwIfAborted();
    if (controller.signal.aborted) return { reason: "it takes too long" };
    // fetch itself says only "fetch failed"; the system's code is in the cause.
    const { message, cause } = /** @type {Error & { cause?: NodeJS.ErrnoException }} */ (error);
    return { reason: cause?.code ?? message };
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", stop);
    // Closes the connection if the body was not read.
    controller.abort();
  }
}

/**
 * A wrong checksum means an attack, or a proxy that answers in place of the server. Either way the set-up must stop:
 * falling back to the build would hide it.
 *
 * @param {TypstRelease} release @param {Uint8Array} content
 */
function refuseOtherChecksum(release, content) {
  const sha256 = createHash("sha256").update(content).digest("hex");
  if (sha256 === release.sha256) return;
  throw new SetUpError(
    `${release.url} has the SHA-256 ${sha256}, not the pinned ${release.sha256}; nothing of it was ` +
      "unpacked. Find out what answers in place of the release (a proxy, a sign-in page?) and run the set-up " +
      `again, or get Typst ${TYPST_VERSION} yourself and name the binary in SERVICE_TYPST_BIN.`,
  );
}

/** @param {TypstRelease} release @param {Uint8Array} content @param {string} workFolder @param {AbortSignal} signal */
async function unpackRelease(release, content, workFolder, signal) {
  const archive = path.join(workFolder, "release.tar.xz");
  await writeFile(archive, content);
  // -o: otherwise root would give the binary to the user who has the packager's user id on this machine.
  const unpacked = await runCommand("tar", ["-xJf", archive, "-o", "-C", workFolder], { signal });
  if (unpacked.problem !== undefined) {
    return { reason: `\`tar -xJf\` cannot unpack the release (${unpacked.problem}; is xz installed?)` };
  }
  const binary = path.join(workFolder, release.folder, "typst");
  const problem = await typstProblem(binary);
  return problem === undefined ? { binary } : { reason: `the release does not work here: ${problem}` };
}

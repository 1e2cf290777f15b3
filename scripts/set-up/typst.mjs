/** Typst in the user's cache: the official release where it can be had and works, else built from its source. */
import { chmod, mkdir, mkdtemp, readdir, rename, rm } from "node:fs/promises";
import path from "node:path";
import { TYPST_RELEASES, TYPST_VERSION } from "../../backend/typst-release.mjs";
import { cachedTypstPath, cacheFolder, typstProblem } from "../typst-location.mjs";
import { withLock } from "./lock.mjs";
import { say } from "./report.mjs";
import { buildTypst } from "./typst-build.mjs";
import { fetchRelease } from "./typst-release.mjs";

/** @param {AbortSignal} signal @returns {Promise<string>} the path of the binary */
export async function ensureCachedTypst(signal) {
  const target = cachedTypstPath();
  const lock = path.join(cacheFolder(), `typst-${TYPST_VERSION}.lock`);
  await withLock(lock, `to install Typst ${TYPST_VERSION}`, signal, async () => {
    // Whoever held the lock before has probably installed it.
    if ((await typstProblem(target)) !== undefined) await installTypst(target, signal);
  });
  return target;
}

/** @param {string} target @param {AbortSignal} signal */
async function installTypst(target, signal) {
  const workFolder = await makeWorkFolder();
  try {
    const release = TYPST_RELEASES[`${process.platform}-${process.arch}`];
    const fetched = await fetchRelease(release, workFolder, signal);
    if ("reason" in fetched) say(`Typst ${TYPST_VERSION}: ${fetched.reason}; it is being built instead`);
    const binary = "binary" in fetched ? fetched.binary : await buildTypst(workFolder, signal);
    await mkdir(path.dirname(target), { recursive: true });
    await chmod(binary, 0o755);
    // By rename within one file system, so that nobody ever sees half a binary there.
    await rename(binary, target);
  } finally {
    await rm(workFolder, { recursive: true, force: true, maxRetries: 3 });
  }
}

/** Beside the target, in the cache. */
async function makeWorkFolder() {
  const prefix = `typst-${TYPST_VERSION}.work-`;
  // A set-up that was killed could not clean up after itself. Only the holder of the lock has a folder like these, so
  // all that are there now are dead.
  for (const name of await readdir(cacheFolder())) {
    if (name.startsWith(prefix)) await rm(path.join(cacheFolder(), name), { recursive: true, force: true });
  }
  return mkdtemp(path.join(cacheFolder(), prefix));
}

/** Puts a program into the user's cache, once and atomically. */
import { chmod, mkdir, mkdtemp, readdir, rename, rm } from "node:fs/promises";
import path from "node:path";
import { cacheFolder } from "../../typst/cache-folder.mjs";
import { withLock } from "./lock.mjs";

/**
 * @typedef {object} CachedProgram
 * @property {string} title
 * @property {string} prefix of its lock and its work folder in the cache
 * @property {string} target the path of its binary
 * @property {(file: string) => Promise<string | undefined>} problem why a binary cannot be used, if so
 * @property {(workFolder: string) => Promise<string>} make builds or downloads the binary and returns its path
 */

/**
 * Makes the program, unless it is in the cache.
 *
 * @param {CachedProgram} program
 * @param {AbortSignal} signal
 * @returns {Promise<string>} the path of the binary
 */
export async function ensureCached({ title, prefix, target, problem, make }, signal) {
  await withLock(path.join(cacheFolder(), `${prefix}.lock`), `to install ${title}`, signal, async () => {
    // The previous holder of the lock has probably installed it.
    if ((await problem(target)) === undefined) return;
    const workFolder = await makeWorkFolder(prefix);
    try {
      const binary = await make(workFolder);
      await mkdir(path.dirname(target), { recursive: true });
      await chmod(binary, 0o755);
      // Renaming within one file system is atomic, so no other process sees an incomplete binary.
      await rename(binary, target);
    } finally {
      await rm(workFolder, { recursive: true, force: true, maxRetries: 3 });
    }
  });
  return target;
}

/** In the cache, so that it is on the file system of the target. @param {string} programPrefix */
async function makeWorkFolder(programPrefix) {
  const prefix = `${programPrefix}.work-`;
  // A set-up that was killed leaves its folder behind. Only the holder of the lock has such a folder, so those that
  // exist now are left over.
  for (const name of await readdir(cacheFolder())) {
    if (name.startsWith(prefix)) await rm(path.join(cacheFolder(), name), { recursive: true, force: true });
  }
  return mkdtemp(path.join(cacheFolder(), prefix));
}

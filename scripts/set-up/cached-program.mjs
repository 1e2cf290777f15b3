/** Puts a program into the user's cache, once and whole. */
import { chmod, mkdir, mkdtemp, readdir, rename, rm } from "node:fs/promises";
import path from "node:path";
import { cacheFolder } from "../../backend/cache-folder.mjs";
import { withLock } from "./lock.mjs";

/**
 * @typedef {object} CachedProgram
 * @property {string} title
 * @property {string} prefix of its own files in the cache: a lock and a work folder
 * @property {string} target where its binary goes
 * @property {(file: string) => Promise<string | undefined>} problem why a binary is not the right one
 * @property {(workFolder: string) => Promise<string>} make makes or fetches the binary and says where it is
 */

/**
 * Makes the program, unless it is in the cache already.
 *
 * @param {CachedProgram} program
 * @param {AbortSignal} signal
 * @returns {Promise<string>} the path of the binary
 */
export async function ensureCached({ title, prefix, target, problem, make }, signal) {
  await withLock(path.join(cacheFolder(), `${prefix}.lock`), `to install ${title}`, signal, async () => {
    // Whoever held the lock before has probably installed it.
    if ((await problem(target)) === undefined) return;
    const workFolder = await makeWorkFolder(prefix);
    try {
      const binary = await make(workFolder);
      await mkdir(path.dirname(target), { recursive: true });
      await chmod(binary, 0o755);
      // By rename within one file system, so that nobody ever sees half a binary there.
      await rename(binary, target);
    } finally {
      await rm(workFolder, { recursive: true, force: true, maxRetries: 3 });
    }
  });
  return target;
}

/** Beside the target, in the cache. @param {string} programPrefix */
async function makeWorkFolder(programPrefix) {
  const prefix = `${programPrefix}.work-`;
  // A set-up that was killed could not clean up after itself. Only the holder of the lock has a folder like these, so
  // all that are there now are dead.
  for (const name of await readdir(cacheFolder())) {
    if (name.startsWith(prefix)) await rm(path.join(cacheFolder(), name), { recursive: true, force: true });
  }
  return mkdtemp(path.join(cacheFolder(), prefix));
}

/** Puts a program into the user's cache, once and atomically. */
import { chmod, mkdir, mkdtemp, readdir, rename, rm } from "node:fs/promises";
import path from "node:path";
import { cacheFolder } from "../../typst/cache-folder.mjs";
import { withLock } from "./lock.mjs";

/**
 * @typedef {object} CachedProgram
 * @property {string} name
 * @property {string} target the path of its binary
 * @property {(file: string) => Promise<string | undefined>} problem why a binary cannot be used, if so
 * @property {(workFolder: string) => Promise<string>} make builds or downloads the binary and returns its path
 */

/** Makes the program, unless it is in the cache. @param {CachedProgram} program @param {AbortSignal} signal */
export async function ensureCached({ name, target, problem, make }, signal) {
  const cache = cacheFolder();
  await withLock(path.join(cache, `${name}.lock`), `to install ${name}`, signal, async () => {
    // The previous holder of the lock has probably installed it.
    if ((await problem(target)) === undefined) return;
    // Only the holder of the lock has a work folder: others were left by set-ups that were killed.
    const prefix = `${name}.work-`;
    for (const entry of await readdir(cache)) {
      if (entry.startsWith(prefix)) await rm(path.join(cache, entry), { recursive: true, force: true });
    }
    const workFolder = await mkdtemp(path.join(cache, prefix));
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

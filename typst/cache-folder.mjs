/**
 * The service's folder in the user's cache, where a fresh clone finds what others have built. Runs before there are
 * packages, on Node 14: node:* imports only.
 */
import { homedir } from "node:os";
import path from "node:path";

/** @typedef {Readonly<Record<string, string | undefined>>} Environment */

/** @param {Environment} env */
export function cacheFolder(env = process.env) {
  const xdgCacheHome = env.XDG_CACHE_HOME ?? "";
  const home = env.HOME || homedir();
  const platformCache = path.join(home, ...(process.platform === "darwin" ? ["Library", "Caches"] : [".cache"]));
  // The XDG specification says to ignore a relative path: each working directory would have its own cache.
  const cache = path.isAbsolute(xdgCacheHome) ? xdgCacheHome : platformCache;
  return path.join(cache, "document-rendering-service");
}

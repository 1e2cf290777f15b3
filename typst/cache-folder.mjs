/**
 * The user's home, and the service's folder in the user's cache, where a fresh clone finds what others have built. Runs
 * before there are packages, on Node 14: node:* imports only.
 */
import { userInfo } from "node:os";
import path from "node:path";

/** @typedef {Readonly<Record<string, string | undefined>>} Environment */

/** Stands for a home that there is not: below a device nobody can make a folder, not even the superuser. */
export const NO_HOME = "/dev/null";
/** The home of users without one, on Debian. The superuser could make this folder, and must not. */
const DEBIANS_NO_HOME = "/nonexistent";

/**
 * `HOME`, or what the system has for the user. A container may run as a user that its system does not know. An empty
 * `HOME`, for which `homedir` of Node returns an empty path, and a relative one would lead into the working directory.
 *
 * @param {Environment} env
 */
export function homeFolder(env = process.env) {
  const home = env.HOME !== undefined && path.isAbsolute(env.HOME) ? env.HOME : homeOfUser();
  return home === DEBIANS_NO_HOME ? NO_HOME : home;
}

function homeOfUser() {
  try {
    return userInfo().homedir || NO_HOME;
  } catch {
    return NO_HOME;
  }
}

/** The user's cache folder. It may be impossible to make, so keep nothing vital there. @param {Environment} env */
export function cacheFolder(env = process.env) {
  const xdgCacheHome = env.XDG_CACHE_HOME ?? "";
  const home = homeFolder(env);
  const platformCache = path.join(home, ...(process.platform === "darwin" ? ["Library", "Caches"] : [".cache"]));
  // The XDG specification says to ignore a relative path: each working directory would have its own cache.
  const cache = path.isAbsolute(xdgCacheHome) ? xdgCacheHome : platformCache;
  return path.join(cache, "document-rendering-service");
}

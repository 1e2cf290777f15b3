/** What the Landlock sandbox needs of a machine, and how to try it. Runs before there are packages, on Node 14. */

/** The first release whose setpriv supports Landlock. */
export const OLDEST_UTIL_LINUX = "util-linux 2.41";

/** The oldest kernel whose Landlock is sufficient. */
export const OLDEST_LINUX = "Linux 5.19";

/**
 * Arguments with which setpriv denies itself an unused operation and runs itself: it exits with 0 if Landlock works.
 * @param {string} setpriv its path
 */
export function landlockTrialArguments(setpriv) {
  return ["--no-new-privs", "--landlock-access", "fs:make-block", setpriv, "--version"];
}

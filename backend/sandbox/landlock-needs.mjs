/**
 * What the Landlock sandbox needs of a machine, and how to try it, for the backend and the set-up alike.
 *
 * Plain JavaScript, without imports, because the set-up loads it before node_modules exists and on any Node from 14 on.
 */

/** The oldest whose setpriv knows Landlock. */
export const OLDEST_UTIL_LINUX = "util-linux 2.41";

/** The oldest kernel whose Landlock will do. */
export const OLDEST_LINUX = "Linux 5.19";

/**
 * The arguments by which setpriv denies itself something that nobody does, and starts itself: exit code 0 where Landlock
 * works.
 *
 * @param {string} setpriv its path
 */
export function landlockTrialArguments(setpriv) {
  return ["--no-new-privs", "--landlock-access", "fs:make-block", setpriv, "--version"];
}

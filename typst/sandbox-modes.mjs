/** The values of SERVICE_SANDBOX, and what each needs of a machine. Runs before there are packages, on Node 14. */

/** The modes that `auto` tries, in this order: never `none`. */
export const AUTOMATIC_MODES = /** @type {const} */ (["bubblewrap", "landlock"]);

const SANDBOX_CHOICES = /** @type {const} */ ([...AUTOMATIC_MODES, "auto", "none"]);

/** @typedef {(typeof SANDBOX_CHOICES)[number]} SandboxChoice */
/** @typedef {Exclude<SandboxChoice, "auto">} SandboxMode */

export const SANDBOX_ADVICE = `SERVICE_SANDBOX must be one of ${SANDBOX_CHOICES.join(", ")}.`;

/**
 * Only the explicit value `none` turns the sandbox off. A missing setting must never do so.
 * @param {string | undefined} setting @returns {SandboxChoice | undefined} undefined if it names none
 */
export function parseSandboxChoice(setting) {
  return SANDBOX_CHOICES.find((choice) => choice === (setting || "bubblewrap"));
}

/** The user id of `nobody` on most systems. It has no meaning outside the sandbox's own user namespace. */
const USER_ID = "65534";

export const NETWORK_ARGUMENT = "--unshare-net";

/** The namespaces of a render except that for the network, and the user in them. @type {readonly string[]} */
export const NAMESPACE_ARGUMENTS = [
  ...["--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try"],
  ...["--uid", USER_ID, "--gid", USER_ID, "--hostname", "sandbox"],
];

/** A sandbox like that of a render, in which there is no program to run. @type {readonly string[]} */
export const EMPTY_SANDBOX_ARGUMENTS = [NETWORK_ARGUMENT, ...NAMESPACE_ARGUMENTS, "--clearenv", "--", "/none"];

/** bubblewrap misses the program only once it has made the sandbox. @param {string} complaint its last line */
export function hasMadeEmptySandbox(complaint) {
  return /execvp \/none\b/.test(complaint);
}

/** The first release whose setpriv supports Landlock. */
export const OLDEST_UTIL_LINUX = "util-linux 2.41";

/** The oldest kernel whose Landlock is sufficient. */
export const OLDEST_LINUX = "Linux 5.19";

/** setpriv denies itself an unused operation and runs itself: exit code 0 if Landlock works. @param {string} setpriv */
export function landlockTrialArguments(setpriv) {
  return ["--no-new-privs", "--landlock-access", "fs:make-block", setpriv, "--version"];
}

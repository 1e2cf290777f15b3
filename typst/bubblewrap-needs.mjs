/** What the bubblewrap sandbox needs of a machine, and how to try it. Runs before there are packages, on Node 14. */

/** Nobody: the number has no meaning outside the sandbox's own user namespace. */
const USER_ID = "65534";

export const NETWORK_ARGUMENT = "--unshare-net";

/** The namespaces of a render except that for the network, and the user in them. @type {readonly string[]} */
export const NAMESPACE_ARGUMENTS = [
  ...["--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try"],
  ...["--uid", USER_ID, "--gid", USER_ID, "--hostname", "sandbox"],
];

/**
 * Makes a sandbox without a program, with the namespaces of a render and the newest option that a render uses.
 *
 * @type {readonly string[]}
 */
export const EMPTY_SANDBOX_ARGUMENTS = [NETWORK_ARGUMENT, ...NAMESPACE_ARGUMENTS, "--clearenv", "--", "/none"];

/**
 * Whether an empty sandbox could be made: only then does bubblewrap report that the program is missing.
 * @param {string} complaint its last line on standard error
 */
export function hasMadeEmptySandbox(complaint) {
  return /execvp \/none\b/.test(complaint);
}

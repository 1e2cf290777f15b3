/**
 * Why a sandbox cannot start on this machine: from what was found out about it to a message for its operator, which names
 * the cause and what to do. Pure; `machine-facts.ts` finds the facts.
 */

/** How a program of the sandbox went when it was tried on its own. */
export type Trial =
  | { readonly kind: "works" }
  | { readonly kind: "missing" }
  /** What it wrote to standard error, in one line. */
  | { readonly kind: "fails"; readonly complaint: string };

/** What the kernel and the container let this process do. */
export interface MachineFacts {
  readonly isSuperuser: boolean;
  readonly prlimit: Trial;
  /** Whether a filter of system calls binds this process already, as a container's does. */
  readonly isFiltered: boolean;
}

export interface BubblewrapFacts extends MachineFacts {
  readonly mode: "bubblewrap";
  /** bubblewrap with the namespaces that renders get, and nothing else. */
  readonly bubblewrap: Trial;
  /** Whether the settings of the kernel can be read, as bubblewrap must. */
  readonly canReadProcSys: boolean;
  /** The settings of the kernel that close user namespaces; null where the kernel has no such setting. */
  readonly maxUserNamespaces: number | null;
  readonly unprivilegedUserNamespaces: number | null;
  readonly apparmorRestriction: number | null;
  /** Whether programs can be run from the file system of the work directory. */
  readonly isWorkDirectoryExecutable: boolean;
}

export interface LandlockFacts extends MachineFacts {
  readonly mode: "landlock";
  /** The version that setpriv gives itself, null where there is none or it does not say. */
  readonly setprivVersion: string | null;
  readonly knowsLandlock: boolean;
  /** setpriv with a rule set of Landlock, and nothing else. */
  readonly setpriv: Trial;
  /** The kernel's list of active security modules, null where it cannot be read. */
  readonly securityModules: readonly string[] | null;
}

export type SandboxFacts = BubblewrapFacts | LandlockFacts;

/** The cause, and what to do about it, in sentences. */
export function describeObstacle(facts: SandboxFacts): string {
  if (facts.prlimit.kind === "missing") return "prlimit is missing. Install util-linux.";
  return facts.mode === "bubblewrap" ? bubblewrapObstacle(facts) : landlockObstacle(facts);
}

function bubblewrapObstacle(facts: BubblewrapFacts): string {
  const { bubblewrap } = facts;
  switch (bubblewrap.kind) {
    case "missing":
      return "bubblewrap is missing. Install it (Debian: apt-get install bubblewrap) or set SERVICE_BUBBLEWRAP_BIN.";
    case "fails":
      return `${namespaceObstacle(facts)} (${bubblewrap.complaint})`;
    case "works":
      return facts.isWorkDirectoryExecutable
        ? "bubblewrap works, so the cause is elsewhere: does SERVICE_TYPST_BIN run, and can this user read it and its libraries?"
        : "The file system of the work directory is mounted noexec. Set SERVICE_WORK_DIRECTORY.";
  }
}

/** Why no namespaces can be made, the surest cause first. */
function namespaceObstacle(facts: BubblewrapFacts): string {
  if (!facts.canReadProcSys) {
    return "/proc is masked: bubblewrap must read /proc/sys. Mount a whole /proc, or set SERVICE_SANDBOX=landlock.";
  }
  if (facts.maxUserNamespaces === 0) {
    return "User namespaces are closed by sysctl user.max_user_namespaces=0. Raise it, or set SERVICE_SANDBOX=landlock.";
  }
  if (facts.unprivilegedUserNamespaces === 0 && !facts.isSuperuser) {
    return (
      "User namespaces are closed to ordinary users by sysctl kernel.unprivileged_userns_clone=0. Set it to 1, or set " +
      "SERVICE_SANDBOX=landlock."
    );
  }
  // Before AppArmor: a container sees the host's settings, and its filter comes first.
  if (facts.isFiltered) {
    return (
      "A filter of system calls binds this process and closes user namespaces, as Docker's default seccomp profile does. " +
      "Set SERVICE_SANDBOX=landlock, or run the container with a seccomp profile that allows them."
    );
  }
  if (facts.apparmorRestriction === 1 && !facts.isSuperuser) {
    return (
      "User namespaces are closed by AppArmor (sysctl kernel.apparmor_restrict_unprivileged_userns=1, as on Ubuntu 24.04). " +
      "Install deploy/apparmor-bubblewrap, or set SERVICE_SANDBOX=landlock."
    );
  }
  return "Namespaces cannot be made here, and no usual cause was found. SERVICE_SANDBOX=landlock needs none.";
}

function landlockObstacle(facts: LandlockFacts): string {
  const { setpriv } = facts;
  if (setpriv.kind === "missing") return "setpriv is missing. Install util-linux 2.41 or newer.";
  if (!facts.knowsLandlock) {
    const found = facts.setprivVersion === null ? "" : ` (this is ${facts.setprivVersion})`;
    return `setpriv is too old${found}: util-linux 2.41 is the first that knows Landlock. SERVICE_SETPRIV_BIN names another.`;
  }
  if (setpriv.kind === "works") {
    return "Landlock works, so the cause is elsewhere: does SERVICE_TYPST_BIN run, and can this user read it and its libraries?";
  }
  return `${kernelObstacle(facts, setpriv.complaint)} (${setpriv.complaint})`;
}

/** Why Landlock fails: setpriv, run in English, ends its complaint with the kernel's answer. */
function kernelObstacle({ securityModules, isFiltered }: LandlockFacts, complaint: string): string {
  if (/^setpriv: landlock.*Operation not permitted$/.test(complaint) && isFiltered) {
    return (
      "A filter of system calls binds this process and refuses Landlock: the container's seccomp profile is older than " +
      "Landlock. Update the container's runtime, or give it a profile that allows landlock_create_ruleset."
    );
  }
  const isOff = securityModules !== null && !securityModules.includes("landlock");
  if (isOff || complaint.endsWith("Operation not supported")) {
    return "Landlock is in the kernel and not switched on. Add landlock to the lsm= list of the kernel's command line.";
  }
  if (complaint.endsWith("Function not implemented")) {
    return "The kernel has no Landlock, or a container's seccomp profile hides it. It needs Linux 5.19 or newer.";
  }
  return "setpriv cannot set up Landlock here, and no usual cause was found.";
}

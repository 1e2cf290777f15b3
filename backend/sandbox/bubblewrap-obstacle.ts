/** Why bubblewrap cannot make a sandbox on this machine: the facts, and what they mean to the operator. */
import { constants } from "node:fs";
import { access, chmod, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { NAMESPACE_ARGUMENTS, NETWORK_ARGUMENT } from "../../typst/sandbox-modes.mjs";
import { readProc } from "../processes/proc.ts";
import type { BackendSettings } from "../settings.ts";
import { findMachineFacts, type MachineFacts, type Trial, tryProgram } from "./trial.ts";

/** The kernel's settings; null for one that this kernel does not have. */
export interface BubblewrapFacts extends MachineFacts {
  readonly bubblewrap: Trial;
  /** One of the files of /proc/sys that bubblewrap must read. */
  readonly canReadProcSys: boolean;
  readonly maxUserNamespaces: number | null;
  readonly unprivilegedUserNamespaces: number | null;
  readonly apparmorRestriction: number | null;
  readonly isWorkDirectoryExecutable: boolean;
}

export async function findBubblewrapFacts(settings: BackendSettings): Promise<BubblewrapFacts> {
  const program = ["--ro-bind", "/", "/", "--", settings.bubblewrapPath, "--version"];
  return {
    ...findMachineFacts(),
    bubblewrap: await tryProgram(settings.bubblewrapPath, [NETWORK_ARGUMENT, ...NAMESPACE_ARGUMENTS, ...program]),
    canReadProcSys: readProc("sys/kernel/overflowuid") !== "",
    maxUserNamespaces: readSetting("user/max_user_namespaces"),
    unprivilegedUserNamespaces: readSetting("kernel/unprivileged_userns_clone"),
    apparmorRestriction: readSetting("kernel/apparmor_restrict_unprivileged_userns"),
    isWorkDirectoryExecutable: await canExecuteIn(settings.workDirectory),
  };
}

export function describeBubblewrapObstacle(facts: BubblewrapFacts): string {
  const { bubblewrap } = facts;
  switch (bubblewrap.kind) {
    case "missing":
      return "bubblewrap is missing. Install it (Debian: apt-get install bubblewrap) or set SERVICE_BUBBLEWRAP_BIN.";
    case "fails":
      return `${namespaceObstacle(facts, bubblewrap.complaint)} (${bubblewrap.complaint})`;
    case "works":
      return facts.isWorkDirectoryExecutable
        ? "bubblewrap works, so the cause is elsewhere: does SERVICE_TYPST_BIN run, and can this user read it and its libraries?"
        : "The file system of the work directory is mounted noexec. Set SERVICE_WORK_DIRECTORY.";
  }
}

/** Why no namespaces can be made. The most certain causes are checked first. */
function namespaceObstacle(facts: BubblewrapFacts, complaint: string): string {
  if (!facts.canReadProcSys) {
    return "/proc is masked: bubblewrap must read /proc/sys. Mount a whole /proc, or set SERVICE_SANDBOX=landlock.";
  }
  if (facts.maxUserNamespaces === 0) {
    return "User namespaces are disabled by sysctl user.max_user_namespaces=0. Raise it, or set SERVICE_SANDBOX=landlock.";
  }
  if (facts.unprivilegedUserNamespaces === 0 && !facts.isSuperuser) {
    return (
      "User namespaces are disabled for ordinary users by sysctl kernel.unprivileged_userns_clone=0. Set it to 1, or set " +
      "SERVICE_SANDBOX=landlock."
    );
  }
  if (complaint.endsWith("Function not implemented")) {
    return (
      "openat2 is hidden from this process, and bubblewrap 0.12 needs it. systemd does that under RestrictSUIDSGID=yes, which " +
      "DynamicUser=yes implies: use the unit in deploy/systemd. Old container runtimes hide it as well, and kernels before 5.6 do not have it. " +
      "SERVICE_SANDBOX=landlock needs no openat2."
    );
  }
  if (/hostname.*Operation not permitted/.test(complaint)) {
    return (
      "A seccomp filter allows namespaces but refuses sethostname, as Podman's default seccomp profile does. Set " +
      "SERVICE_SANDBOX=landlock, or run the container with deploy/seccomp-backend.json."
    );
  }
  // Before AppArmor: a container sees the host's AppArmor setting, but its filter takes effect first.
  if (facts.isFiltered && complaint.includes("new namespace")) {
    return (
      "A system call filter blocks user namespaces in this process, as Docker's default seccomp profile does. " +
      "Set SERVICE_SANDBOX=landlock, or run the container with a seccomp profile that allows them."
    );
  }
  if (facts.apparmorRestriction === 1 && !facts.isSuperuser) {
    return (
      "User namespaces are blocked by AppArmor (sysctl kernel.apparmor_restrict_unprivileged_userns=1, as on Ubuntu 24.04). " +
      "Install deploy/apparmor-bubblewrap, or set SERVICE_SANDBOX=landlock."
    );
  }
  if (facts.isFiltered) {
    return "A seccomp filter refuses something that bubblewrap needs. Allow it, or set SERVICE_SANDBOX=landlock.";
  }
  return "Namespaces cannot be created here, and no usual cause was found. SERVICE_SANDBOX=landlock needs none.";
}

function readSetting(path: string): number | null {
  const text = readProc(`sys/${path}`).trim();
  return text === "" ? null : Number(text);
}

/** Whether programs can be run from this file system: access(2) checks the mount as well as the file. */
async function canExecuteIn(folder: string): Promise<boolean> {
  const path = join(folder, "executable");
  try {
    await writeFile(path, "");
    await chmod(path, 0o700);
    await access(path, constants.X_OK);
    return true;
  } catch {
    return false;
  } finally {
    await rm(path, { force: true });
  }
}

/** Why Landlock cannot be used on this machine: the facts, and what they mean to the operator. */
import { OLDEST_LINUX, OLDEST_UTIL_LINUX } from "../../typst/sandbox-modes.mjs";
import type { BackendSettings } from "../settings.ts";
import { askProgram, findMachineFacts, type MachineFacts, type Trial, tryProgram } from "./trial.ts";

export interface LandlockFacts extends MachineFacts {
  /** As setpriv names it; null if it does not run. */
  readonly setprivVersion: string | null;
  readonly knowsLandlock: boolean;
  readonly setpriv: Trial;
}

export async function findLandlockFacts({ setprivPath }: BackendSettings): Promise<LandlockFacts> {
  const rules = ["--landlock-access", "fs", "--landlock-rule", "path-beneath:execute,read-file:/"];
  return {
    ...findMachineFacts(),
    setprivVersion: /util-linux \S+/.exec(await askProgram(setprivPath, "--version"))?.[0] ?? null,
    knowsLandlock: (await askProgram(setprivPath, "--help")).includes("--landlock-access"),
    setpriv: await tryProgram(setprivPath, ["--no-new-privs", ...rules, "--", setprivPath, "--version"]),
  };
}

export function describeLandlockObstacle(facts: LandlockFacts): string {
  const { setpriv } = facts;
  if (setpriv.kind === "missing") return `setpriv is missing. Install ${OLDEST_UTIL_LINUX} or newer.`;
  if (!facts.knowsLandlock) {
    const found = facts.setprivVersion === null ? "" : ` (this is ${facts.setprivVersion})`;
    return `setpriv is too old${found}: ${OLDEST_UTIL_LINUX} is the first that knows Landlock. SERVICE_SETPRIV_BIN names another.`;
  }
  if (setpriv.kind === "works") {
    return "Landlock works, so the cause is elsewhere: does SERVICE_TYPST_BIN run, and can this user read it and its libraries?";
  }
  return `${kernelObstacle(facts, setpriv.complaint)} (${setpriv.complaint})`;
}

/** Why Landlock fails: setpriv, run in English, ends its error message with the kernel's error. */
function kernelObstacle({ isFiltered }: LandlockFacts, complaint: string): string {
  if (/^setpriv: landlock.*Operation not permitted$/.test(complaint) && isFiltered) {
    return (
      "A filter of system calls binds this process and refuses Landlock: the container's seccomp profile is older than " +
      "Landlock. Update the container's runtime, or give it a profile that allows landlock_create_ruleset."
    );
  }
  if (complaint.endsWith("Operation not supported")) {
    return "Landlock is in the kernel and not switched on. Add landlock to the lsm= list of the kernel's command line.";
  }
  if (complaint.endsWith("Function not implemented")) {
    return `The kernel has no Landlock, or a container's seccomp profile hides it. It needs ${OLDEST_LINUX} or newer.`;
  }
  return "setpriv cannot set up Landlock here, and no usual cause was found.";
}

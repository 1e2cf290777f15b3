/**
 * An empty network for each shell of the launcher. A new network costs the kernel 1.1 ms (docs/decisions/launcher.md),
 * so a render in bubblewrap gets that of its shell. A shell runs one program at a time: no two renders share one.
 */
import { hasMadeEmptySandbox, NAMESPACE_ARGUMENTS } from "../../typst/sandbox-modes.mjs";
import type { BackendSettings } from "../settings.ts";
import { tryProgram } from "./trial.ts";

/** The beginning of a command; empty if bubblewrap does not run in such a network, or is not used. */
export async function findEmptyNetwork({
  sandboxChoice,
  unsharePath,
  bubblewrapPath,
}: BackendSettings): Promise<readonly string[]> {
  if (sandboxChoice === "landlock" || sandboxChoice === "none") return [];
  const options = ["--user", "--map-current-user", "--net", "--"];
  const emptySandbox = [bubblewrapPath, ...NAMESPACE_ARGUMENTS, "--clearenv", "--", "/none"];
  const trial = await tryProgram(unsharePath, [...options, ...emptySandbox]);
  const isMade = trial.kind === "fails" && hasMadeEmptySandbox(trial.complaint);
  return isMade ? [unsharePath, ...options] : [];
}

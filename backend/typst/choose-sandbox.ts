/** Chooses the sandbox in which Typst runs: none before a probe has tried to escape from it. */
import { SettingError } from "../../rules/settings.ts";
import { AUTOMATIC_MODES } from "../../typst/sandbox-modes.mjs";
import type { Launcher } from "../launcher/launcher.ts";
import { openSandbox } from "../sandbox/open-sandbox.ts";
import type { Sandbox } from "../sandbox/sandbox.ts";
import type { BackendSettings } from "../settings.ts";
import { probeSandbox } from "./sandbox-probe.ts";

export interface ChosenSandbox {
  readonly sandbox: Sandbox;
  /** What the operator should know about the choice, in one line; null if there is nothing. */
  readonly message: string | null;
}

/** @throws SettingError if Typst can escape from the sandbox, or does not run in it; with `auto`, in every sandbox. */
export async function chooseSandbox(settings: BackendSettings, launcher: Launcher): Promise<ChosenSandbox> {
  const { sandboxChoice } = settings;
  if (sandboxChoice === "auto") return chooseAutomatically(settings, launcher);
  const sandbox = await openSandbox(settings, sandboxChoice, launcher);
  if (sandbox.mode === "none") {
    return {
      sandbox,
      message: "WARNING: SERVICE_SANDBOX=none: a flaw in Typst would expose this machine to every caller.",
    };
  }
  const fault = await findFault(settings, sandbox, launcher);
  if (fault !== null) throw new SettingError(fault);
  return { sandbox, message: null };
}

async function chooseAutomatically(settings: BackendSettings, launcher: Launcher): Promise<ChosenSandbox> {
  const faults: string[] = [];
  for (const mode of AUTOMATIC_MODES) {
    const sandbox = await openSandbox(settings, mode, launcher);
    const fault = await findFault(settings, sandbox, launcher);
    if (fault === null) return { sandbox, message: [`SERVICE_SANDBOX=auto: ${mode} is used.`, ...faults].join(" ") };
    faults.push(fault);
  }
  throw new SettingError(faults.join(" "));
}

/** Why a sandbox cannot be used, in sentences for the operator; null if it can. */
async function findFault(settings: BackendSettings, sandbox: Sandbox, launcher: Launcher): Promise<string | null> {
  const { compiles, escapes } = await probeSandbox(settings, sandbox, launcher);
  if (escapes.length > 0) return `The ${sandbox.mode} sandbox does not hold: Typst ${escapes.join(", ")}.`;
  if (compiles) return null;
  return `Typst does not run in the ${sandbox.mode} sandbox. ${await sandbox.findObstacle()}`;
}

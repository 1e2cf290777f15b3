/**
 * Setting up the sandbox that the settings name: what it needs is looked up and written at start.
 */
import { SettingError } from "../../rules/settings.ts";
import type { BackendSettings } from "../settings.ts";
import { bubblewrapSandbox } from "./bubblewrap.ts";
import { landlockSandbox } from "./landlock.ts";
import type { Sandbox } from "./sandbox.ts";
import { seccompFilter } from "./seccomp.ts";
import { seccompFilterFile } from "./seccomp-filter-file.ts";
import { sharedLibraries } from "./shared-libraries.ts";
import { unconfined } from "./unconfined.ts";

/**
 * The sandbox, prepared and not yet probed. The work directory must be ready.
 *
 * @throws SettingError where it cannot be had on this machine.
 */
export async function openSandbox(settings: BackendSettings): Promise<Sandbox> {
  const sandbox = await chooseSandbox(settings);
  await sandbox.prepare();
  return sandbox;
}

async function chooseSandbox(settings: BackendSettings): Promise<Sandbox> {
  if (settings.sandboxMode === "none") return unconfined(settings);
  const filter = seccompFilter(process.arch);
  if (filter === null) throw new SettingError(`No system call filter is known for ${process.arch}.`);
  const open = { bubblewrap: bubblewrapSandbox, landlock: landlockSandbox }[settings.sandboxMode];
  return open(settings, await sharedLibraries(settings.typstPath), seccompFilterFile(settings, filter));
}

/**
 * Setting up the sandbox that the settings name: what it needs is looked up and written once, at start.
 */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { SettingError } from "../../rules/integer-setting.ts";
import type { BackendSettings } from "../settings.ts";
import { bubblewrapSandbox } from "./bubblewrap.ts";
import { landlockSandbox } from "./landlock.ts";
import type { Sandbox } from "./sandbox.ts";
import { seccompFilter } from "./seccomp.ts";
import { sharedLibraries } from "./shared-libraries.ts";
import { unconfined } from "./unconfined.ts";

/**
 * The sandbox, not yet probed. The work directory must be ready.
 *
 * @throws SettingError where it cannot be had on this machine.
 */
export async function openSandbox(settings: BackendSettings): Promise<Sandbox> {
  if (settings.sandboxMode === "none") return unconfined(settings);
  const filter = seccompFilter(process.arch);
  if (filter === null) throw new SettingError(`No system call filter is known for ${process.arch}.`);
  const libraries = await sharedLibraries(settings.typstPath);
  if (settings.sandboxMode === "bubblewrap") return bubblewrapSandbox(settings, libraries, filter);
  // setpriv reads the filter from a file.
  const filterPath = join(settings.workDirectory, "seccomp.bpf");
  await writeFile(filterPath, filter);
  return landlockSandbox(settings, libraries, filterPath);
}

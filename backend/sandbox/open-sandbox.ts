/** Opens a sandbox of a given mode. */
import type { Launcher } from "../launcher/launcher.ts";
import type { BackendSettings } from "../settings.ts";
import { openBubblewrap } from "./bubblewrap.ts";
import { openLandlock } from "./landlock.ts";
import type { Sandbox, SandboxMode } from "./sandbox.ts";
import { openUnconfined } from "./unconfined.ts";

/**
 * Writes what the sandbox needs into the work directory, which must be ready. The sandbox is not probed yet.
 *
 * @throws SettingError if this machine's processor or shell is not known well enough to confine a process.
 */
export function openSandbox(settings: BackendSettings, mode: SandboxMode, launcher: Launcher): Promise<Sandbox> {
  switch (mode) {
    case "bubblewrap":
      return openBubblewrap(settings, launcher);
    case "landlock":
      return openLandlock(settings);
    case "none":
      return openUnconfined(settings);
  }
}

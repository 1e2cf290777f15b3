/**
 * Opens a sandbox of a given mode.
 */
import type { BackendSettings } from "../start/settings.ts";
import { openBubblewrap } from "./bubblewrap.ts";
import { openLandlock } from "./landlock.ts";
import type { Sandbox, SandboxMode } from "./sandbox.ts";
import { openUnconfined } from "./unconfined.ts";

/**
 * Writes what the sandbox needs into the work directory, which must be ready. The sandbox is not probed yet.
 *
 * @throws SettingError if no filter of system calls is known for this machine's processor.
 */
export function openSandbox(settings: BackendSettings, mode: SandboxMode): Promise<Sandbox> {
  switch (mode) {
    case "bubblewrap":
      return openBubblewrap(settings);
    case "landlock":
      return openLandlock(settings);
    case "none":
      return openUnconfined(settings);
  }
}

/** Opens a sandbox of a given mode. */
import { basename } from "node:path";
import { UNCONFINED_ENVIRONMENT } from "../../typst/command-line.ts";
import type { Launcher } from "../launcher/launcher.ts";
import type { BackendSettings } from "../settings.ts";
import { openBubblewrap } from "./bubblewrap.ts";
import { openLandlock } from "./landlock.ts";
import { preparePackageDirectory, type Sandbox, type SandboxMode } from "./sandbox.ts";

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

/** For developers whose machines support no sandbox. Typst keeps to its root, but nothing contains a flaw in it. */
async function openUnconfined(settings: BackendSettings): Promise<Sandbox> {
  const packages = await preparePackageDirectory(settings);
  return {
    mode: "none",
    launchers: [],
    workFiles: packages.workFiles,
    view: ({ root, outputDirectory }) => ({
      root,
      outputDirectory,
      fontPaths: settings.fontPaths,
      packagePath: packages.path,
    }),
    programCommand: (renderDirectory, typstArguments, variables = {}) => ({
      typstName: basename(settings.typstPath),
      file: settings.typstPath,
      arguments: typstArguments,
      environment: { ...UNCONFINED_ENVIRONMENT, ...variables },
      workingDirectory: renderDirectory.root,
      inheritedFile: null,
      limitCommands: [],
    }),
    findObstacle: async () => "Does SERVICE_TYPST_BIN run, and can this user read it and its libraries?",
  };
}

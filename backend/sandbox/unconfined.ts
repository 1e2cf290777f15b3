/**
 * No sandbox at all, for developers whose machines support none. Typst itself still keeps to its root directory, but
 * nothing contains a flaw in Typst.
 */
import { basename } from "node:path";
import { UNCONFINED_ENVIRONMENT } from "../../typst/command-line.ts";
import type { BackendSettings } from "../settings.ts";
import { preparePackageDirectory, type Sandbox } from "./sandbox.ts";

export async function openUnconfined(
  settings: Pick<BackendSettings, "typstPath" | "fontPaths" | "packagePath" | "workDirectory">,
): Promise<Sandbox> {
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

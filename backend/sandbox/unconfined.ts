/**
 * No sandbox at all, for developers whose machines have none. Typst itself still keeps to its root directory, but nothing
 * contains a flaw in it.
 */
import { basename } from "node:path";
import type { BackendSettings } from "../settings.ts";
import { endOfTypst } from "./launch-end.ts";
import { preparePackageDirectory } from "./package-directory.ts";
import { proxyVariables } from "./proxy-variables.ts";
import { RENDER_ENVIRONMENT, type Sandbox } from "./sandbox.ts";

/** A port that refuses every connection: without a sandbox, only this prevents Typst from fetching packages. */
const REFUSING_PROXY = "http://127.0.0.1:9";

export async function openUnconfined(
  settings: Pick<BackendSettings, "typstPath" | "fontPaths" | "packagePath" | "workDirectory">,
): Promise<Sandbox> {
  const packages = await preparePackageDirectory(settings);
  return {
    mode: "none",
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
      environment: { ...RENDER_ENVIRONMENT, ...proxyVariables(REFUSING_PROXY), ...variables },
      workingDirectory: renderDirectory.root,
      inheritedFile: null,
      limitCommands: [],
    }),
    interpretEnd: (end) => endOfTypst(end, []),
    findObstacle: async () => "Does SERVICE_TYPST_BIN run, and can this user read it and its libraries?",
  };
}

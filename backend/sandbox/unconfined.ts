/**
 * No sandbox at all: for machines of developers whose system has none. Typst itself still keeps to its project, but
 * nothing else holds what a flaw in it would let through.
 */
import { basename } from "node:path";
import type { BackendSettings } from "../settings.ts";
import { emptyPackageDirectory, makeEmptyPackageDirectory } from "../work-directory/claim.ts";
import type { RenderDirectory } from "../work-directory/render-directory.ts";
import { RENDER_ENVIRONMENT, type Sandbox, type SpawnCommand } from "./sandbox.ts";

/** A proxy that refuses every connection: without a sandbox it is all that keeps Typst from fetching packages. */
const REFUSING_PROXY = "http://127.0.0.1:9";

export function unconfined(settings: BackendSettings): Sandbox {
  const packagePath = settings.packagePath ?? emptyPackageDirectory(settings);
  return {
    mode: "none",
    prepare: () => makeEmptyPackageDirectory(settings),
    isWhole: () => true,
    view: ({ root, outputDirectory }) => ({ root, outputDirectory, fontPaths: settings.fontPaths, packagePath }),
    spawnCommand: (renderDirectory: RenderDirectory, typstArguments): SpawnCommand => ({
      typstName: basename(settings.typstPath),
      file: settings.typstPath,
      arguments: typstArguments,
      environment: {
        ...RENDER_ENVIRONMENT,
        HTTP_PROXY: REFUSING_PROXY,
        HTTPS_PROXY: REFUSING_PROXY,
        ALL_PROXY: REFUSING_PROXY,
      },
      workingDirectory: renderDirectory.root,
      descriptor3Path: null,
      statusReport: "direct",
    }),
  };
}

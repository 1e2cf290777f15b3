/**
 * The folder of packages for sandboxes that show Typst the host's own paths.
 */
import { mkdir } from "node:fs/promises";
import type { BackendSettings } from "../start/settings.ts";
import { workDirectoryPath } from "../work-directory/paths.ts";

export interface PackageDirectory {
  readonly path: string;
  /** Its paths in the work directory. */
  readonly workFiles: readonly string[];
}

/** The operator's folder. If none is set, an empty one is made, because Typst would otherwise use the user's. */
export async function preparePackageDirectory(
  settings: Pick<BackendSettings, "packagePath" | "workDirectory">,
): Promise<PackageDirectory> {
  if (settings.packagePath !== null) return { path: settings.packagePath, workFiles: [] };
  const path = workDirectoryPath(settings.workDirectory, "emptyPackages");
  await mkdir(path, { recursive: true });
  return { path, workFiles: [path] };
}

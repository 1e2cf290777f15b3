/**
 * The fonts and packages that the operator of the service has installed, if this machine has the same folders.
 */
import { existsSync, statSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { CommandError } from "../exit-codes.ts";
import { printableLine } from "../terminal.ts";

export interface OperatorFlags {
  readonly fontPath?: readonly string[] | undefined;
  readonly packagePath?: string | undefined;
}

/**
 * The folders that the options name, else those of `SERVICE_FONT_PATHS` and `SERVICE_PACKAGE_PATH`, else those of a
 * checkout, which `npm start` uses by default.
 *
 * @throws CommandError for a folder that does not exist
 */
export function operatorFolders({ fontPath, packagePath }: OperatorFlags) {
  const { SERVICE_FONT_PATHS, SERVICE_PACKAGE_PATH } = process.env;
  const fonts = fontPath ?? SERVICE_FONT_PATHS?.split(":").filter((folder) => folder !== "");
  for (const folder of fonts ?? []) refuseIfMissing(fontPath ? "--font-path" : "SERVICE_FONT_PATHS", folder);
  const packages = packagePath ?? SERVICE_PACKAGE_PATH ?? folderOfCheckout("vendor/packages", "packages-lock.json");
  if (packages) refuseIfMissing(packagePath ? "--package-path" : "SERVICE_PACKAGE_PATH", packages);
  return {
    fontPaths: (fonts ?? [folderOfCheckout("vendor/fonts", "fonts-lock.json")])
      .filter((folder) => folder !== null)
      .map((folder) => resolve(folder)),
    /** Null if there is none. */
    packagePath: packages ? resolve(packages) : null,
  };
}

/**
 * Typst takes a folder that is missing for an empty one: the pages would be set in other fonts, and nobody would be
 * told.
 */
function refuseIfMissing(origin: string, folder: string): void {
  if (statSync(folder, { throwIfNoEntry: false })?.isDirectory()) return;
  throw new CommandError(printableLine(`${origin}: ${folder} is not a folder.`));
}

/**
 * A folder of the checkout that contains the working directory or this program; null if neither is in a checkout that
 * has it.
 */
function folderOfCheckout(name: string, lockName: string): string | null {
  for (const start of [process.cwd(), dirname(fileURLToPath(import.meta.url))]) {
    for (let folder = start; ; folder = dirname(folder)) {
      if (existsSync(join(folder, name, lockName))) return join(folder, name);
      if (folder === dirname(folder)) break;
    }
  }
  return null;
}

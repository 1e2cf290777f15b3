/**
 * What the operator of the service has installed, if this machine has the same folders.
 */
import { resolve } from "node:path";

export interface OperatorFlags {
  readonly fontPath?: readonly string[] | undefined;
  readonly packagePath?: string | undefined;
}

/** The folders that the options name, else those of `SERVICE_FONT_PATHS` and `SERVICE_PACKAGE_PATH`. */
export function operatorFolders({ fontPath, packagePath }: OperatorFlags) {
  const { SERVICE_FONT_PATHS = "", SERVICE_PACKAGE_PATH } = process.env;
  const fonts = fontPath ?? SERVICE_FONT_PATHS.split(":").filter((folder) => folder !== "");
  const packages = packagePath ?? SERVICE_PACKAGE_PATH;
  return {
    fontPaths: fonts.map((folder) => resolve(folder)),
    /** Null if there is none. */
    packagePath: packages ? resolve(packages) : null,
  };
}

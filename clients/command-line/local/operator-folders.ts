/** What compiles on this machine as the service does: Typst in its version, and the folders of its operator. */
import { delimiter, dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { locateTypst } from "../../../typst/program-location.mjs";
import { TYPST_VERSION, typstProblem } from "../../../typst/typst-release.mjs";
import { CommandError } from "../exit-codes.ts";
import { isFolder, isThere } from "../files/disk.ts";
import { printableLine } from "../terminal.ts";

interface CompileFlags {
  readonly typst?: string | undefined;
  readonly url?: string | undefined;
  readonly fontPath?: readonly string[] | undefined;
  readonly packagePath?: string | undefined;
}

/** @param problemOf what is wrong with the Typst of `--typst` */
export async function localSettings(flags: CompileFlags, problemOf = typstProblem) {
  return { typstPath: await findTypst(flags.typst, problemOf), url: flags.url, ...operatorFolders(flags) };
}

/**
 * The folders of the options, else of `SERVICE_FONT_PATHS` and `SERVICE_PACKAGE_PATH`, else of the checkout, as `npm
 * start` uses them. @throws CommandError for one that does not exist: Typst takes it for empty, and sets other fonts
 */
function operatorFolders({ fontPath, packagePath }: CompileFlags) {
  const { SERVICE_FONT_PATHS, SERVICE_PACKAGE_PATH } = process.env;
  const fonts =
    fontPath ??
    SERVICE_FONT_PATHS?.split(delimiter).filter((folder) => folder !== "") ??
    folderOfCheckout("vendor/fonts", "fonts-lock.json");
  const [packages] =
    packagePath !== undefined || SERVICE_PACKAGE_PATH !== undefined
      ? [packagePath ?? SERVICE_PACKAGE_PATH ?? ""].filter((folder) => folder !== "")
      : folderOfCheckout("vendor/packages", "packages-lock.json");
  const requireFolder = (setting: string, folder: string): string => {
    if (isFolder(folder)) return resolve(folder);
    throw new CommandError(printableLine(`${setting}: ${folder} is not a folder.`));
  };
  return {
    fontPaths: fonts.map((folder) => requireFolder(fontPath ? "--font-path" : "SERVICE_FONT_PATHS", folder)),
    packagePath:
      packages === undefined ? null : requireFolder(packagePath ? "--package-path" : "SERVICE_PACKAGE_PATH", packages),
  };
}

/** A folder of the checkout around the working directory, or else around this program; none without one. */
function folderOfCheckout(name: string, lockName: string): string[] {
  for (const start of [process.cwd(), dirname(fileURLToPath(import.meta.url))]) {
    for (let folder = start; ; folder = dirname(folder)) {
      if (isThere(join(folder, name, lockName))) return [join(folder, name)];
      if (folder === dirname(folder)) break;
    }
  }
  return [];
}

/** The Typst that the caller names, else `SERVICE_TYPST_BIN`, else one on PATH or in the user's cache. */
async function findTypst(named: string | undefined, problemOf: typeof typstProblem): Promise<string> {
  if (named !== undefined) {
    const file = resolve(named);
    const problem = await problemOf(file);
    if (problem !== undefined) throw new CommandError(`--typst: ${problem}.`);
    return file;
  }
  const located = await locateTypst();
  if ("path" in located) return located.path;
  throw new CommandError(
    `${located.error} Or get Typst ${TYPST_VERSION} from https://github.com/typst/typst/releases and name it with --typst.`,
  );
}

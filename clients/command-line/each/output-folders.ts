/**
 * Where the documents of `--each` go. The project may come from anybody, and the rows decide names of folders, so a
 * link among these could lead documents anywhere: the caller's own file names end where the first placeholder begins.
 */
import { realpath } from "node:fs/promises";
import { dirname, resolve, sep } from "node:path";
import { CommandError } from "../exit-codes.ts";
import { printableLine } from "../terminal.ts";

/**
 * @param root the folder of the project
 * @throws CommandError when a link leads the documents out of the project's folder, or out of the folder that the
 *   caller named
 */
export async function requireOwnFolders(template: string, paths: readonly string[], root: string): Promise<void> {
  const named = resolve(dirname(`${template.split("{", 1)[0]}x`));
  const realNamed = await realPlace(named);
  const realRoot = await realPlace(root);
  if (isWithin(root, named) && !isWithin(realRoot, realNamed)) throw leadsOut(named);
  for (const folder of new Set(paths.map((path) => dirname(resolve(path))))) {
    if (isWithin(named, folder) && !isWithin(realNamed, await realPlace(folder))) throw leadsOut(folder);
  }
}

function leadsOut(folder: string): CommandError {
  return new CommandError(
    printableLine(`--output: ${folder} is a link, or is below one, to another folder: nothing was sent.`),
  );
}

/** The path without links, as far as it exists. */
async function realPlace(path: string): Promise<string> {
  const missing: string[] = [];
  for (let folder = path; ; folder = dirname(folder)) {
    const real = await realpath(folder).catch(() => null);
    if (real !== null) return resolve(real, ...missing);
    if (dirname(folder) === folder) return path;
    missing.unshift(folder.slice(dirname(folder).length).replace(/^[/\\]/, ""));
  }
}

function isWithin(folder: string, path: string): boolean {
  return path === folder || path.startsWith(folder.endsWith(sep) ? folder : `${folder}${sep}`);
}

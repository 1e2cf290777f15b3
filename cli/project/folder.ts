/**
 * The folder of a project, and reading from it. Links may lead anywhere, and a project may come from anybody: a file whose path
 * is in the folder is read only if the file itself is there as well. A file elsewhere that the caller names is the caller's own choice.
 */
import { readFile, realpath, stat } from "node:fs/promises";
import { dirname, isAbsolute, relative, resolve, sep } from "node:path";
import { CommandError } from "../exit-codes.ts";
import { printableLine } from "../terminal.ts";

/** Far above any limit that a deployment can have for a file. */
const MAX_FILE_BYTES = 256 * 1024 ** 2;

/** The folder of a project: the one that is named, or that of the source. */
export async function projectFolder(source: string): Promise<string> {
  return (await isFolder(source)) ? resolve(source) : dirname(resolve(source));
}

export async function isFolder(path: string): Promise<boolean> {
  return (await statOf(path))?.isDirectory() ?? false;
}

export async function isFile(path: string): Promise<boolean> {
  return (await statOf(path))?.isFile() ?? false;
}

/**
 * Reads a file that the caller, a source or a folder names.
 *
 * @param folder of the project
 * @throws CommandError that names the file as the caller did.
 */
export async function readNamed(path: string, name: string, folder: string): Promise<Buffer> {
  const shown = printableLine(name);
  const real = await realpath(path).catch(() => null);
  const found = real === null ? null : await statOf(real);
  if (real === null || found === null) throw new CommandError(`${shown} does not exist.`);
  if (await leadsOutOf(folder, path, real)) {
    throw new CommandError(
      `${shown} is not sent: a link leads out of the folder of the source, ${printableLine(folder)}. Copy the file there instead.`,
    );
  }
  if (!found.isFile()) throw new CommandError(`${shown} is not a file.`);
  if (found.size > MAX_FILE_BYTES)
    throw new CommandError(`${shown} has ${found.size} bytes: no service accepts a file that large.`);
  try {
    return await readFile(real);
  } catch (error) {
    throw new CommandError(
      `${shown} cannot be read (${printableLine(error instanceof Error ? error.message : String(error))}).`,
    );
  }
}

/** Whether a path is in a folder by its name, or by the place of its last link, and the file is not. */
async function leadsOutOf(folder: string, path: string, real: string): Promise<boolean> {
  const realFolder = await realpath(folder);
  if (isBelow(realFolder, real)) return false;
  return isBelow(folder, resolve(path)) || isBelow(realFolder, await realpath(dirname(resolve(path))));
}

function isBelow(folder: string, path: string): boolean {
  const below = relative(folder, path);
  return below !== ".." && !below.startsWith(`..${sep}`) && !isAbsolute(below);
}

async function statOf(path: string) {
  return stat(path).catch(() => null);
}

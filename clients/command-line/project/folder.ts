/**
 * Finds the folder of a project and reads files. Links may lead anywhere, and a project may come from anybody, so a
 * file whose path is in the folder is read only if the file itself is there, too. If the caller names a file elsewhere,
 * that is the caller's choice.
 */
import { readdir, readFile, realpath, stat } from "node:fs/promises";
import { basename, dirname, isAbsolute, join, relative, resolve, sep } from "node:path";
import { didYouMean, similarName } from "../../data-schema/similar-name.ts";
import { CommandError } from "../exit-codes.ts";
import { printableLine } from "../terminal.ts";

/** Far above any limit that a deployment can have for a file. */
const MAX_FILE_BYTES = 256 * 1024 ** 2;
/** The name of a file that means standard input. */
export const STANDARD_INPUT = "-";

/** The folder of a project: the named folder, or the one that contains the named source. */
export async function projectFolder(source: string): Promise<string> {
  return (await isFolder(source)) ? resolve(source) : dirname(resolve(source));
}

export async function isFolder(path: string): Promise<boolean> {
  return (await statOf(path))?.isDirectory() ?? false;
}

export async function isFile(path: string): Promise<boolean> {
  return (await statOf(path))?.isFile() ?? false;
}

export async function sizeOf(path: string): Promise<number> {
  return (await statOf(path))?.size ?? 0;
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
  if (real === null || found === null) throw await missing(path, name);
  if (await leadsOutOf(folder, path, real)) {
    throw new CommandError(
      `${shown} is not sent: a link leads out of the folder of the source, ${printableLine(folder)}. Copy the file there instead.`,
    );
  }
  if (!found.isFile()) throw new CommandError(`${shown} is not a file.`);
  if (found.size > MAX_FILE_BYTES)
    throw new CommandError(
      `${shown} has ${found.size} bytes, and the limit is ${MAX_FILE_BYTES}: no service accepts a file that large.`,
    );
  try {
    return await readFile(real);
  } catch (error) {
    throw new CommandError(
      `${shown} cannot be read (${printableLine(error instanceof Error ? error.message : String(error))}).`,
    );
  }
}

async function missing(path: string, name: string): Promise<CommandError> {
  const names = await readdir(dirname(resolve(path))).catch(() => []);
  const closest = similarName(basename(path), names);
  const meant = closest === null ? null : join(dirname(name), closest);
  return new CommandError(printableLine(`${name} does not exist.${didYouMean(meant)}`));
}

/**
 * Reads a file that the caller names, or standard input for `-`, and its name for messages.
 *
 * @throws CommandError as `readNamed` does
 */
export async function readInput(
  path: string,
  name: string,
  folder: string,
): Promise<{ readonly bytes: Buffer; readonly shown: string }> {
  if (path !== STANDARD_INPUT) return { bytes: await readNamed(path, name, folder), shown: printableLine(name) };
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of process.stdin) {
    const bytes = Buffer.from(chunk);
    size += bytes.length;
    if (size > MAX_FILE_BYTES)
      throw new CommandError(`Standard input has more than ${MAX_FILE_BYTES} bytes, the limit.`);
    chunks.push(bytes);
  }
  return { bytes: Buffer.concat(chunks), shown: "standard input" };
}

/** Whether a link leads to a file in a folder. */
export async function leadsToFileBelow(folder: string, link: string): Promise<boolean> {
  const real = await realpath(link).catch(() => null);
  return real !== null && isBelow(await realpath(folder), real) && (await isFile(real));
}

/** Whether a file is outside a folder although its path, or the path of its last link, is inside. */
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

/**
 * The names in the folders of a project, each folder read once, when something in it is asked for. A source may have a
 * hundred thousand strings, and the disk is asked for those alone that can be files.
 */
export class FolderTree {
  readonly #root: string;
  readonly #names = new Map<string, Promise<ReadonlySet<string> | null>>();

  constructor(root: string) {
    this.#root = root;
  }

  /** Whether there may be a file of this key: its names are there, in any case and form of accents. */
  async mayHave(key: string): Promise<boolean> {
    let folder = "";
    for (const name of key.split("/")) {
      const names = await this.#namesIn(folder);
      // A folder that cannot be listed may have files that can be read.
      if (names === null) return true;
      if (!names.has(foldedName(name))) return false;
      folder = join(folder, name);
    }
    return true;
  }

  #namesIn(folder: string): Promise<ReadonlySet<string> | null> {
    const known = this.#names.get(folder);
    if (known !== undefined) return known;
    const names = readdir(join(this.#root, folder)).then(
      (found) => new Set(found.map(foldedName)),
      (error: NodeJS.ErrnoException) => (isNoFolder(error) ? new Set<string>() : null),
    );
    this.#names.set(folder, names);
    return names;
  }
}

function isNoFolder({ code }: NodeJS.ErrnoException): boolean {
  return code === "ENOENT" || code === "ENOTDIR";
}

/** Equal for names that some file systems take for one. */
function foldedName(name: string): string {
  return name.normalize("NFC").toLowerCase();
}

/** A package that is a folder or an archive on this machine, such as an author's own, or what Typst has downloaded. */
import { readdir, readFile, stat } from "node:fs/promises";
import { join, posix, relative, resolve, sep } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { type PackageSpec, parsePackageSpec } from "../../rules/package-spec.ts";
import { VendoringError } from "../vendoring/folder-change.ts";
import { type ArchiveLimits, type PackageFiles, refusalOfPath, unpackArchive } from "./archive.ts";
import { manifestOf } from "./manifest.ts";

/** Where packages are that belong to nobody else, by Typst's own convention. */
const OWN_NAMESPACE = "local";

/** @param text a path, or `file:` and a path or a URL */
export function locateLocalPackage(text: string): URL {
  if (/^file:\/\//i.test(text)) return new URL(text);
  return pathToFileURL(resolve(text.replace(/^file:/i, "")));
}

/** The files of a folder, hidden ones excepted, or of a `.tar.gz`. @throws VendoringError if it is refused */
export async function readLocalPackage(place: URL, limits: ArchiveLimits): Promise<PackageFiles> {
  const path = fileURLToPath(place);
  const found = await stat(path).catch((error: Error) => {
    throw new VendoringError(`${path} cannot be read: ${error.message}`);
  });
  if (found.isDirectory()) return readFolder(path, limits);
  if (found.size > limits.maxArchiveBytes) {
    throw new VendoringError(`${path} is refused: it has over ${limits.maxArchiveBytes} bytes.`);
  }
  return unpackArchive(path, await readFile(path), limits);
}

/** Its manifest knows no namespace: that of Typst's folders, if the package is in one, or else `local`. */
export function specOfLocalPackage(place: URL, files: PackageFiles): PackageSpec {
  const path = fileURLToPath(place);
  const { name, version } = manifestOf(path, files).package;
  const [namespace = "", ...rest] = path.split(sep).filter(Boolean).slice(-3);
  const isInPlace = rest.join("/") === `${name}/${version}`;
  const spec = parsePackageSpec(`@${isInPlace ? namespace : OWN_NAMESPACE}/${name}:${version}`);
  if (spec === null) throw new VendoringError(`${path} is refused: its name or version is not one of a package.`);
  return spec;
}

async function readFolder(folder: string, limits: ArchiveLimits): Promise<PackageFiles> {
  const refuse = (reason: string) => new VendoringError(`${folder} is refused: ${reason}.`);
  const files = new Map<string, Uint8Array>();
  const folders = [folder];
  let count = 0;
  let size = 0;
  for (let parent = folders.shift(); parent !== undefined; parent = folders.shift()) {
    for (const entry of await readdir(parent, { withFileTypes: true })) {
      if (entry.name.startsWith(".")) continue;
      const place = join(parent, entry.name);
      const path = relative(folder, place).split(sep).join(posix.sep);
      const reason = refusalOfPath(path, limits);
      if (reason !== null) throw refuse(reason);
      if (++count > limits.maxFiles) throw refuse(`it has over ${limits.maxFiles} files and folders`);
      if (entry.isDirectory()) folders.push(place);
      else if (!entry.isFile()) throw refuse(`${path} is neither a file nor a folder`);
      else {
        size += (await stat(place)).size;
        if (size > limits.maxUnpackedBytes) throw refuse(`it has over ${limits.maxUnpackedBytes} bytes`);
        files.set(path, await readFile(place));
      }
    }
  }
  return files;
}

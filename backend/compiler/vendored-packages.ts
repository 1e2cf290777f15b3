/** Reads the folder of vendored Typst packages and its lock file, for the backend and for `npm run packages`. */
import { readdir, readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import * as v from "valibot";
import {
  comparePackages,
  PACKAGE_IDENTIFIER_PATTERN,
  PACKAGE_VERSION_PATTERN,
  type PackageSpec,
  parsePackageSpec,
} from "../../rules/package-spec.ts";

export const PACKAGES_LOCK_NAME = "packages-lock.json";
const PACKAGE_MANIFEST_NAME = "typst.toml";

/** Bounds the work of a backend's start and the size of `/capabilities.json`. */
const MAX_VENDORED_PACKAGES = 1000;

const sha256 = v.pipe(v.string(), v.regex(/^[0-9a-f]{64}$/));
const specText = v.pipe(
  v.string(),
  v.check((text) => parsePackageSpec(text) !== null, "must be @namespace/name:version"),
);

const lockedPackage = v.object({
  requested: v.boolean(),
  registry: v.pipe(v.string(), v.url()),
  archive_sha256: sha256,
  /** The SHA-256 of what `sha256sum` prints for the package's files on disk, in the order of their names. */
  content_sha256: sha256,
  imports: v.array(specText),
});

const lock = v.object({
  lock_version: v.literal(1),
  packages: v.record(specText, lockedPackage),
});

export type LockedPackage = v.InferOutput<typeof lockedPackage>;
export type PackagesLock = v.InferOutput<typeof lock>;

/** The folder cannot be used as it is. The message is for the operator. */
export class PackageFolderError extends Error {
  override readonly name = "PackageFolderError";
}

/** Null if the folder has none. @throws PackageFolderError if it cannot be read as one. */
export async function readPackagesLock(folder: string): Promise<PackagesLock | null> {
  const path = join(folder, PACKAGES_LOCK_NAME);
  const text = await readFile(path, "utf8").catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return null;
    throw new PackageFolderError(`${path} cannot be read: ${error.message}`);
  });
  if (text === null) return null;
  const parsed = v.safeParse(v.pipe(v.string(), v.parseJson(), lock), text);
  if (parsed.success) return parsed.output;
  const [issue] = parsed.issues;
  const where = v.getDotPath(issue);
  throw new PackageFolderError(`${path} is not a lock file: ${where === null ? "" : `${where}: `}${issue.message}`);
}

export function packagePathIn(folder: string, { namespace, name, version }: PackageSpec): string {
  return join(folder, namespace, name, version);
}

/** Every NAMESPACE/NAME/VERSION with a manifest, sorted. @throws PackageFolderError if the folder cannot be read. */
export async function listPackages(folder: string, maxPackages = MAX_VENDORED_PACKAGES): Promise<PackageSpec[]> {
  const found: PackageSpec[] = [];
  try {
    for (const namespace of await namesIn(folder, PACKAGE_IDENTIFIER_PATTERN)) {
      for (const name of await namesIn(join(folder, namespace), PACKAGE_IDENTIFIER_PATTERN)) {
        for (const version of await namesIn(join(folder, namespace, name), PACKAGE_VERSION_PATTERN)) {
          const spec = { namespace, name, version };
          const manifest = await stat(join(packagePathIn(folder, spec), PACKAGE_MANIFEST_NAME)).catch(() => null);
          if (manifest?.isFile()) found.push(spec);
          if (found.length > maxPackages) {
            throw new PackageFolderError(`${folder} holds more than ${maxPackages} packages.`);
          }
        }
      }
    }
  } catch (error) {
    if (error instanceof PackageFolderError || !(error instanceof Error)) throw error;
    throw new PackageFolderError(`The folder of packages ${folder} cannot be read: ${error.message}`);
  }
  return found.sort(comparePackages);
}

async function namesIn(folder: string, pattern: RegExp): Promise<string[]> {
  const entries = await readdir(folder, { withFileTypes: true });
  // A symbolic link may name a folder, and Typst follows it.
  return entries.flatMap((entry) =>
    pattern.test(entry.name) && (entry.isDirectory() || entry.isSymbolicLink()) ? [entry.name] : [],
  );
}

/** Downloads packages with everything that they import, validates them, and writes each to a folder. */
import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { type LockedPackage, packagePathIn } from "../../backend/typst/vendored-packages.ts";
import { comparePackages, formatPackageSpec, type PackageSpec } from "../../rules/package-spec.ts";
import { importedPackages } from "../../typst/package-imports.ts";
import { contentDigest, sha256 } from "../pinned/content-digest.ts";
import { VendoringError } from "../vendoring/folder-change.ts";
import { ARCHIVE_LIMITS, type ArchiveLimits, unpackArchive } from "./archive.ts";
import { readManifest } from "./manifest.ts";
import { downloadArchive } from "./registry.ts";

/** One run downloads up to 100 packages: far more than any package imports. */
export const DOWNLOAD_LIMITS = { ...ARCHIVE_LIMITS, maxPackages: 100 };
type DownloadLimits = Readonly<typeof DOWNLOAD_LIMITS>;

/** The only namespace that a registry has. Packages of others are the operator's own. */
export const REGISTRY_NAMESPACE = "preview";

export interface DownloadedPackage {
  readonly spec: PackageSpec;
  readonly locked: LockedPackage;
}

export interface DownloadOptions {
  readonly registry: URL;
  /** The packages to leave out, although one imports them. */
  readonly without: ReadonlySet<string>;
  /** The packages that are there already. */
  readonly present: ReadonlySet<string>;
  readonly limits: DownloadLimits;
}

export interface Download {
  readonly packages: readonly DownloadedPackage[];
  /** What the packages import from namespaces that no registry has. */
  readonly notInRegistry: readonly string[];
}

/**
 * Downloads packages and what they import.
 *
 * @param folder gets each as NAMESPACE/NAME/VERSION.
 * @throws VendoringError if one of them is not available or is refused.
 */
export async function downloadWithImports(
  folder: string,
  wanted: readonly PackageSpec[],
  { registry, without, present, limits }: DownloadOptions,
): Promise<Download> {
  const queue = new Map(wanted.map((spec) => [formatPackageSpec(spec), { spec, importer: null as string | null }]));
  const notInRegistry = new Set<string>();
  const packages: DownloadedPackage[] = [];
  // A map yields what is added to it while it is read. Bounded by `maxPackages`.
  for (const [text, { spec, importer }] of queue) {
    if (present.has(text)) continue;
    if (packages.length >= limits.maxPackages) {
      throw new VendoringError(`More than ${limits.maxPackages} packages would be needed.`);
    }
    const { locked, imports } = await downloadPackage(folder, registry, spec, limits).catch((error: unknown) => {
      throw importer === null ? error : withImporter(error, text, importer);
    });
    const needed = imports.filter((imported) => imported.namespace === REGISTRY_NAMESPACE);
    for (const imported of imports) if (!needed.includes(imported)) notInRegistry.add(formatPackageSpec(imported));
    const followed = needed.filter((imported) => !without.has(formatPackageSpec(imported))).sort(comparePackages);
    for (const imported of followed) {
      const importedText = formatPackageSpec(imported);
      if (!queue.has(importedText)) queue.set(importedText, { spec: imported, importer: text });
    }
    const isRequested = importer === null;
    packages.push({ spec, locked: { requested: isRequested, ...locked, imports: followed.map(formatPackageSpec) } });
  }
  return { packages, notInRegistry: [...notInRegistry].sort() };
}

function withImporter(error: unknown, text: string, importer: string): unknown {
  if (!(error instanceof VendoringError)) return error;
  return new VendoringError(
    `${error.message} ${importer} imports it, or only mentions it: if so, leave it out with --without ${text}.`,
  );
}

/**
 * Downloads one package alone, and says what is locked of it and what it imports.
 *
 * @param folder gets it as NAMESPACE/NAME/VERSION.
 * @throws VendoringError if it is not available or is refused.
 */
export async function downloadPackage(folder: string, registry: URL, spec: PackageSpec, limits: ArchiveLimits) {
  const text = formatPackageSpec(spec);
  const archive = await downloadArchive(registry, spec, limits);
  const files = await unpackArchive(text, archive, limits);
  const templatePath = readManifest(spec, files);
  for (const [path, bytes] of files) {
    const target = join(packagePathIn(folder, spec), path);
    await mkdir(dirname(target), { recursive: true });
    // Exclusive: two names that the file system takes for one must not overwrite each other.
    await writeFile(target, bytes, { flag: "wx", mode: 0o644 });
  }
  const hashes = new Map([...files].map(([path, bytes]) => [path, sha256(bytes)]));
  const imports = importedPackages(files, templatePath).filter((imported) => formatPackageSpec(imported) !== text);
  return {
    locked: { registry: registry.href, archive_sha256: sha256(archive), content_sha256: contentDigest(hashes) },
    imports,
  };
}

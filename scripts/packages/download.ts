/** Gets packages, from a registry or this machine, with everything that they import, validates them, and writes each to a folder. */
import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { type LockedPackage, packagePathIn } from "../../backend/compiler/vendored-packages.ts";
import { isTypst } from "../../clients/template/file-kinds.ts";
import "../../clients/template/node-parser.ts";
import { packagesIn } from "../../clients/template/reads.ts";
import { parseTemplate } from "../../clients/template/syntax-tree.ts";
import { comparePackages, formatPackageSpec, type PackageSpec, REGISTRY_NAMESPACE } from "../../rules/package-spec.ts";
import { contentDigest, sha256 } from "../pinned/content-digest.ts";
import { VendoringError } from "../vendoring/folder-change.ts";
import { ARCHIVE_LIMITS, type ArchiveLimits, unpackArchive } from "./archive.ts";
import { readLocalPackage } from "./local-package.ts";
import { templateOfUsable } from "./manifest.ts";
import { downloadArchive } from "./registry.ts";

/** Far more packages than any imports. */
export const DOWNLOAD_LIMITS = { ...ARCHIVE_LIMITS, maxPackages: 100 };

export interface DownloadedPackage {
  readonly spec: PackageSpec;
  readonly locked: LockedPackage;
}

export interface DownloadOptions {
  readonly registry: URL;
  /** What is imported and left out all the same. */
  readonly without: readonly PackageSpec[];
  /** Packages on this machine, by the URLs of their folders or archives. */
  readonly local?: ReadonlyMap<string, { readonly spec: PackageSpec; readonly place: URL }>;
  readonly limits?: Readonly<typeof DOWNLOAD_LIMITS>;
}

/**
 * Downloads packages and what they import, each as NAMESPACE/NAME/VERSION, unless it is present.
 *
 * @throws VendoringError if one is refused
 */
export async function downloadWithImports(
  folder: string,
  wanted: readonly PackageSpec[],
  present: object,
  { registry, without, local = new Map(), limits = DOWNLOAD_LIMITS }: DownloadOptions,
) {
  const leftOut = without.map(formatPackageSpec);
  const queue = new Map(wanted.map((spec) => [formatPackageSpec(spec), { spec, importer: null as string | null }]));
  const notInRegistry = new Set<string>();
  const packages: DownloadedPackage[] = [];
  // A map yields what is added to it while it is read. Bounded by `maxPackages`.
  for (const [text, { spec, importer }] of queue) {
    if (Object.hasOwn(present, text)) continue;
    if (packages.length >= limits.maxPackages) {
      throw new VendoringError(`More than ${limits.maxPackages} packages would be needed.`);
    }
    const { locked, imports } = await downloadPackage(folder, local.get(text)?.place ?? registry, spec, limits).catch(
      (error: unknown) => {
        if (importer === null || !(error instanceof VendoringError)) throw error;
        const advice = `${importer} imports it, or only mentions it: if so, leave it out with --without ${text}.`;
        throw new VendoringError(`${error.message} ${advice}`);
      },
    );
    const followed: string[] = [];
    for (const imported of imports.toSorted(comparePackages)) {
      const importedText = formatPackageSpec(imported);
      if (imported.namespace !== REGISTRY_NAMESPACE) notInRegistry.add(importedText);
      else if (!leftOut.includes(importedText)) {
        followed.push(importedText);
        if (!queue.has(importedText)) queue.set(importedText, { spec: imported, importer: text });
      }
    }
    packages.push({ spec, locked: { requested: importer === null, ...locked, imports: followed } });
  }
  return { packages, notInRegistry: [...notInRegistry].sort() };
}

/** Gets one package alone, from a registry or a `file:` URL of its own, into the folder, and says what is locked of it and what it imports. */
export async function downloadPackage(folder: string, registry: URL, spec: PackageSpec, limits: ArchiveLimits) {
  const text = formatPackageSpec(spec);
  const isLocal = registry.protocol === "file:";
  const archive = isLocal ? null : await downloadArchive(registry, spec, limits.maxArchiveBytes);
  const files =
    archive === null ? await readLocalPackage(registry, limits) : await unpackArchive(text, archive, limits);
  const templatePath = templateOfUsable(spec, files);
  for (const [path, bytes] of files) {
    const target = join(packagePathIn(folder, spec), path);
    await mkdir(dirname(target), { recursive: true });
    // Exclusive: two names that the file system takes for one must not overwrite each other.
    await writeFile(target, bytes, { flag: "wx", mode: 0o644 });
  }
  const hashes = new Map([...files].map(([path, bytes]) => [path, sha256(bytes)]));
  const content = contentDigest(hashes);
  const archiveDigest = archive === null ? content : sha256(archive);
  return {
    locked: { registry: registry.href, archive_sha256: archiveDigest, content_sha256: content },
    imports: findImports(files, templatePath).filter((imported) => formatPackageSpec(imported) !== text),
  };
}

/**
 * Which packages the files of a package import, or have in a string, which may be part of a computed import; not those of
 * the template that the package brings. Too many is better than too few: a missing one is noticed only in a render.
 */
function findImports(files: ReadonlyMap<string, Uint8Array>, templatePath: string | null): PackageSpec[] {
  const found = new Map<string, PackageSpec>();
  for (const [path, bytes] of files) {
    const isTemplate = templatePath !== null && path.startsWith(`${templatePath}/`);
    if (isTemplate || !isTypst(path.toLowerCase())) continue;
    const template = parseTemplate(new TextDecoder().decode(bytes));
    for (const { spec } of packagesIn(template)) found.set(formatPackageSpec(spec), spec);
  }
  return [...found.values()];
}

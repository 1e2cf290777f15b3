/** Adds packages to a folder and removes them, and updates its lock file: completely or not at all. */
import { existsSync } from "node:fs";
import {
  installedPackages,
  type LockedPackage,
  PACKAGES_LOCK_NAME,
  type PackagesLock,
  packagePathIn,
  readPackagesLock,
} from "../../backend/typst/vendored-packages.ts";
import { comparePackages, formatPackageSpec, type PackageSpec, parsePackageSpec } from "../../rules/package-spec.ts";
import { folderDigest } from "../pinned/content-digest.ts";
import { changeFolder, VendoringError } from "../vendoring/folder-change.ts";
import {
  DOWNLOAD_LIMITS,
  type DownloadedPackage,
  downloadPackage,
  downloadWithImports,
  REGISTRY_NAMESPACE,
} from "./download.ts";

const EMPTY_LOCK: PackagesLock = { lock_version: 1, packages: {} };

/** What a run has changed. */
export interface Change {
  readonly added: readonly string[];
  readonly removed: readonly string[];
  /** Packages that the added ones import from namespaces that no registry has. */
  readonly notInRegistry: readonly string[];
}

export interface AddOptions {
  readonly registry: URL;
  readonly without: readonly PackageSpec[];
  readonly limits?: typeof DOWNLOAD_LIMITS;
}

/**
 * Adds packages, and what they import, to a folder.
 *
 * @throws VendoringError if one is not available or is refused. The folder is then as it was.
 */
export async function addPackages(
  folder: string,
  specs: readonly PackageSpec[],
  { registry, without, limits = DOWNLOAD_LIMITS }: AddOptions,
): Promise<Change> {
  return changePackages(folder, async (prepared, lock) => {
    const download = await downloadWithImports(prepared, specs, {
      registry,
      without: new Set(without.map(formatPackageSpec)),
      present: new Set(Object.keys(lock.packages)),
      limits,
    });
    const packages = { ...lock.packages };
    for (const { spec, locked } of download.packages) packages[formatPackageSpec(spec)] = locked;
    for (const text of specs.map(formatPackageSpec)) {
      const known = lock.packages[text];
      if (known !== undefined) packages[text] = { ...known, requested: true };
    }
    return { packages, arriving: download.packages, leaving: [], notInRegistry: download.notInRegistry };
  });
}

/**
 * Removes packages from a folder, and those that nothing needs any more.
 *
 * @throws VendoringError if one is not there, or another package imports it. The folder is then as it was.
 */
export async function removePackages(folder: string, specs: readonly PackageSpec[]): Promise<Change> {
  return changePackages(folder, async (_prepared, lock) => {
    const texts = specs.map(formatPackageSpec);
    const needed = neededPackages(lock, texts);
    for (const text of texts) {
      if (lock.packages[text] === undefined) throw new VendoringError(`${text} is not in ${PACKAGES_LOCK_NAME}.`);
      // An importer that is removed as well does not count: packages can import each other.
      const importer = [...needed].find((other) => lock.packages[other]?.imports.includes(text));
      if (importer !== undefined) throw new VendoringError(`${importer} imports ${text}: remove that first.`);
    }
    const kept = Object.entries(lock.packages).filter(([text]) => needed.has(text));
    const leaving = Object.keys(lock.packages).filter((text) => !needed.has(text));
    return { packages: Object.fromEntries(kept), arriving: [], leaving, notInRegistry: [] };
  });
}

/**
 * Downloads again what the lock file lists and the folder does not have as it should be.
 *
 * @param registry instead of those in the lock file, if not null.
 * @throws VendoringError if a package is not the one that was locked. The folder is then as it was.
 */
export async function installPackages(folder: string, registry: URL | null): Promise<Change> {
  return changePackages(folder, async (prepared, lock) => {
    const arriving: DownloadedPackage[] = [];
    for (const [text, locked] of Object.entries(lock.packages)) {
      const spec = specOf(text);
      if ((await folderDigest(packagePathIn(folder, spec))) === locked.content_sha256) continue;
      // What it imports is in the lock file, or was left out on purpose.
      const from = registry ?? new URL(locked.registry);
      const downloaded = await downloadPackage(prepared, from, spec, DOWNLOAD_LIMITS);
      if (downloaded.locked.archive_sha256 !== locked.archive_sha256) {
        throw new VendoringError(`${text} is refused: its archive is not the one in ${PACKAGES_LOCK_NAME}.`);
      }
      arriving.push({ spec, locked });
    }
    const leaving = arriving.map(({ spec }) => formatPackageSpec(spec));
    return { packages: lock.packages, arriving, leaving, notInRegistry: [] };
  });
}

/**
 * How a folder differs from its lock file, in sentences. Packages in namespaces that no registry has are the operator's
 * own and need not be listed.
 */
export async function findProblems(folder: string): Promise<string[]> {
  const lock = await readPackagesLock(folder);
  if (lock === null) return [`${folder} has no ${PACKAGES_LOCK_NAME}.`];
  const problems: string[] = [];
  for (const [text, locked] of Object.entries(lock.packages)) {
    const digest = await folderDigest(packagePathIn(folder, specOf(text)));
    if (digest === null) problems.push(`${text} is missing, or holds links.`);
    else if (digest !== locked.content_sha256) problems.push(`${text} is not as it was downloaded.`);
    for (const imported of locked.imports) {
      if (lock.packages[imported] === undefined) problems.push(`${text} imports ${imported}, which is not listed.`);
    }
  }
  for (const spec of await installedPackages(folder)) {
    const text = formatPackageSpec(spec);
    if (spec.namespace === REGISTRY_NAMESPACE && lock.packages[text] === undefined) {
      problems.push(`${text} is there, but not listed in ${PACKAGES_LOCK_NAME}.`);
    }
  }
  return problems;
}

/** The packages that remain when some are no longer requested: the requested ones and all that they import. */
function neededPackages(lock: PackagesLock, removed: readonly string[]): Set<string> {
  const isRequested = ([text, { requested }]: [string, LockedPackage]) => requested && !removed.includes(text);
  const needed = new Set(
    Object.entries(lock.packages)
      .filter(isRequested)
      .map(([text]) => text),
  );
  // A set yields what is added to it while it is read.
  for (const text of needed) for (const imported of lock.packages[text]?.imports ?? []) needed.add(imported);
  return needed;
}

/** What is to change: the packages of the new lock file, those to move into place, and those to take out. */
interface Plan {
  readonly packages: Readonly<Record<string, LockedPackage>>;
  /** Prepared in the folder that the plan gets. */
  readonly arriving: readonly DownloadedPackage[];
  /** Taken out before others arrive. */
  readonly leaving: readonly string[];
  readonly notInRegistry: readonly string[];
}

/** Plans a change of packages and carries it out. */
function changePackages(
  folder: string,
  plan: (prepared: string, lock: PackagesLock) => Promise<Plan>,
): Promise<Change> {
  return changeFolder(folder, async (prepared) => {
    const lock = (await readPackagesLock(folder)) ?? EMPTY_LOCK;
    const { packages, arriving, leaving, notInRegistry } = await plan(prepared, lock);
    const moves: { from: string; path: string }[] = [];
    for (const { spec, locked } of arriving) {
      const text = formatPackageSpec(spec);
      const place = packagePathIn(folder, spec);
      if (!leaving.includes(text) && existsSync(place)) {
        // Left by a run that was killed before it could write the lock file: the same files may stay.
        if ((await folderDigest(place)) === locked.content_sha256) continue;
        throw new VendoringError(
          `${place} exists, is not listed in ${PACKAGES_LOCK_NAME}, and differs from the downloaded package: remove it first.`,
        );
      }
      moves.push({ from: packagePathIn(prepared, spec), path: packagePathIn("", spec) });
    }
    const added = arriving.map(({ spec }) => formatPackageSpec(spec));
    const removed = leaving.filter((text) => !added.includes(text));
    return {
      change: {
        leaving: leaving.map((text) => packagePathIn("", specOf(text))),
        arriving: moves,
        lockFile: { name: PACKAGES_LOCK_NAME, content: sortedLock(packages) },
      },
      result: { added, removed, notInRegistry },
    };
  });
}

function sortedLock(packages: Plan["packages"]): PackagesLock {
  const sorted = Object.entries(packages).sort(([left], [right]) => comparePackages(specOf(left), specOf(right)));
  return { lock_version: 1, packages: Object.fromEntries(sorted) };
}

function specOf(text: string): PackageSpec {
  const spec = parsePackageSpec(text);
  if (spec === null) throw new VendoringError(`${text} is not of the form @preview/name:1.2.3.`);
  return spec;
}

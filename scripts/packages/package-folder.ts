/** Adds packages to a folder and removes them, and updates its lock file. */
import { existsSync } from "node:fs";
import {
  listPackages,
  PACKAGES_LOCK_NAME,
  type PackagesLock,
  packagePathIn,
  readPackagesLock,
} from "../../backend/compiler/vendored-packages.ts";
import {
  comparePackages,
  formatPackageSpec,
  type PackageSpec,
  parsePackageSpec,
  REGISTRY_NAMESPACE,
} from "../../rules/package-spec.ts";
import { folderDigest } from "../pinned/content-digest.ts";
import { changeFolder, VendoringError } from "../vendoring/folder-change.ts";
import {
  DOWNLOAD_LIMITS,
  type DownloadedPackage,
  type DownloadOptions,
  downloadPackage,
  downloadWithImports,
} from "./download.ts";
import { readLocalPackage, specOfLocalPackage } from "./local-package.ts";

type LockedPackages = PackagesLock["packages"];

/** What is to change: the packages of the new lock file, those to move into place, and those to take out before. */
interface Plan {
  readonly packages: LockedPackages;
  readonly arriving: readonly DownloadedPackage[];
  readonly leaving: readonly string[];
  /** Packages that those which arrive import from namespaces that no registry has. */
  readonly notInRegistry: readonly string[];
}

export type Change = Awaited<ReturnType<typeof changePackages>>;

export interface AddOptions extends Omit<DownloadOptions, "local"> {
  /** Folders or archives of packages on this machine. They replace what was added before. */
  readonly places?: readonly URL[];
}

/** Adds packages and what they import. @throws VendoringError if one is refused: the folder is then as it was */
export function addPackages(
  folder: string,
  specs: readonly PackageSpec[],
  { places = [], ...options }: AddOptions,
): Promise<Change> {
  return changePackages(folder, async (prepared, before) => {
    const local = new Map<string, { readonly spec: PackageSpec; readonly place: URL }>();
    for (const place of places) {
      const spec = specOfLocalPackage(place, await readLocalPackage(place, DOWNLOAD_LIMITS));
      local.set(formatPackageSpec(spec), { spec, place });
    }
    const present = Object.fromEntries(Object.entries(before).filter(([text]) => !local.has(text)));
    const wanted = [...specs, ...Array.from(local.values(), ({ spec }) => spec)];
    const got = await downloadWithImports(prepared, wanted, present, { ...options, local });
    const packages = { ...present };
    for (const { spec, locked } of got.packages) packages[formatPackageSpec(spec)] = locked;
    for (const text of specs.map(formatPackageSpec)) {
      const known = present[text];
      if (known !== undefined) packages[text] = { ...known, requested: true };
    }
    const leaving = Object.keys(before).filter((text) => local.has(text));
    return { packages, arriving: got.packages, leaving, notInRegistry: got.notInRegistry };
  });
}

/** Removes packages and those that only they needed. @throws VendoringError if one is missing or imported by another */
export function removePackages(folder: string, specs: readonly PackageSpec[]): Promise<Change> {
  return changePackages(folder, async (_prepared, present) => {
    const texts = specs.map(formatPackageSpec);
    const isRequested = (text: string) => present[text]?.requested === true && !texts.includes(text);
    const needed = new Set(Object.keys(present).filter(isRequested));
    // A set yields what is added to it while it is read.
    for (const text of needed) for (const imported of present[text]?.imports ?? []) needed.add(imported);
    for (const text of texts) {
      if (present[text] === undefined) throw new VendoringError(`${text} is not in ${PACKAGES_LOCK_NAME}.`);
      // An importer that is removed as well does not count: packages can import each other.
      const importer = [...needed].find((other) => present[other]?.imports.includes(text));
      if (importer !== undefined) throw new VendoringError(`${importer} imports ${text}: remove that first.`);
    }
    const kept = Object.entries(present).filter(([text]) => needed.has(text));
    const leaving = Object.keys(present).filter((text) => !needed.has(text));
    return { packages: Object.fromEntries(kept), arriving: [], leaving, notInRegistry: [] };
  });
}

/**
 * Downloads packages that are missing or not as locked.
 *
 * @param registry instead of those in the lock file @throws VendoringError if what it has differs from the lock file
 */
export function installPackages(folder: string, registry: URL | null): Promise<Change> {
  return changePackages(folder, async (prepared, packages) => {
    const arriving: DownloadedPackage[] = [];
    for (const [text, locked] of Object.entries(packages)) {
      const spec = specOf(text);
      if ((await folderDigest(packagePathIn(folder, spec))) === locked.content_sha256) continue;
      // What it imports is in the lock file, or was left out on purpose.
      const known = new URL(locked.registry);
      const from = known.protocol === "file:" ? known : (registry ?? known);
      const downloaded = await downloadPackage(prepared, from, spec, DOWNLOAD_LIMITS);
      if (downloaded.locked.archive_sha256 !== locked.archive_sha256) {
        throw new VendoringError(`${text} is refused: its archive is not the one in ${PACKAGES_LOCK_NAME}.`);
      }
      arriving.push({ spec, locked });
    }
    return { packages, arriving, leaving: arriving.map(({ spec }) => formatPackageSpec(spec)), notInRegistry: [] };
  });
}

/** How a folder differs from its lock file, in sentences. The operator's own namespaces need not be listed. */
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
  for (const spec of await listPackages(folder)) {
    const text = formatPackageSpec(spec);
    if (spec.namespace === REGISTRY_NAMESPACE && lock.packages[text] === undefined) {
      problems.push(`${text} is there, but not listed in ${PACKAGES_LOCK_NAME}.`);
    }
  }
  return problems;
}

function changePackages(folder: string, plan: (prepared: string, present: LockedPackages) => Promise<Plan>) {
  return changeFolder(folder, async (prepared) => {
    const { packages, arriving, leaving, notInRegistry } = await plan(
      prepared,
      (await readPackagesLock(folder))?.packages ?? {},
    );
    const added = arriving.map(({ spec }) => formatPackageSpec(spec));
    const inTheWay = arriving
      .filter((_package, index) => !leaving.includes(added[index] ?? ""))
      .map(({ spec }) => packagePathIn(folder, spec))
      .find((place) => existsSync(place));
    if (inTheWay !== undefined) {
      throw new VendoringError(`${inTheWay} exists and is not listed in ${PACKAGES_LOCK_NAME}: remove it first.`);
    }
    const sorted = Object.entries(packages).sort(([left], [right]) => comparePackages(specOf(left), specOf(right)));
    const content: PackagesLock = { lock_version: 1, packages: Object.fromEntries(sorted) };
    return {
      added,
      removed: leaving.filter((text) => !added.includes(text)),
      notInRegistry,
      leaving: leaving.map((text) => packagePathIn("", specOf(text))),
      arriving: arriving.map(({ spec }) => ({ from: packagePathIn(prepared, spec), path: packagePathIn("", spec) })),
      lockFile: { name: PACKAGES_LOCK_NAME, content },
    };
  });
}

function specOf(text: string): PackageSpec {
  const spec = parsePackageSpec(text);
  if (spec === null) throw new VendoringError(`${text} is not of the form @preview/name:1.2.3.`);
  return spec;
}

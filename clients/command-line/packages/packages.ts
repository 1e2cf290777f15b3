/**
 * The packages that a project imports, and those that these import: found where Typst has them on this machine, and sent
 * below `packages/`, where the service looks for them first.
 */
import { describeInvalidKey, isValidKey } from "../../../rules/files-rules.ts";
import {
  formatPackageSpec,
  type PackageSpec,
  parsePackageSpec,
  requestPackageFolder,
} from "../../../rules/package-spec.ts";
import { isDataFile, isTypst } from "../../template/file-kinds.ts";
import { PACKAGE_MANIFEST, type PackageManifest } from "../../template/package-parts.ts";
import { packagesIn } from "../../template/reads.ts";
import { parseTemplate } from "../../template/syntax-tree.ts";
import type { CollectedFiles } from "../files/collected-files.ts";
import type { NamedFiles } from "../files/computed-paths.ts";
import type { SendingRules } from "../files/unexpected-files.ts";
import { readPackageFiles, readPackageManifest } from "./package-files.ts";
import { findPackage, howToProvide, type PackageBaseName } from "./package-folders.ts";

export interface ProjectPackage {
  readonly spec: PackageSpec;
  /** As an import writes it. */
  readonly name: string;
  readonly folder: string;
  readonly base: PackageBaseName;
  readonly keys: readonly string[];
  readonly bytes: number;
}

export interface MissingPackage {
  readonly spec: PackageSpec;
  readonly name: string;
  /** Which file imports it, with the line. */
  readonly importedBy: string;
  /** What to do, in sentences. */
  readonly advice: string;
}

export interface ProjectPackages {
  /** Those that can be sent. */
  readonly found: readonly ProjectPackage[];
  readonly missing: readonly MissingPackage[];
}

interface CollectedPackages extends ProjectPackages {
  /** What the caller should know about them, one sentence each. */
  readonly notes: readonly string[];
}

interface ImportingProject {
  readonly root: string;
  readonly sourceKey: string;
  readonly source: Buffer;
  /** The name of a file for messages. */
  readonly show: (key: string) => string;
  readonly rules: SendingRules;
  /** What may be names of files in the sources and the data. */
  readonly findNames: () => NamedFiles;
}

interface ImportingFile {
  readonly shownAs: string;
  readonly text: string;
  readonly isData?: boolean;
}

/** A project that imports more is made by a program, or to keep this one busy. */
const MAX_PACKAGES = 200;
const MAX_LEFT_OUT = 5;

interface Wanted {
  readonly spec: PackageSpec;
  readonly importedBy: string;
  readonly isImport: boolean;
}

/** Adds their files to those of the project. @throws CommandError when no service accepts so many files, or so much */
export function addPackages(
  files: CollectedFiles,
  { root, sourceKey, source, show, rules, findNames }: ImportingProject,
): CollectedPackages {
  const wanted = new Map<string, Wanted>();
  const want = (file: ImportingFile) => {
    for (const one of importsIn(file)) {
      const name = formatPackageSpec(one.spec);
      if (wanted.has(name) ? one.isImport && !wanted.get(name)?.isImport : wanted.size < MAX_PACKAGES) {
        wanted.set(name, one);
      }
    }
  };
  want({ shownAs: show(sourceKey), text: source.toString("utf8") });
  for (const [key, bytes] of files) {
    const isData = isDataFile(key) && bytes.includes("@");
    if (isTypst(key) || isData) want({ shownAs: show(key), text: bytes.toString("utf8"), isData });
  }
  const found: ProjectPackage[] = [];
  const advices = new Map<string, string>();
  const notes: string[] = [];
  // A map yields what is added to it while it is read.
  for (const [name, { spec, importedBy }] of wanted) {
    const place = locate(spec, root);
    if ("advice" in place) {
      advices.set(name, place.advice);
      continue;
    }
    const { folder, manifest, base, isItself } = place;
    if (isItself)
      notes.push(`${name}, which ${importedBy} imports, is the project itself, by its ${PACKAGE_MANIFEST}.`);
    const ofPackage = { root: folder, folder, ignored: null, isFound: false };
    const read = readPackageFiles(folder, manifest, isItself ? rules : ofPackage, findNames);
    const leftOut = [...read.leftOut];
    const keys: string[] = [];
    for (const [path, bytes] of read.files) {
      const key = `${requestPackageFolder(spec)}/${path}`;
      if (isValidKey(key)) {
        if (!files.has(key)) files.set(key, bytes);
        keys.push(key);
      } else leftOut.push(`${path} is not sent: ${describeInvalidKey(key)}.`);
      if (isTypst(path)) want({ shownAs: `${name}/${path}`, text: bytes.toString("utf8") });
    }
    notes.push(...leftOut.slice(0, MAX_LEFT_OUT).map((sentence) => `${name}: ${sentence}`));
    const bytes = keys.reduce((sum, key) => sum + (files.get(key)?.length ?? 0), 0);
    found.push({ spec, name, folder, base, keys, bytes });
  }
  const missing = [...wanted].flatMap(([name, { spec, importedBy, isImport }]) => {
    const advice = advices.get(name);
    return isImport && advice !== undefined ? [{ spec, name, importedBy, advice }] : [];
  });
  return { found, missing, notes };
}

/** Where a package is, or what to do so that it is found. A project may import itself as the package that it becomes. */
function locate(spec: PackageSpec, root: string) {
  const place = findPackage(spec, root);
  if (place.kind === "link") {
    return { advice: `${place.path} is a link, which is not followed: copy the folder there instead.` };
  }
  const isItself = place.kind === "absent";
  const folder = isItself ? root : place.path;
  const manifest = readPackageManifest(folder);
  if (isItself && !isOf(spec, manifest)) return { advice: howToProvide(spec) };
  if (manifest === null)
    return { advice: `Its ${PACKAGE_MANIFEST} in ${folder} is missing, or is not that of a package.` };
  const base: PackageBaseName = isItself ? "project" : place.base;
  return { folder, manifest, isItself, base };
}

/** Whether a folder is what a package will be published from: its manifest has exactly that name and version. */
export function isPackage(folder: string, spec: PackageSpec): boolean {
  return isOf(spec, readPackageManifest(folder));
}

function isOf({ name, version }: PackageSpec, manifest: PackageManifest | null): boolean {
  return manifest?.package.name === name && manifest.package.version === version;
}

/** What a package is called in a file of data, which a template may import by its name there. */
const SPEC_IN_DATA = /@[\w-]+\/[\w-]+:\d+\.\d+\.\d+/g;

function importsIn({ shownAs, text, isData }: ImportingFile): Wanted[] {
  if (isData) {
    const specs = (text.match(SPEC_IN_DATA) ?? [])
      .slice(0, MAX_PACKAGES)
      .flatMap((name) => parsePackageSpec(name) ?? []);
    return specs.map((spec) => ({ spec, importedBy: shownAs, isImport: false }));
  }
  if (!text.includes('"@')) return [];
  return packagesIn(parseTemplate(text)).map(({ spec, line, isImport }) => ({
    spec,
    importedBy: isImport ? `${shownAs}:${line}` : shownAs,
    isImport,
  }));
}

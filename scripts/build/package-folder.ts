/**
 * Makes the folder of a package in `dist/`, of plain JavaScript without dependencies, and the files that every package
 * has.
 */
import { cp, readFile, rm, writeFile } from "node:fs/promises";
import { resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { licencesOfPackages } from "./licences-of-packages.ts";

export const PROJECT = new URL("../../", import.meta.url);

/** What the `package.json` of a workspace says that is published. */
export interface PublishedManifest {
  readonly name: string;
  readonly version: string;
  readonly description: string;
  readonly license: string;
  readonly type: string;
  readonly sideEffects?: boolean;
  readonly bin?: Readonly<Record<string, string>>;
  readonly engines: { readonly node: string };
}

/**
 * The manifest of a workspace as it is published. What it imports is bundled, so its dependencies are for development.
 *
 * @param folder the workspace, such as `clients/typescript`
 */
export async function readManifest(folder: string): Promise<PublishedManifest> {
  const manifest = JSON.parse(await readFile(new URL(`${folder}/package.json`, PROJECT), "utf8"));
  const { private: _private, devDependencies: _bundled, exports: _sources, ...published } = manifest;
  return published;
}

/** The oldest Node of a manifest as esbuild names it, such as `node22.12.0`. */
export function nodeTarget({ engines }: PublishedManifest): string {
  return `node${engines.node.replace(">=", "")}`;
}

/**
 * An empty place for a package: `dist/<name>`, or the folder that an argument of the program names, for releases and
 * tests.
 */
export async function emptyPackageFolder(name: string): Promise<URL> {
  const folder = pathToFileURL(`${resolve(process.argv[2] ?? fileURLToPath(new URL(`dist/${name}`, PROJECT)))}/`);
  await rm(folder, { recursive: true, force: true });
  return folder;
}

export interface PackageFiles {
  /** The files of its bundles, as esbuild's metafile names them: their licences go with the package. */
  readonly inputs: readonly string[];
  /** The name of the file with these licences. */
  readonly licencesFile: string;
  /** The page of `docs/` that is its README. */
  readonly page: string;
  /** The members of its `package.json`. */
  readonly manifest: Readonly<Record<string, unknown>>;
}

/** Writes the files of a package beside its code: licences, README and `package.json`. */
export async function writePackageFiles(
  folder: URL,
  { inputs, licencesFile, page, manifest }: PackageFiles,
): Promise<void> {
  await writeFile(new URL(licencesFile, folder), await licencesOfPackages(inputs));
  await cp(new URL("LICENSE", PROJECT), new URL("LICENSE", folder));
  await cp(new URL(`docs/${page}`, PROJECT), new URL("README.md", folder));
  await writeFile(new URL("package.json", folder), `${JSON.stringify(manifest, null, 2)}\n`);
}

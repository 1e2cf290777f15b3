/** The licences of packages that are bundled or shipped: they must be passed on. */
import { readdir, readFile } from "node:fs/promises";
import type { Metafile } from "esbuild";

const PROJECT = new URL("../../", import.meta.url);
/** Between two sections. */
export const LINE = `\n${"-".repeat(80)}\n\n`;
/** Those of which a package may have only the name, and a file with the text of each. */
const COMMON_LICENCES: Readonly<Record<string, string>> = {
  "Apache-2.0": "node_modules/pdfjs-dist/LICENSE",
  ISC: "node_modules/fastq/LICENSE",
  MIT: "LICENSE",
};

interface Manifest {
  readonly name?: string;
  readonly version?: string;
  readonly license?: string;
  readonly author?: string | { readonly name?: string };
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
}

export async function readManifest(folder: string): Promise<Manifest> {
  return JSON.parse(await readFile(new URL(`${folder}/package.json`, PROJECT), "utf8"));
}

/** The folders of the packages that a bundle has files of. */
export function bundledPackages(metafile: Metafile | undefined): string[] {
  return packagesOf(Object.keys(metafile?.inputs ?? {}));
}

/** The folders of the packages that files are in. */
export function packagesOf(paths: readonly string[]): string[] {
  const folders = paths.flatMap((path) => /^(?:.*\/)?node_modules\/(?:@[^/]+\/)?[^/]+/.exec(path)?.[0] ?? []);
  return [...new Set(folders)];
}

/** @throws if one of them has no licence, or only the name of one whose text is not known here */
export async function licencesOfPackages(folders: readonly string[]): Promise<string> {
  const named = new Set<string>();
  const sections = [...new Set(folders)].sort().map(async (path) => {
    const folder = new URL(`${path}/`, PROJECT);
    const { name, version, license = "", author } = await readManifest(path);
    // A package that has others in it has a file for each.
    const files = (await readdir(folder)).filter((entry) => /^(licen[cs]e|notice)/i.test(entry)).sort();
    const texts = await Promise.all(files.map((file) => readFile(new URL(file, folder), "utf8")));
    if (files.length > 0) return section(`${name} ${version}`, ...texts);
    if (!Object.hasOwn(COMMON_LICENCES, license)) throw new Error(`${name} has no licence to pass on`);
    named.add(license);
    const owner = typeof author === "string" ? author : author?.name;
    return section(`${name} ${version}`, owner === undefined ? license : `${license}. ${owner}`);
  });
  const ofPackages = await Promise.all(sections);
  const texts = [...named].sort().map(async (name) => {
    const text = await readFile(new URL(COMMON_LICENCES[name] ?? "", PROJECT), "utf8");
    return section(name, text.replace(/^(?:.*\n\n)?Copyright.*\n/, ""));
  });
  return [...ofPackages, ...(await Promise.all(texts))].join(LINE);
}

export function section(...texts: readonly string[]): string {
  return texts.map((text) => `${text.trim()}\n`).join("\n");
}

/**
 * The licences of all that a deployment serves or ships and that others made, in one text: they must be passed on. It is
 * served at `/licenses` and is in `dist/edge`, and so in each image and release.
 */
import { existsSync } from "node:fs";
import { readdir, readFile } from "node:fs/promises";
import type { Metafile } from "esbuild";
import { TYPST_VERSION } from "../../typst/typst-release.mjs";
import { licenceOfFont } from "./embedded-fonts.ts";
import { provideStaticFile } from "./static-file.ts";

const PROJECT = new URL("../../", import.meta.url);
const LINE = `\n${"-".repeat(80)}\n\n`;
/** The packages that are shipped as they are, and bundled by nobody: the viewer of the reference page, and programs. */
const SHIPPED = ["swagger-ui-dist", "workerd"];
/** Those of which a package may have only the name, and a file with the text of each. */
const COMMON_LICENCES: Readonly<Record<string, string>> = {
  "Apache-2.0": "node_modules/pdfjs-dist/LICENSE",
  ISC: "node_modules/fastq/LICENSE",
  MIT: "LICENSE",
};
const FONTS_OF_EXAMPLES = "examples/brand-letter/fonts";

interface Manifest {
  readonly name?: string;
  readonly version?: string;
  readonly license?: string;
  readonly author?: string | { readonly name?: string };
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
}

async function readManifest(folder: string): Promise<Manifest> {
  return JSON.parse(await readFile(new URL(`${folder}/package.json`, PROJECT), "utf8"));
}

/** The folders of the packages that a bundle has files of. */
export function bundledPackages(metafile: Metafile | undefined): string[] {
  const folders = Object.keys(metafile?.inputs ?? {}).flatMap(
    (path) => /^(?:.*\/)?node_modules\/(?:@[^/]+\/)?[^/]+/.exec(path)?.[0] ?? [],
  );
  return [...new Set(folders)];
}

/** The folders of what edge and backend need, as Node finds them, and of the program that runs the backend. */
export async function productionPackages(): Promise<string[]> {
  const found = new Set<string>();
  const add = async (names: readonly string[], within: string): Promise<void> => {
    for (const name of names) {
      const places = within
        .split("/node_modules/")
        .map((_, index, parts) => parts.slice(0, index + 1).join("/node_modules/"));
      const folder = places
        .toReversed()
        .map((place) => `${place}/node_modules/${name}`.replace("./", ""))
        .find((path) => existsSync(new URL(path, PROJECT)));
      if (folder === undefined) throw new Error(`${name} is not installed: npm ci`);
      if (found.has(folder)) continue;
      found.add(folder);
      await add(Object.keys((await readManifest(folder)).dependencies ?? {}), `./${folder}`);
    }
  };
  const { dependencies = {}, optionalDependencies = {} } = await readManifest(".");
  await add(Object.keys(dependencies), ".");
  const nodes = Object.keys(optionalDependencies).map((name) => `node_modules/${name}`);
  return [...found, ...nodes.filter((folder) => existsSync(new URL(folder, PROJECT)))];
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

/** @param fonts by their files, those of Typst that the playground's compiler has */
export async function provideLicences(
  playground: readonly string[],
  fonts: ReadonlyMap<string, Buffer>,
): Promise<void> {
  const shipped = SHIPPED.map((name) => `node_modules/${name}`);
  const packages = await licencesOfPackages([...playground, ...shipped, ...(await productionPackages())]);
  const ofl = await readFile(new URL(`${FONTS_OF_EXAMPLES}/OFL.txt`, PROJECT), "utf8");
  const text = [
    section(
      "What others made of what this service serves and ships, with its licences. Where there is only the name of a licence, its text follows the packages.",
    ),
    packages,
    section(
      `Typst ${TYPST_VERSION}`,
      "Apache-2.0. Copyright The Typst Project Developers. https://github.com/typst/typst has the notices of what is compiled into it.",
    ),
    ...[...fonts].map(([file, font]) => section(file, licenceOfFont(font))),
    section(`The fonts of ${FONTS_OF_EXAMPLES}`, ofl),
  ];
  await provideStaticFile("licenses.txt", Buffer.from(text.join(LINE)));
}

function section(...texts: readonly string[]): string {
  return texts.map((text) => `${text.trim()}\n`).join("\n");
}

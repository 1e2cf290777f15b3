/**
 * `manifest`: prints JSON that lists what a document is made of, each part with its SHA-256, to be archived with the document.
 * Nothing is compiled or sent, and the same files always give the same text.
 */
import { readdir, readFile } from "node:fs/promises";
import { basename, join, relative } from "node:path";
import type { Command } from "@commander-js/extra-typings";
import { folderDigest, sha256 } from "../../compile/content-digest.ts";
import { importedPackages } from "../../compile/package-imports.ts";
import { TYPST_VERSION } from "../../machine/typst-release.mjs";
import { isFont } from "../../rules/font-names.ts";
import { formatPackageSpec, type PackageSpec } from "../../rules/package-spec.ts";
import { CommandError } from "../exit-codes.ts";
import { operatorFolders } from "../local/operator-folders.ts";
import { DATA_OPTION, FILES_OPTION, FONT_PATH_OPTION, PACKAGE_PATH_OPTION } from "../options.ts";
import { readNamed } from "../project/folder.ts";
import { collectProject } from "../project/project.ts";
import { readData } from "../project/request.ts";
import { printable, say } from "../terminal.ts";

/** Rises when the meaning of a member changes. */
const MANIFEST_VERSION = 1;

export function addManifestCommand(program: Command): void {
  program
    .command("manifest")
    .summary("describe in JSON what a document is made of")
    .description(
      "Prints JSON that says what a document is made of, for archives: the version of Typst, and source, files, data, fonts, packages and the document itself by their SHA-256. Nothing is compiled or sent.",
    )
    .argument("<source>", "a Typst source, or a folder")
    .option("--document <file>", "the document that was rendered from it")
    .addOption(DATA_OPTION)
    .addOption(FILES_OPTION)
    .addOption(FONT_PATH_OPTION)
    .addOption(PACKAGE_PATH_OPTION)
    .action(async (path, flags) => {
      const { document, files: patterns = [] } = flags;
      const { fontPaths, packagePath } = operatorFolders(flags);
      const project = await collectProject(path, {
        patterns,
        leaveOut: document === undefined ? [] : [document],
        namesData: flags.data !== undefined,
      });
      for (const note of project.notes) say(`note: ${note}`);
      const { source, files } = project;
      const data = await readData(project, flags.data ?? null);
      const name = basename(project.sourceName);
      const manifest = {
        manifest_version: MANIFEST_VERSION,
        typst_version: TYPST_VERSION,
        source: partOf(name, source),
        files: files.map(({ key, bytes }) => partOf(key, bytes)),
        data: data === null ? null : partOf(basename(data.name), Buffer.from(data.text)),
        fonts: (await Promise.all(fontPaths.map(fontsIn))).flat(),
        packages: await packagesOf(new Map([[name, source], ...files.map(fileEntry)]), packagePath),
        document:
          document === undefined ? null : partOf(basename(document), await readNamed(document, document, project.root)),
      };
      process.stdout.write(`${printable(JSON.stringify(manifest, null, 2))}\n`);
    });
}

function partOf(path: string, bytes: Buffer) {
  return { path, bytes: bytes.length, sha256: sha256(bytes) };
}

function fileEntry({ key, bytes }: { readonly key: string; readonly bytes: Buffer }): [string, Buffer] {
  return [key, bytes];
}

/** The fonts in a folder and its subfolders, as Typst finds them. */
async function fontsIn(folder: string) {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => {
    throw new CommandError(`${folder} is not a readable folder of fonts.`);
  });
  const paths = entries
    .filter((entry) => entry.isFile() && isFont(entry.name))
    .map((entry) => join(entry.parentPath, entry.name));
  return Promise.all(paths.sort().map(async (path) => partOf(relative(folder, path), await readFile(path))));
}

/** The packages that the files import, and those that these import in turn. One that is not in the folder has no digest. */
async function packagesOf(files: ReadonlyMap<string, Buffer>, folder: string | null) {
  const found = new Map<string, string | null>();
  const queue: PackageSpec[] = importedPackages(files, null);
  for (let spec = queue.shift(); spec !== undefined; spec = queue.shift()) {
    const name = formatPackageSpec(spec);
    if (found.has(name)) continue;
    const place = folder === null ? null : join(folder, spec.namespace, spec.name, spec.version);
    const digest = place === null ? null : await folderDigest(place);
    found.set(name, digest);
    if (place !== null && digest !== null) queue.push(...importedPackages(await sourcesIn(place), null));
  }
  return [...found]
    .sort(([left], [right]) => (left < right ? -1 : 1))
    .map(([name, digest]) => ({ name, sha256: digest }));
}

async function sourcesIn(folder: string): Promise<Map<string, Buffer>> {
  const names = (await readdir(folder, { recursive: true })).filter((name) => name.endsWith(".typ"));
  return new Map(await Promise.all(names.map(async (name) => [name, await readFile(join(folder, name))] as const)));
}

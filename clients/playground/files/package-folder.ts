/** The folder or ZIP of a Typst package as files of a request: below `packages/`, where imports find it by its name. */
import {
  findQuotedSpecs,
  formatPackageSpec,
  parsePackageSpec,
  REGISTRY_NAMESPACE,
  requestPackageFolder,
} from "../../../rules/package-spec.ts";
import { SOURCE_PATH } from "../../document/saved-draft.ts";
import { isReadableByTypst } from "../../template/file-kinds.ts";
import { isNotForDocuments, PACKAGE_MANIFEST, readManifest } from "../../template/package-parts.ts";
import type { FolderFile } from "../drafts/project-folder.ts";

/** A folder with a `main.typ` is a project, also if it becomes a package. */
export function isPackageFolder(files: readonly { readonly path: string }[]): boolean {
  return files.some(({ path }) => path === PACKAGE_MANIFEST) && !files.some(({ path }) => path === SOURCE_PATH);
}

export function isFileOfPackage(path: string): boolean {
  return !path.endsWith("/") && !isNotForDocuments(path) && isReadableByTypst(path);
}

/**
 * Null if a folder is no package. Its namespace is that of an import of it, or else that of Typst Universe.
 *
 * @param texts of the draft that may import it
 */
export function packageOfFolder(folder: readonly FolderFile[], texts: readonly string[]) {
  if (!isPackageFolder(folder)) return null;
  const manifest = folder.find(({ path }) => path === PACKAGE_MANIFEST);
  const read = manifest === undefined ? null : readManifest(manifest.bytes);
  if (!read?.ok) return null;
  const { name: ownName, version: ownVersion } = read.manifest.package;
  const inUniverse = parsePackageSpec(`@${REGISTRY_NAMESPACE}/${ownName}:${ownVersion}`);
  if (inUniverse === null) return null;
  const imported = texts
    .flatMap(findQuotedSpecs)
    .find(({ name, version }) => name === inUniverse.name && version === inUniverse.version);
  const spec = imported ?? inUniverse;
  const files = folder
    .filter(({ path }) => isFileOfPackage(path))
    .map(({ path, bytes }): FolderFile => ({ path: `${requestPackageFolder(spec)}/${path}`, bytes }));
  return { name: formatPackageSpec(spec), files };
}

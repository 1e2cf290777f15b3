/** What a folder without a `main.typ` has instead: the document that its author compiles, rather than its library. */
import { join, posix } from "node:path";
import { didYouMean } from "../../data-schema/similar-name.ts";
import { SOURCE_PATH } from "../../document/saved-draft.ts";
import { isDocument } from "../../template/document.ts";
import { isTypst } from "../../template/file-kinds.ts";
import { PACKAGE_MANIFEST, readManifest } from "../../template/package-parts.ts";
import { parseTemplate } from "../../template/syntax-tree.ts";
import { CommandError } from "../exit-codes.ts";
import { isFile } from "../files/disk.ts";
import { readIfFile, readNamed } from "../files/folder.ts";
import { commandToCopy, printableLine } from "../terminal.ts";
import { nearbyFiles } from "./reads.ts";

/** More are not read: the shallow ones come first. */
const MAX_READ = 20;

/** @param command that was given the folder */
export function makeNoMainFileError(folder: string, command: string): CommandError {
  const documents = findDocuments(folder);
  const [first] = documents;
  const meant = first === undefined ? null : join(folder, first);
  const only = meant === null || documents.length > 1 ? "" : ` ${commandToCopy([command, meant])}`;
  return new CommandError(printableLine(`${join(folder, SOURCE_PATH)} does not exist.${didYouMean(meant)}${only}`));
}

/** The keys of documents below a folder, the likeliest first. One that the manifest names is the only one. */
function findDocuments(folder: string): string[] {
  const keys = nearbyFiles(folder).filter(isTypst);
  const entry = templateEntry(folder);
  if (entry !== null && keys.includes(entry)) return [entry];
  const mains = keys.filter((key) => posix.basename(key) === SOURCE_PATH);
  if (mains.length > 0) return mains;
  return keys.slice(0, MAX_READ).filter((key) => {
    return isDocument(parseTemplate(readIfFile(join(folder, key)).toString("utf8")));
  });
}

/** The document of a package that is a template; null for another folder. */
function templateEntry(folder: string): string | null {
  const path = join(folder, PACKAGE_MANIFEST);
  if (!isFile(path)) return null;
  const read = readManifest(readNamed(path, PACKAGE_MANIFEST, folder));
  const { entrypoint, path: below } = (read.ok && read.manifest.template) || {};
  return entrypoint === undefined ? null : posix.join(below ?? "", entrypoint);
}

/**
 * All files that a request carries beside its source, but for fonts and packages: those that the caller or a source names,
 * and those that the computed paths of a template may lead to.
 */
import { posix } from "node:path";
import { SCHEMA_FILE } from "../../data-schema/schema-file.ts";
import { CollectedFiles } from "../files/collected-files.ts";
import { filesOfKinds, type NamedFiles } from "../files/computed-paths.ts";
import { readIfFile } from "../files/folder.ts";
import { isSecret } from "../files/unexpected-files.ts";
import { addFiles, findAskedFiles, listFolder, type SourceFolder, searchRoot } from "./folder-files.ts";
import { type FollowedPaths, followPaths, type ReadingProject } from "./reads.ts";

/** What belongs to a template but not to its documents is sent only if the source or the caller names it. */
const CASE = /^cases\/(?:[^/]+\.json|[^/]+\.expected\/.+)$/;
/** A file that is found may have computed paths of its own, as a chapter has. Few lead further. */
const MAX_ROUNDS = 10;

export interface SendingProject extends ReadingProject, SourceFolder {
  /** Whether the caller has named the folder, not a source. */
  readonly isWhole: boolean;
  /** The globs of `--files`. */
  readonly patterns: readonly string[];
  /** The files of the data, which may have names of files in it; `-` for standard input. */
  readonly data: readonly string[];
}

export interface FilesToSend extends FollowedPaths {
  readonly files: CollectedFiles;
  /** Keys of files that Typst has made, which are left out. */
  readonly leftOut: ReadonlySet<string>;
  /** Keys of files that are sent for their kind alone. */
  readonly byKind: readonly string[];
  /** What may be names of files in the sources and the data. */
  readonly findNames: () => NamedFiles;
  /** Whether the root has too many files to be searched for those of computed paths. */
  readonly isTooLarge: boolean;
}

/** @throws CommandError when a file that is named does not exist or cannot be sent, or there are too many */
export function collectFilesToSend(project: SendingProject): FilesToSend {
  const { folderKey, isWhole, patterns, data, sourceKey } = project;
  const files = new CollectedFiles();
  const asked = findAskedFiles(project, patterns);
  const leftOut = addFiles(project, asked.keys, files, asked.named);
  const byKind = new Set<string>();
  const isOfDocuments = (key: string) => {
    const below = posix.relative(folderKey, key);
    return below !== SCHEMA_FILE && !CASE.test(below);
  };
  let followed = followPaths(project, files);
  let below: { readonly all: readonly string[] | null; readonly ofFolder: readonly string[] } | null = null;
  const findNames = () => {
    for (const path of data) followed.named.addWords(path, readIfFile(path));
    return followed.named;
  };
  for (let round = 0; followed.computing.size > 0 && round < MAX_ROUNDS; round++) {
    below ??= { all: searchRoot(project), ofFolder: isWhole ? listFolder(project).filter(isOfDocuments) : [] };
    const named = findNames();
    const isNew = (key: string) => !files.has(key) && !leftOut.has(key) && key !== sourceKey && !isSecret(key);
    const ofNames = new Set(below.all?.filter((key) => isNew(key) && isOfDocuments(key) && named.has(key)));
    const ofKinds = filesOfKinds(followed.computing, below.ofFolder).filter((key) => isNew(key) && !ofNames.has(key));
    const sizeBefore = files.size;
    for (const key of addFiles(project, [...ofNames, ...ofKinds], files, ofNames)) leftOut.add(key);
    if (files.size === sizeBefore) break;
    for (const key of ofKinds) if (files.has(key)) byKind.add(key);
    followed = followPaths(project, files);
  }
  const isTooLarge = below !== null && below.all === null;
  return { ...followed, files, leftOut, findNames, byKind: [...byKind], isTooLarge };
}

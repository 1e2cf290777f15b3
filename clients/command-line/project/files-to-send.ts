/**
 * All files that a request carries beside its source, but for fonts and packages: those that the caller or a source names,
 * and those that the computed paths of a template may lead to.
 */
import { readFile } from "node:fs/promises";
import { SCHEMA_FILE } from "../../data-schema/schema-file.ts";
import type { CollectedFiles } from "../files/collected-files.ts";
import { filesOfKinds, type NamedFiles } from "../files/computed-paths.ts";
import { isFile, STANDARD_INPUT } from "../files/folder.ts";
import { isSecret } from "../files/unexpected-files.ts";
import { addFiles, listFolder, readFolderFiles, type SourceFolder, searchRoot } from "./folder-files.ts";
import { type FollowedPaths, followPaths, type ReadingProject } from "./reads.ts";

/** What belongs to a template but not to its documents is sent only if the source or the caller names it. */
const NOT_SENT = [SCHEMA_FILE, "cases/*.json", "cases/*.expected/**"];
/** A file that is found may have computed paths of its own, as a chapter has. Few lead further. */
const MAX_ROUNDS = 10;

export interface SendingProject extends ReadingProject, SourceFolder {
  /** Whether the caller has named the folder, not a source. */
  readonly isWhole: boolean;
  /** The globs of `--files`. */
  readonly patterns: readonly string[];
  /** Absolute paths that are sent only if a source names them. */
  readonly excluded: ReadonlySet<string>;
  /** The files of the data, which may have names of files in it; `-` for standard input. */
  readonly data: readonly string[];
}

export interface FilesToSend extends Pick<FollowedPaths, "warnings" | "outside" | "onlyMentioned" | "computing"> {
  readonly files: CollectedFiles;
  /** Keys of files that Typst has made, which are left out. */
  readonly leftOut: ReadonlySet<string>;
  /** Keys of files that are sent for their kind alone. */
  readonly byKind: readonly string[];
  /** What may be names of files in the sources and the data. */
  readonly findNames: () => Promise<NamedFiles>;
  /** Whether the root has too many files to be searched for those of computed paths. */
  readonly isTooLarge: boolean;
}

/** @throws CommandError when a file that is named does not exist or cannot be sent, or there are too many */
export async function collectFilesToSend(project: SendingProject): Promise<FilesToSend> {
  const { root, isWhole, patterns, excluded, data, sourceKey } = project;
  const { files, made } = await readFolderFiles(project, patterns, excluded);
  const leftOut = new Set(made);
  const byKind = new Set<string>();
  let followed = await followPaths(project, files);
  let below: { readonly all: readonly string[] | null; readonly ofFolder: readonly string[] } | null = null;
  for (let round = 0; followed.computing.size > 0 && round < MAX_ROUNDS; round++) {
    const { named, computing } = followed;
    below ??= {
      all: await searchRoot(project, NOT_SENT),
      ofFolder: isWhole ? await listFolder(project, NOT_SENT) : [],
    };
    for (const path of data) named.addWords(path, await readIfFile(path));
    const isNew = (key: string) => !files.has(key) && !leftOut.has(key) && key !== sourceKey && !isSecret(key);
    const ofNames = new Set((below.all ?? []).filter((key) => isNew(key) && named.has(key)));
    const ofKinds = filesOfKinds(computing, below.ofFolder).filter((key) => isNew(key) && !ofNames.has(key));
    const sizeBefore = files.size;
    const added = await addFiles(root, [...ofNames, ...ofKinds], excluded, files, (key) => ofNames.has(key));
    for (const key of added) leftOut.add(key);
    if (files.size === sizeBefore) break;
    for (const key of ofKinds) if (files.has(key)) byKind.add(key);
    followed = await followPaths(project, files);
  }
  const { warnings, outside, onlyMentioned, computing, named } = followed;
  const isTooLarge = below !== null && below.all === null;
  const findNames = async () => {
    for (const path of data) named.addWords(path, await readIfFile(path));
    return named;
  };
  return { files, leftOut, warnings, outside, onlyMentioned, computing, findNames, byKind: [...byKind], isTooLarge };
}

/** What cannot be read is reported where the data itself is read. */
export async function readIfFile(path: string): Promise<Buffer> {
  if (path === STANDARD_INPUT || !(await isFile(path))) return Buffer.alloc(0);
  return readFile(path).catch(() => Buffer.alloc(0));
}

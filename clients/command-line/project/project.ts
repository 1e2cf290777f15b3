/**
 * What a request carries from a folder: the source, the files that it reads, and those that the caller names. Their root
 * is the same here as in the service, and nothing outside of it can be read: see root.ts and folder.ts.
 */
import { basename, dirname, extname, isAbsolute, join, posix, relative, resolve } from "node:path";
import { requestPackageFolder } from "../../../rules/package-spec.ts";
import { DATA_BINDINGS } from "../../../typst/program-text.ts";
import { DATA_PATH, SOURCE_PATH } from "../../document/saved-draft.ts";
import { countInWords, firstInWords, firstSentences } from "../../document/size-in-words.ts";
import { findUnusableFiles, type UnusableFile } from "../../document/unusable-files.ts";
import { usesData } from "../../template/data-use.ts";
import { parseTemplate } from "../../template/syntax-tree.ts";
import { isFile, isFolder, realPath } from "../files/disk.ts";
import { byteOrderMarkNote, keyBelow, placeWithoutLinks, projectFolder, readNamed, utf8Text } from "../files/folder.ts";
import { IgnoreRules } from "../files/ignore-rules.ts";
import { addPackages, isPackage, type ProjectPackages } from "../packages/packages.ts";
import { printableLine } from "../terminal.ts";
import { collectFilesToSend } from "./files-to-send.ts";
import { MAX_SEARCHED_ENTRIES } from "./folder-files.ts";
import { addFonts } from "./fonts.ts";
import { makeNoMainFileError } from "./main-file.ts";
import { leadsTo, markedFoldersAbove, namedRoot, nearestRootFor, type OutsidePath } from "./root.ts";
import { isAtRoot, type ProjectTexts } from "./sent-texts.ts";

const MAX_UNUSABLE = 10;
const MAX_NAMED = 5;

export interface Project extends ProjectTexts {
  /** The folder that the keys are relative to, absolute: that of the source, or one above. */
  readonly root: string;
  /** The root as the caller would write it. */
  readonly rootName: string;
  /** The folder of the source, absolute. */
  readonly folder: string;
  /** The source as the caller named it, for messages. */
  readonly sourceName: string;
  readonly sourcePath: string;
  /** What it imports. The files of those that were found are among `files`. */
  readonly packages: ProjectPackages;
  /** The JSON file for `data`; null if there is none. Beside a `main.typ` it is `data.json`. */
  readonly dataPath: string | null;
  /** Whether a source reads files by computed paths. */
  readonly computesPaths: boolean;
  /** Keys of files that are sent for their kind alone, because the caller has named their folder. */
  readonly byKind: readonly string[];
  /** Keys of files that Typst has made, which are left out. */
  readonly leftOut: readonly string[];
  /** Keys of fonts that are left out, because nothing asks for their family or their characters. */
  readonly unusedFonts: readonly string[];
  readonly unusedFamilies: readonly string[];
  /** Keys of fonts that the command has added by itself. */
  readonly addedFonts: readonly string[];
  /** Keys of fonts for web pages, which are not sent: Typst reads none. */
  readonly webFonts: readonly string[];
  /** Files of which the end is missing, one sentence each: Typst may make a document with half of one. */
  readonly cutOff: readonly string[];
  /** What the caller should know about the files that are sent, one sentence each. */
  readonly notes: readonly string[];
  /** Files that a source reads and that do not exist, one sentence each. Typst may never read them. */
  readonly warnings: readonly string[];
}

/** The options that every command with a project takes. */
export interface ProjectFlags {
  readonly root?: string | undefined;
  readonly files?: readonly string[] | undefined;
  /** The values may be paths of files that the source reads. */
  readonly input?: ReadonlyMap<string, string> | undefined;
  readonly dataAsInput?: string | undefined;
}

export interface ProjectUse {
  /** For messages. */
  readonly command: "render" | "check" | "test";
  /** Paths that are sent only if the source names them, such as the output. */
  readonly leaveOut: readonly string[];
  /** The files of the data that the caller names, or `-`. With any, an unused `data.json` needs no note. */
  readonly data: readonly string[];
  /** See `SourceFolder`. */
  readonly maxSearched?: number;
}

/** @param path a Typst source, or a folder. @throws CommandError when a named file does not exist or cannot be sent */
export function collectProject(path: string, flags: ProjectFlags, use: ProjectUse): Project {
  const place = placeOf(path, use.command);
  const { folder, sourceName } = place;
  const collect = (root: string, rootName: string, from: SourcePlace, isFound = false) =>
    collectBelow({ root, rootName, isFound }, from, flags, use);
  if (flags.root !== undefined) {
    const realPlace = withoutLinks(place);
    return collect(namedRoot(flags.root, realPlace.folder, sourceName), flags.root, realPlace).project;
  }
  let collected = collect(folder, dirname(sourceName), place);
  if (collected.outside.length + collected.project.packages.missing.length === 0) return collected.project;
  const realPlace = withoutLinks(place);
  const roots = markedFoldersAbove(realPlace.folder);
  for (let above = rootAbove(collected, roots); above !== null; ) {
    const { root, because } = above;
    const rootName = isAbsolute(sourceName) ? root : relative(realPath(".") ?? "", root) || ".";
    collected = collect(root, rootName, realPlace, true);
    const { project } = collected;
    const note = printableLine(`The root is ${root}, because ${because}.`);
    collected = { ...collected, project: { ...project, notes: [note, ...project.notes] } };
    above = rootAbove(collected, roots.slice(roots.indexOf(root) + 1));
  }
  return collected.project;
}

interface Collected {
  readonly project: Project;
  readonly outside: readonly OutsidePath[];
}

/** Which of some folders above must be the root, and why: a source reads below it, or imports the package that it is. */
function rootAbove({ project, outside }: Collected, roots: readonly string[]) {
  const root = nearestRootFor(outside, roots);
  const read = root === null ? undefined : outside.find((path) => leadsTo(root, path));
  if (root !== null && read !== undefined) return { root, because: `${read.shownAs} reads "${read.path}"` };
  for (const above of roots) {
    const own = project.packages.missing.find(({ spec }) => isPackage(above, spec));
    if (own !== undefined) return { root: above, because: `${own.importedBy} imports ${own.name}, which is there` };
  }
  return null;
}

interface SourcePlace {
  readonly isWhole: boolean;
  readonly folder: string;
  readonly sourceName: string;
  readonly sourcePath: string;
}

function placeOf(path: string, command: string): SourcePlace {
  const isWhole = isFolder(path);
  const sourceName = isWhole ? join(path, SOURCE_PATH) : path;
  const sourcePath = resolve(sourceName);
  if (isWhole && !isFile(sourcePath)) throw makeNoMainFileError(path, command);
  return { isWhole, folder: projectFolder(path), sourceName, sourcePath };
}

/** A folder above is that of the target of a link, as for Typst. */
function withoutLinks(place: SourcePlace): SourcePlace {
  const folder = realPath(place.folder) ?? place.folder;
  return { ...place, folder, sourcePath: join(folder, basename(place.sourcePath)) };
}

interface ProjectRoot extends Pick<Project, "root" | "rootName"> {
  /** Whether nobody has named it: above the folder, only what is neither hidden nor ignored is sent. */
  readonly isFound: boolean;
}

function collectBelow(
  { root, rootName, isFound }: ProjectRoot,
  { isWhole, folder, sourceName, sourcePath }: SourcePlace,
  { input: inputs, files: patterns = [] }: ProjectFlags,
  { leaveOut, data, maxSearched = MAX_SEARCHED_ENTRIES }: ProjectUse,
): Collected {
  const source = readNamed(sourcePath, sourceName, root);
  utf8Text(source, printableLine(sourceName));
  const folderKey = keyBelow(root, folder);
  const sourceKey = posix.join(folderKey, basename(sourcePath));
  const hasDataFile = isFile(join(folder, DATA_PATH));
  const dataPath = hasDataFile && basename(sourceName) === SOURCE_PATH ? join(folder, DATA_PATH) : null;

  const excluded = new Set([sourcePath]);
  for (const file of leaveOut) excluded.add(resolve(file)).add(placeWithoutLinks(file));
  if (dataPath !== null) excluded.add(dataPath);
  const show = (key: string) => (key === sourceKey ? sourceName : shownPath({ rootName }, key));
  const ignored = new IgnoreRules(root);
  const rules = { root, folder, ignored, isFound };
  const sending = {
    ...{ root, folderKey, ignored, maxSearched, sourceKey, source, inputs, isWhole, patterns, excluded, show, rules },
    data: [...data, ...(dataPath === null ? [] : [dataPath])],
  };
  const collected = collectFilesToSend(sending);
  const { files, leftOut, warnings, outside, onlyMentioned, computing, byKind, isTooLarge } = collected;
  const readsData = usesData(parseTemplate(source.toString("utf8")));
  const { notes: packageNotes, ...packages } = addPackages(files, { ...sending, findNames: collected.findNames });
  const fonts = addFonts(sending, packages.missing.length > 0, files);
  const unusable = findUnusableFiles([...files].map(([key, bytes]) => ({ key, bytes })));
  const sourceNotes = [...byteOrderMarkNote(source, sourceName), ...describeUnusableFiles(unusable), ...packageNotes];
  if (hasDataFile && dataPath === null && data.length === 0 && readsData) {
    const file = pathBesideSource({ sourceName }, DATA_PATH);
    sourceNotes.push(`${file} is not used, because the source is not ${SOURCE_PATH}: to use it, add --data ${file}.`);
  }
  if (onlyMentioned.size > 0) {
    sourceNotes.push(
      `Not sent, because no call reads it by its name, and it is hidden, ignored or may be secret: ${firstInWords([...onlyMentioned], MAX_NAMED)}. If the template reads it, name it with --files.`,
    );
  }
  const leftOutKeys = [...leftOut].filter((key) => !files.has(key));
  if (leftOutKeys.length > 0) {
    sourceNotes.push(
      `Left out, because Typst has made it, like an earlier document: ${firstInWords(leftOutKeys, MAX_NAMED)}. If the template reads it, name it with --files.`,
    );
  }
  if (isTooLarge) {
    sourceNotes.push(
      `${rootName} has so many files that it was not searched for those whose paths the template computes: name them with --files.`,
    );
  }
  const project: Project = {
    root,
    rootName,
    folder,
    sourceKey,
    sourceName,
    sourcePath,
    source,
    files: [...files].map(([key, bytes]) => ({ key, bytes })).sort((a, b) => (a.key < b.key ? -1 : 1)),
    packages,
    // An included file does not see what the service binds in the source.
    linesBefore: new Map(readsData && !isAtRoot(sourceKey) ? [[sourceKey, DATA_BINDINGS]] : []),
    dataPath,
    computesPaths: computing.size > 0,
    byKind,
    leftOut: leftOutKeys,
    ...fonts,
    cutOff: describeUnusableFiles(unusable.filter(({ isCutOff }) => isCutOff)).map(printableLine),
    notes: sourceNotes.map(printableLine),
    warnings: warnings.map(printableLine),
  };
  return { project, outside };
}

function describeUnusableFiles(found: readonly UnusableFile[]): readonly string[] {
  const others = (count: number) => `Typst cannot use ${countInWords(count, "more file")}.`;
  return firstSentences(found, MAX_UNUSABLE, ({ key, message }) => `${key} ${message}`, others);
}

/** The name of the document without its extension: that of the folder, or of the source. */
export function projectName(path: string): string {
  if (!isFolder(path)) return basename(path, extname(path));
  return basename(resolve(path)) || basename(SOURCE_PATH, extname(SOURCE_PATH));
}

/** The path of a file of the project as the caller would write it. */
export function shownPath({ rootName }: Pick<Project, "rootName">, key: string): string {
  return join(rootName, key);
}

/** The path of a file beside the source as the caller would write it. */
export function pathBesideSource({ sourceName }: Pick<Project, "sourceName">, name: string): string {
  return join(dirname(sourceName), name);
}

/** The files that are sent, and those of packages where they lie, absolute. */
export function filesOfProject({ root, files, packages }: Project): string[] {
  const ofPackages = packages.found.flatMap((one) =>
    one.keys.map((key) => join(one.folder, relative(requestPackageFolder(one.spec), key))),
  );
  return [...files.map(({ key }) => join(root, key)), ...ofPackages];
}

/** Files from this machine, chosen or dropped, singly or in folders. */
import type { Limits } from "../../../rules/limits.ts";
import { DATA_PATH, SOURCE_PATH } from "../../document/saved-draft.ts";
import { countInWords, firstSentences, sizeInWords } from "../../document/size-in-words.ts";
import { belongsToProject, type FolderFile } from "../drafts/project-folder.ts";
import { folderOfEntries, unpackArchive } from "./folder-archive.ts";
import { isFileOfPackage, isPackageFolder } from "./package-folder.ts";
import { isPhoto } from "./scaled-photo.ts";

export interface NamedFile {
  readonly path: string;
  readonly file: File;
}

export interface AddedFiles {
  /** Whether they are the contents of one folder, rather than single files. */
  readonly isFolder: boolean;
  readonly files: readonly NamedFile[];
}

const MAX_FOLDER_DEPTH = 16;
const MAX_NAMED = 5;
/** Most files of a package are not for documents: what is added of it is chosen from these. */
const MAX_LISTED = 5000;

export function listChosenFiles(files: Iterable<File>): AddedFiles {
  const chosen = [...files];
  return {
    isFolder: chosen.some(({ webkitRelativePath }) => webkitRelativePath !== ""),
    files: chosen.map((file) => {
      const { webkitRelativePath: path, name } = file;
      return { path: path.slice(path.indexOf("/") + 1) || name, file };
    }),
  };
}

/** The files of a drop, those in folders included, at most `maxFiles`. Must be called within the event. */
export async function listDroppedFiles(transfer: DataTransfer, maxFiles: number): Promise<AddedFiles> {
  const items = [...transfer.items];
  const entries = items.flatMap((item) => item.webkitGetAsEntry() ?? []);
  // A drop from another page or program may be a file without an entry.
  const found = items
    .filter((item) => item.webkitGetAsEntry() === null)
    .flatMap((item) => item.getAsFile() ?? [])
    .map((file): NamedFile => ({ path: file.name, file }));
  const isFolder = entries.length === 1 && found.length === 0 && entries[0]?.isDirectory === true;
  for (const entry of entries) {
    // A single folder is the project itself. If there are several entries, each keeps its name within the project.
    await collect(entry, isFolder ? "" : entry.name, MAX_FOLDER_DEPTH, isFolder ? MAX_LISTED : maxFiles, found);
  }
  return { isFolder, files: isFolder && isPackageFolder(found) ? found : found.slice(0, maxFiles) };
}

async function collect(
  entry: FileSystemEntry,
  path: string,
  depth: number,
  maxFiles: number,
  found: NamedFile[],
): Promise<void> {
  if (found.length >= maxFiles || depth === 0) return;
  if (entry instanceof FileSystemFileEntry) {
    const file = await new Promise<File>((resolve, reject) => entry.file(resolve, reject));
    found.push({ path, file });
  } else if (entry instanceof FileSystemDirectoryEntry) {
    const reader = entry.createReader();
    for (;;) {
      // Browsers list a folder in parts; an empty part is the end.
      const part = await new Promise<FileSystemEntry[]>((resolve, reject) => reader.readEntries(resolve, reject));
      if (part.length === 0) return;
      for (const child of part) {
        const childPath = path === "" ? child.name : `${path}/${child.name}`;
        if (belongsToProject(childPath)) await collect(child, childPath, depth - 1, maxFiles, found);
      }
    }
  }
}

export interface ReadFiles {
  readonly isFolder: boolean;
  readonly files: readonly FolderFile[];
  readonly skipped: readonly string[];
  /** Photographs among the skipped ones, which can be scaled down. */
  readonly photos: readonly NamedFile[];
}

/** Reads added files within the limits. A single archive stands for the folder that it contains. */
export async function readFiles({ isFolder, files }: AddedFiles, limits: Limits): Promise<ReadFiles> {
  const [first] = files;
  if (files.length === 1 && first !== undefined && /\.zip$/i.test(first.path)) return readArchive(first, limits);
  const read: FolderFile[] = [];
  const skipped: string[] = [];
  const photos: NamedFile[] = [];
  // Template, data and options of a folder do not become entries of `files`.
  const maxFiles = limits.effective_max_files + 3;
  const belongs = isFolder && isPackageFolder(files) ? isFileOfPackage : belongsToProject;
  for (const { path, file } of files) {
    if (isFolder && !belongs(path)) continue;
    const isPart = path === SOURCE_PATH || path === DATA_PATH;
    const maxBytes = isPart ? limits.max_request_body_bytes : limits.max_inline_file_bytes;
    if (file.size > maxBytes) {
      const sizes = `it has ${sizeInWords(file.size)}, and the limit for a file is ${sizeInWords(maxBytes)}`;
      skipped.push(`${path} was not added: ${sizes}.`);
      if (isPhoto(path)) photos.push({ path, file });
    } else if (read.length >= maxFiles) {
      skipped.push(`${path} was not added: the limit for a request is ${limits.effective_max_files} files.`);
    } else {
      const bytes = await file.bytes().catch(() => null);
      if (bytes === null) skipped.push(`${path} was not added: it could not be read.`);
      else read.push({ path, bytes });
    }
  }
  const others = (count: number) => `Not added either: ${countInWords(count, "more file")}.`;
  const named = firstSentences(skipped, MAX_NAMED, String, others);
  return { isFolder, files: read, skipped: named, photos: photos.slice(0, MAX_NAMED) };
}

async function readArchive({ path, file }: NamedFile, limits: Limits): Promise<ReadFiles> {
  const maxBytes = limits.max_request_body_bytes;
  const refuse = (reason: string) => ({
    isFolder: true,
    files: [],
    skipped: [`${path} was not opened: ${reason}`],
    photos: [],
  });
  if (file.size > maxBytes) return refuse(`it has ${file.size} bytes, and the limit for a request is ${maxBytes}.`);
  const bytes = await file.bytes().catch(() => null);
  if (bytes === null) return refuse("it could not be read.");
  const bounds = { maxEntries: limits.effective_max_files + 3, maxBytes };
  const unpack = async (of: "folder" | "package") =>
    folderOfEntries(await unpackArchive({ archive: bytes, bounds, of }), bounds);
  let folder = await unpack("folder");
  // The repository of a package may have far more files than documents need of it.
  const ofPackage = typeof folder === "string" ? await unpack("package") : folder;
  if (typeof ofPackage !== "string" && isPackageFolder(ofPackage)) folder = ofPackage;
  return typeof folder === "string" ? refuse(folder) : { isFolder: true, files: folder, skipped: [], photos: [] };
}

/**
 * Files of this machine as entries of `files`: chosen, or dropped, single or in folders.
 */
import type { Limits } from "../rules/limits.ts";
import type { DraftFile } from "./draft.ts";

/** A file with the path that it had in a chosen or dropped folder. */
export interface NamedFile {
  readonly path: string;
  readonly file: File;
}

/** Folders within folders are followed down to here. */
const MAX_FOLDER_DEPTH = 16;

/** What browsers and desktops leave in folders. */
const IGNORED = /(?:^|\/)(?:\.DS_Store|Thumbs\.db|\.git\/.*)$/;

/** The files of a file input. */
export function chosenFiles(files: Iterable<File>): NamedFile[] {
  return [...files].map((file) => ({ path: withoutRoot(file.webkitRelativePath) || file.name, file }));
}

/** The files of a drop, those in folders included, at most `maxFiles`. Must be called within the event. */
export async function droppedFiles(transfer: DataTransfer, maxFiles: number): Promise<NamedFile[]> {
  const items = [...transfer.items];
  const entries = items.flatMap((item) => item.webkitGetAsEntry() ?? []);
  // What another page or program hands over may be a file without an entry.
  const found = items
    .filter((item) => item.webkitGetAsEntry() === null)
    .flatMap((item) => item.getAsFile() ?? [])
    .map((file): NamedFile => ({ path: file.name, file }));
  for (const entry of entries) {
    // The contents of a single folder are the project; of several, each is a folder of it.
    const path = entry.isDirectory && entries.length === 1 ? "" : entry.name;
    await collect(entry, path, MAX_FOLDER_DEPTH, maxFiles, found);
  }
  return found;
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
        await collect(child, path === "" ? child.name : `${path}/${child.name}`, depth - 1, maxFiles, found);
      }
    }
  }
}

function withoutRoot(path: string): string {
  return path.slice(path.indexOf("/") + 1);
}

export interface ReadFiles {
  readonly added: readonly DraftFile[];
  /** One sentence per file that was not added. */
  readonly skipped: readonly string[];
}

/** Reads files into entries. A file over the limit is not read. */
export async function readFiles(files: readonly NamedFile[], limits: Limits): Promise<ReadFiles> {
  const added: DraftFile[] = [];
  const skipped: string[] = [];
  for (const { path, file } of files) {
    if (IGNORED.test(path)) continue;
    if (file.size > limits.max_inline_file_bytes) {
      skipped.push(
        `${path} was not added: it has ${file.size} bytes, and the limit for a file is ${limits.max_inline_file_bytes}.`,
      );
    } else if (added.length >= limits.effective_max_files) {
      skipped.push(`${path} was not added: the limit for a request is ${limits.effective_max_files} files.`);
    } else {
      const bytes = await file.bytes().catch(() => null);
      if (bytes === null) skipped.push(`${path} was not added: it could not be read.`);
      else added.push(draftFile(path, bytes));
    }
  }
  return { added, skipped };
}

/** The entry for a file: text where its bytes are UTF-8, Base64 otherwise. */
function draftFile(key: string, bytes: Uint8Array): DraftFile {
  try {
    const text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
    return { key, encoding: "text", contentJson: JSON.stringify(text), size: bytes.length };
  } catch {
    return { key, encoding: "base64", contentJson: `"${bytes.toBase64()}"`, size: bytes.length };
  }
}

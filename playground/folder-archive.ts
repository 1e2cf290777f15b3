/** Folders as ZIP archives. An archive may come from anybody, so its content is bounded while it is unpacked. */
import { Unzip, type UnzipFile, UnzipInflate, type Zippable, zipSync } from "fflate";
import { joinedBytes } from "./draft.ts";
import { belongsToProject, type FolderFile, SOURCE_PATH } from "./project-folder.ts";

export interface ArchiveBounds {
  readonly maxFiles: number;
  /** For all files together, unpacked. */
  readonly maxBytes: number;
}

/** Deflate expands its input at most about a thousand times: each chunk to some 16 MiB, before the bytes are counted. */
const CHUNK_BYTES = 16 * 1024;

/** The oldest date that a ZIP can hold. It is always the same, so archives of the same folder have the same bytes. */
const MODIFIED = new Date(1980, 0, 1);

export function archiveOf(folder: readonly FolderFile[]): Uint8Array<ArrayBuffer> {
  const entries: Zippable = {};
  for (const { path, bytes } of folder) entries[path] = bytes;
  return zipSync(entries, { mtime: MODIFIED, level: 6 });
}

/** The files of an archive that belong to a project; or a sentence that says why it is not opened. */
export function folderOfArchive(archive: Uint8Array, { maxFiles, maxBytes }: ArchiveBounds): FolderFile[] | string {
  const entries: { readonly path: string; readonly chunks: Uint8Array<ArrayBuffer>[] }[] = [];
  let unpackedBytes = 0;
  let isBroken = false;
  const add = (file: UnzipFile) => {
    if (file.name.endsWith("/") || !belongsToProject(file.name)) return;
    const entry = { path: file.name, chunks: [] as Uint8Array<ArrayBuffer>[] };
    entries.push(entry);
    if (entries.length > maxFiles) return;
    file.ondata = (error, chunk) => {
      if (error !== null) isBroken = true;
      unpackedBytes += chunk?.length ?? 0;
      if (chunk && unpackedBytes <= maxBytes) entry.chunks.push(new Uint8Array(chunk));
    };
    file.start();
  };
  try {
    const unzip = new Unzip(add);
    unzip.register(UnzipInflate);
    for (let at = 0; at < archive.length && !isBroken; at += CHUNK_BYTES) {
      unzip.push(archive.subarray(at, at + CHUNK_BYTES), at + CHUNK_BYTES >= archive.length);
      if (entries.length > maxFiles) return `The ZIP has more files than a request may have: ${maxFiles}.`;
      if (unpackedBytes > maxBytes) return `The ZIP unpacks to more than a request may have: ${maxBytes} bytes.`;
    }
  } catch {
    isBroken = true;
  }
  if (isBroken || entries.length === 0) return "The file is not a ZIP archive that can be read here.";
  return withoutCommonFolder(
    entries.map(({ path, chunks }) => ({ path: path.replaceAll("\\", "/"), bytes: joinedBytes(chunks) })),
  );
}

/** Many programs put the folder itself, and not only its content, into an archive. */
function withoutCommonFolder(folder: FolderFile[]): FolderFile[] {
  const [root = ""] = folder[0]?.path.split("/") ?? [];
  const isInRoot = folder.every(({ path }) => path.startsWith(`${root}/`));
  if (!isInRoot || folder.some(({ path }) => path === SOURCE_PATH)) return folder;
  return folder.map(({ path, bytes }) => ({ path: path.slice(root.length + 1), bytes }));
}

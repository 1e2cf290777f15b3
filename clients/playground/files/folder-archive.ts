/** Folders as ZIP archives. An archive may come from anybody, so its content is bounded while it is unpacked. */
import { type Zippable, zipSync } from "fflate";
import type { ArchiveBounds, ArchiveEntry, ArchiveFault } from "../../document/archive-entries.ts";
import { SOURCE_PATH } from "../../document/saved-draft.ts";
import { belongsToProject, type FolderFile } from "../drafts/project-folder.ts";
import { TimedWorker } from "../page/timed-worker.ts";

export interface UnpackRequest {
  readonly archive: Uint8Array;
  readonly bounds: ArchiveBounds;
  /** Of a folder, only the files that belong to a project are unpacked; of a package, those that documents need. */
  readonly of: "folder" | "package" | "pages";
}

/** The largest takes some seconds. */
const MAX_UNPACK_MILLISECONDS = 60_000;
/** The oldest date that a ZIP can hold. It is always the same, so archives of the same folder have the same bytes. */
const MODIFIED = new Date(1980, 0, 1);

export function archiveOf(folder: readonly FolderFile[]): Uint8Array<ArrayBuffer> {
  const entries: Zippable = {};
  for (const { path, bytes } of folder) entries[path] = bytes;
  return zipSync(entries, { mtime: MODIFIED, level: 6 });
}

/** In a worker of its own, whose memory is free afterwards. */
export async function unpackArchive(request: UnpackRequest): Promise<ArchiveEntry[] | ArchiveFault> {
  const worker = new TimedWorker<UnpackRequest, ArchiveEntry[] | ArchiveFault>(
    "playground/archive-worker.js",
    MAX_UNPACK_MILLISECONDS,
  );
  const answer = await worker.ask(request);
  worker.end();
  return answer === "too slow" || answer === "not loaded" ? "broken" : answer;
}

export function isFileOfFolder(name: string): boolean {
  return !name.endsWith("/") && belongsToProject(name);
}

export function folderOfEntries(
  entries: readonly ArchiveEntry[] | ArchiveFault,
  { maxEntries, maxBytes }: ArchiveBounds,
): FolderFile[] | string {
  switch (entries) {
    case "too many entries":
      return `The ZIP has more files than a request may have: ${maxEntries}.`;
    case "too large":
      return `The ZIP unpacks to more than a request may have: ${maxBytes} bytes.`;
    case "broken":
      return "The file is not a ZIP archive that can be read here.";
    default:
      return removeCommonFolder(entries.map(({ name, bytes }) => ({ path: name.replaceAll("\\", "/"), bytes })));
  }
}

/** Many programs put the folder itself, and not only its content, into an archive. */
function removeCommonFolder(folder: FolderFile[]): FolderFile[] {
  const [root = ""] = folder[0]?.path.split("/") ?? [];
  const isInRoot = folder.every(({ path }) => path.startsWith(`${root}/`));
  if (!isInRoot || folder.some(({ path }) => path === SOURCE_PATH)) return folder;
  return folder.map(({ path, bytes }) => ({ path: path.slice(root.length + 1), bytes }));
}

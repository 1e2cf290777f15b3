/** The worker that unpacks archives, a separate file. The answer is what `archiveEntries` returns. */
import { type ArchiveBounds, archiveEntries } from "../../typescript/archive-entries.ts";
import { isFileOfFolder } from "./folder-archive.ts";

export interface UnpackRequest {
  readonly archive: Uint8Array;
  readonly bounds: ArchiveBounds;
  /** Of a folder, only the files that belong to a project are unpacked. */
  readonly of: "folder" | "pages";
}

addEventListener("message", ({ data: { archive, bounds, of } }: MessageEvent<UnpackRequest>) => {
  postMessage(archiveEntries(archive, bounds, of === "folder" ? isFileOfFolder : () => true));
});

/** What the page sends to the worker that unpacks archives. The answer is what `archiveEntries` returns. */
import type { ArchiveBounds } from "../../typescript/archive-entries.ts";

export interface UnpackRequest {
  readonly archive: Uint8Array;
  readonly bounds: ArchiveBounds;
  /** Of a folder, only the files that belong to a project are unpacked. */
  readonly of: "folder" | "pages";
}

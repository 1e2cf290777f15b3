/** The worker that unpacks archives, a separate file. The answer is what `archiveEntries` returns. */
import { archiveEntries } from "../../typescript/archive-entries.ts";
import { isFileOfFolder, type UnpackRequest } from "./folder-archive.ts";

addEventListener("message", ({ data: { archive, bounds, of } }: MessageEvent<UnpackRequest>) => {
  postMessage(archiveEntries(archive, bounds, of === "folder" ? isFileOfFolder : () => true));
});

/** The worker that unpacks archives: a separate file, so that the page goes on meanwhile. */
import { archiveEntries } from "../../typescript/archive-entries.ts";
import type { UnpackRequest } from "./archive-messages.ts";
import { isFileOfFolder } from "./folder-archive.ts";

addEventListener("message", ({ data: { archive, bounds, of } }: MessageEvent<UnpackRequest>) => {
  postMessage(archiveEntries(archive, bounds, of === "folder" ? isFileOfFolder : () => true));
});

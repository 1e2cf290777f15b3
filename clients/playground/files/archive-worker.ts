/** The worker that unpacks archives, a separate file. The answer is what `archiveEntries` returns. */
import { archiveEntries } from "../../document/archive-entries.ts";
import { isFileOfFolder, type UnpackRequest } from "./folder-archive.ts";
import { isFileOfPackage } from "./package-folder.ts";

const FILTERS = { folder: isFileOfFolder, package: isFileOfPackage, pages: () => true };

addEventListener("message", ({ data: { archive, bounds, of } }: MessageEvent<UnpackRequest>) => {
  postMessage(archiveEntries(archive, bounds, FILTERS[of]));
});

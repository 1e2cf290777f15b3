/** The worker that unpacks archives, a separate file. The answer is what `archiveEntries` returns. */
import { archiveEntries } from "../../document/archive-entries.ts";
import { answerQuestions } from "../page/timed-worker.ts";
import { isFileOfFolder, type UnpackRequest } from "./folder-archive.ts";
import { isFileOfPackage } from "./package-folder.ts";

const FILTERS = { folder: isFileOfFolder, package: isFileOfPackage, pages: () => true };

answerQuestions(Promise.resolve(), async ({ archive, bounds, of }: UnpackRequest) =>
  archiveEntries(archive, bounds, FILTERS[of]),
);

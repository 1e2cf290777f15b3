/** Unpacks an archive in a worker, within bounds. The worker ends with it. */
import type { ArchiveEntry, ArchiveFault } from "../../typescript/archive-entries.ts";
import type { UnpackRequest } from "./archive-worker.ts";

export function unpackArchive(request: UnpackRequest): Promise<ArchiveEntry[] | ArchiveFault> {
  return new Promise((resolve) => {
    const worker = new Worker("/playground/archive-worker.js", { type: "module" });
    const end = (entries: ArchiveEntry[] | ArchiveFault) => {
      worker.terminate();
      resolve(entries);
    };
    worker.addEventListener("message", ({ data }: MessageEvent<ArchiveEntry[] | ArchiveFault>) => end(data));
    // It could not be loaded.
    worker.addEventListener("error", () => end("broken"));
    worker.postMessage(request);
  });
}

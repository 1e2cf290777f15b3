/** Asks the worker for warnings of missing fonts, once there is a document. */
import type { DocumentParts } from "../../typescript/missing-fonts.ts";
import type { Draft } from "../drafts/draft.ts";

/** The warnings to show; empty if there is no worker. Never rejects. */
export function fontWarnings({ source, files }: Draft): Promise<readonly string[]> {
  const worker = new Worker("/playground/missing-fonts.js", { type: "module" });
  const document: DocumentParts = {
    source,
    files: files.map(({ key, content }) => ({ key, bytes: content.bytes() })),
  };
  const answer = new Promise<readonly string[]>((resolve) => {
    worker.addEventListener("message", ({ data }: MessageEvent<readonly string[]>) => resolve(data));
    worker.addEventListener("error", () => resolve([]));
    worker.postMessage(document);
  });
  return answer.finally(() => worker.terminate());
}

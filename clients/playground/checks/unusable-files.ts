/** Says of files that Typst cannot use what to do about them. Each content is looked at once. */
import { findUnusableFiles } from "../../document/unusable-files.ts";
import type { DraftFile, FileContent } from "../drafts/draft.ts";
import type { DraftFinding } from "./findings.ts";
import type { FindingSource } from "./request-check.ts";

const judged = new WeakMap<FileContent, { readonly key: string; readonly message: string | null }>();

export const unusableFiles: FindingSource = ({ files }) =>
  files.flatMap((file): DraftFinding[] => {
    const message = explainFile(file);
    if (message === null) return [];
    return [{ place: { field: "files", keys: [file.key] }, message: `${file.key} ${message}`, isWarning: true }];
  });

function explainFile({ key, content }: DraftFile): string | null {
  const known = judged.get(content);
  if (known?.key === key) return known.message;
  const [unusable] = findUnusableFiles([{ key, bytes: content.bytes() }]);
  const message = unusable?.message ?? null;
  judged.set(content, { key, message });
  return message;
}

/**
 * The draft that a closing page has no time to put into the database: browsers write their local storage before the page is gone. The
 * next page takes it from there.
 */
import type { Encoding } from "../rules/render-request.ts";
import { type Draft, type DraftFile, draftFile, FileContent } from "./draft.ts";

interface LeftDraft extends Pick<Draft, "source" | "data" | "output"> {
  readonly files: readonly LeftFile[];
}

/** As in a request; without its content if there was no room for it. */
type LeftFile = { readonly key: string } & Partial<Readonly<Record<Encoding, string>>>;

const PREFIX = "unsaved-draft:";

/** Leaves as much of it as there is room for: without room for its files, the database has most of them. */
export function leaveUnsaved(id: string, { source, data, output, files }: Draft): void {
  const candidates: readonly (() => readonly LeftFile[])[] = [
    () => files.map(({ key, content }) => ({ key, [content.encoding]: content.encoded })),
    () => files.map(({ key }) => ({ key })),
  ];
  for (const leftFiles of candidates) {
    try {
      localStorage.setItem(
        PREFIX + id,
        JSON.stringify({ source, data, output, files: leftFiles() } satisfies LeftDraft),
      );
      return;
    } catch {
      // No room.
    }
  }
}

/**
 * Takes what pages have left, by the ids of their drafts.
 *
 * @returns drafts to complete with the files that the database has
 */
export function takeUnsaved(): readonly { readonly id: string; complete(kept: Draft | null): Draft }[] {
  const keys = Object.keys(localStorage).filter((key) => key.startsWith(PREFIX));
  return keys.flatMap((key) => {
    const text = localStorage.getItem(key) ?? "";
    localStorage.removeItem(key);
    try {
      const left: LeftDraft = JSON.parse(text);
      const complete = (kept: Draft | null) => ({
        ...left,
        files: left.files.flatMap((file) => withContent(file, kept) ?? []),
      });
      return [{ id: key.slice(PREFIX.length), complete }];
    } catch {
      return [];
    }
  });
}

/** Null if its content is nowhere. */
function withContent({ key, text, base64 }: LeftFile, kept: Draft | null): DraftFile | null {
  if (text !== undefined) return draftFile(key, new FileContent(text));
  if (base64 !== undefined) return draftFile(key, new FileContent(Uint8Array.fromBase64(base64)));
  return kept?.files.find((file) => file.key === key) ?? null;
}

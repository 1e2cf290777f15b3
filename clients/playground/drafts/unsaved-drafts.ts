/** The draft of a closing page that has no time for the database: local storage is written before the page is gone. */
import type { Encoding } from "../../../rules/render-request.ts";
import { type Draft, type DraftFile, draftFile, FileContent } from "./draft.ts";

interface LeftDraft extends Pick<Draft, "source" | "data" | "output"> {
  readonly files: readonly LeftFile[];
}

/** A file as in a request; without its content if there was no room for it. */
type LeftFile = { readonly key: string } & Partial<Readonly<Record<Encoding, string>>>;

const PREFIX = "unsaved-draft:";

/** Stores as much of the draft as there is room for. If its files do not fit, those in the database have to do. */
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
      // There is no room.
    }
  }
}

/** Takes the drafts that earlier pages have left. `complete` adds contents that had no room from the kept version. */
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

/** Null if neither version has the content of the file. */
function withContent({ key, text, base64 }: LeftFile, kept: Draft | null): DraftFile | null {
  if (text !== undefined) return draftFile(key, new FileContent(text));
  if (base64 !== undefined) return draftFile(key, new FileContent(Uint8Array.fromBase64(base64)));
  return kept?.files.find((file) => file.key === key) ?? null;
}

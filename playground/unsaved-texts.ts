/**
 * The texts of a draft that a closing page has no time to put into the database. They go to local storage, which browsers write
 * before the page is gone, and the next page takes them from there.
 */
import type { Draft } from "./draft.ts";

type Texts = Pick<Draft, "source" | "data" | "output">;

const PREFIX = "unsaved-draft:";

export function leaveUnsaved(id: string, { source, data, output }: Draft): void {
  try {
    const texts: Texts = { source, data, output };
    localStorage.setItem(PREFIX + id, JSON.stringify(texts));
  } catch {
    // Without room, the version in the database has to do.
  }
}

/** Takes the texts that earlier pages have left, with the ids of their drafts. */
export function takeUnsaved(): readonly { readonly id: string; readonly texts: Texts }[] {
  const keys = Object.keys(localStorage).filter((key) => key.startsWith(PREFIX));
  return keys.flatMap((key) => {
    const text = localStorage.getItem(key) ?? "";
    localStorage.removeItem(key);
    try {
      const texts: Texts = JSON.parse(text);
      return [{ id: key.slice(PREFIX.length), texts }];
    } catch {
      return [];
    }
  });
}

/** A draft as the folder that the command line renders, with the output options in a hidden file. */
import { DATA_PATH, OPTIONS_PATH, readSavedOptions, SOURCE_PATH } from "../../document/saved-draft.ts";
import { type Draft, draftFile, FileContent, outputJson } from "./draft.ts";
import { draftOutput } from "./examples.ts";

export interface FolderFile {
  readonly path: string;
  readonly bytes: Uint8Array<ArrayBuffer>;
}

/** What the command line leaves out too, and what desktops leave in folders. */
const LEFT_OUT = /(?:^|\/)(?:\.[^/]*|node_modules|__MACOSX|Thumbs\.db|desktop\.ini)(?:\/|$)/i;

export function belongsToProject(path: string): boolean {
  return path === OPTIONS_PATH || !LEFT_OUT.test(path);
}

export function folderOfDraft({ source, data, files, output }: Draft): readonly FolderFile[] | string {
  const own = [
    { path: SOURCE_PATH, text: source },
    { path: OPTIONS_PATH, text: `${outputJson(output)}\n` },
    ...(data.trim() === "" ? [] : [{ path: DATA_PATH, text: data }]),
  ].map(({ path, text }) => ({ path, bytes: new TextEncoder().encode(text) }));
  const paths = new Set([SOURCE_PATH, DATA_PATH, OPTIONS_PATH]);
  for (const { key } of files) {
    if (paths.has(key)) return `Rename the file ${key}: this name is used twice in the folder.`;
    if (!belongsToProject(key)) return `Rename the file ${key}: a folder is read without its hidden files.`;
    paths.add(key);
  }
  return [...own, ...files.map(({ key, content }) => ({ path: key, bytes: content.bytes() }))];
}

export function draftOfFolder(folder: readonly FolderFile[]): Draft | null {
  const source = linesAt(folder, SOURCE_PATH);
  if (source === null) return null;
  const files = folder.filter(({ path }) => ![SOURCE_PATH, DATA_PATH, OPTIONS_PATH].includes(path));
  return {
    source,
    // If the data is not JSON, the editor shows it with the mistake marked.
    data: (linesAt(folder, DATA_PATH) ?? "").replace(/^\ufeff/, ""),
    files: files.map(({ path, bytes }) => draftFile(path, FileContent.ofBytes(bytes))),
    output: draftOutput(readSavedOptions(textAt(folder, OPTIONS_PATH) ?? "") ?? {}),
  };
}

/** The text with the line ends of the editors, because mistakes are marked by offsets. */
function linesAt(folder: readonly FolderFile[], path: string): string | null {
  return textAt(folder, path)?.replaceAll("\r\n", "\n") ?? null;
}

function textAt(folder: readonly FolderFile[], path: string): string | null {
  const found = folder.find((file) => file.path === path);
  const { value } = found === undefined ? { value: null } : FileContent.ofBytes(found.bytes);
  return typeof value === "string" ? value : null;
}

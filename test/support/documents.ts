/**
 * Reads documents from files in the format of Typst's own test suite: a line `--- name ---` begins each document.
 */
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";

export interface NamedDocument {
  readonly name: string;
  readonly text: string;
}

const HEADER = /^--- (.*) ---\n/m;

/** The documents of one file. Text before the first one is ignored. */
export async function readDocuments(path: string): Promise<NamedDocument[]> {
  const [, ...parts] = (await readFile(path, "utf8")).split(HEADER);
  return Array.from({ length: parts.length / 2 }, (_, index) => ({
    name: parts[2 * index] ?? "",
    text: parts[2 * index + 1] ?? "",
  }));
}

/** The documents of all files of a folder and the folders in it. */
export async function readDocumentsBelow(folder: string): Promise<NamedDocument[]> {
  const names = (await readdir(folder, { recursive: true })).filter((name) => name.endsWith(".typ"));
  return (await Promise.all(names.toSorted().map((name) => readDocuments(join(folder, name))))).flat();
}

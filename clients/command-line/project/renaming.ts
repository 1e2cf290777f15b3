/**
 * Names that can be sent for the files of a project that have others, and the same change in the sources that read them.
 * Only a literal that is exactly the path of a file is changed, never a text that may have it in another sense.
 */
import { isUtf8 } from "node:buffer";
import { lstat, mkdir, realpath, rename, writeFile } from "node:fs/promises";
import { dirname, join, posix } from "node:path";
import { suggestFileKeys } from "../../typescript/file-key-suggestion.ts";
import { isBelow } from "./folder.ts";
import { literalPlaces } from "./literals.ts";
import type { Project } from "./project.ts";
import { isTypst, keyOf, nearbyFiles } from "./reads.ts";

export interface ChangedLine {
  readonly line: number;
  readonly before: string;
  readonly after: string;
}

export interface ChangedSource {
  readonly key: string;
  readonly text: string;
  readonly lines: readonly ChangedLine[];
}

export interface Renaming {
  /** From the key that a file has to the one that it gets. */
  readonly files: ReadonlyMap<string, string>;
  readonly sources: readonly ChangedSource[];
  /** Files that no literal names: a template puts their paths together, or the data has them. */
  readonly unnamed: readonly string[];
}

export async function planRenaming({ root, sourceKey, source, files, packages }: Project): Promise<Renaming> {
  const ofPackages = new Set(packages.found.flatMap(({ keys }) => keys));
  const own = files.filter(({ key }) => !ofPackages.has(key));
  const keys = [...own.map(({ key }) => key), ...(sourceKey.includes("/") ? [sourceKey] : [])];
  // What is not sent keeps its name, and is not replaced.
  const beside = (await nearbyFiles(root)).filter((key) => !keys.includes(key));
  const suggested = suggestFileKeys([...keys, ...beside]);
  const names = new Map(keys.flatMap((key) => [[key, suggested.get(key) ?? key] as const]));
  const renamed = new Map([...names].filter(([key, name]) => key !== name));
  const known = new Map([...names, [sourceKey, names.get(sourceKey) ?? sourceKey]]);
  const used = new Set<string>();
  const sources: ChangedSource[] = [];
  for (const { key, bytes } of [{ key: sourceKey, bytes: source }, ...own.filter(({ key }) => isTypst(key))]) {
    if (!isUtf8(bytes)) continue;
    const changed = changeSource(key, bytes.toString("utf8"), known, used);
    if (changed.lines.length > 0) sources.push(changed);
  }
  const unnamed = [...renamed.keys()].filter((key) => !used.has(key) && key !== sourceKey);
  return { files: renamed, sources, unnamed };
}

/** @param used gets the keys of the files that the source names */
function changeSource(key: string, text: string, names: ReadonlyMap<string, string>, used: Set<string>): ChangedSource {
  const own = names.get(key) ?? key;
  const parts: string[] = [];
  let end = 0;
  for (const place of literalPlaces(text)) {
    const target = keyOf(place.path, key);
    const name = target === null ? undefined : names.get(target);
    if (target === null || name === undefined) continue;
    used.add(target);
    if (keyOf(place.path, own) === name) continue;
    parts.push(text.slice(end, place.start), pathTo(name, own, place.path));
    end = place.end;
  }
  const after = parts.join("") + text.slice(end);
  const afterLines = after.split("\n");
  const lines = text.split("\n").flatMap((before, index) => {
    const changed = afterLines[index] ?? "";
    return before === changed ? [] : [{ line: index + 1, before, after: changed }];
  });
  return { key, text: after, lines };
}

/** In the way that the author has written it: from the root, or from the file that reads it. */
function pathTo(key: string, fromKey: string, written: string): string {
  if (written.startsWith("/")) return `/${key}`;
  return (written.startsWith("./") ? "./" : "") + posix.relative(posix.dirname(fromKey), key);
}

/**
 * Renames the files and writes the sources. What was renamed gets its old name back when something fails.
 *
 * @throws Error when a file cannot be renamed or written
 */
export async function applyRenaming(root: string, { files, sources }: Renaming): Promise<void> {
  const done: [string, string][] = [];
  try {
    for (const [from, to] of files) {
      await requireFree(root, from, to);
      await rename(join(root, from), join(root, to));
      done.push([from, to]);
    }
    for (const { key, text } of sources) await writeFile(join(root, files.get(key) ?? key), text);
  } catch (error) {
    for (const [from, to] of done.reverse()) await rename(join(root, to), join(root, from));
    throw error;
  }
}

/** A link may lead out of the project, and a file that the search has not found may have the new name. */
async function requireFree(root: string, from: string, to: string): Promise<void> {
  const realRoot = await realpath(root);
  const target = join(root, to);
  let present = dirname(target);
  while ((await lstat(present).catch(() => null)) === null) present = dirname(present);
  for (const folder of [dirname(join(root, from)), present]) {
    if (!isBelow(realRoot, await realpath(folder))) throw new Error(`a link leads out of the project at ${from}`);
  }
  await mkdir(dirname(target), { recursive: true });
  const there = await lstat(target).catch(() => null);
  if (there !== null) throw new Error(`${to} is already there`);
}

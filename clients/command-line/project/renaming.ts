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
  /** Files that keep their names, because no literal has them: a template computes their paths, or the data has them. */
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
  const texts = [{ key: sourceKey, bytes: source }, ...own.filter(({ key }) => isTypst(key))]
    .filter(({ bytes }) => isUtf8(bytes))
    .map(({ key, bytes }) => ({ key, text: bytes.toString("utf8") }));
  const used = new Set([sourceKey, ...texts.flatMap(({ key, text }) => namedFiles(key, text))]);
  const renamed = [...names].filter(([key, name]) => key !== name);
  const changes = new Map(renamed.filter(([key]) => used.has(key)));
  const known = new Map([...keys, sourceKey].map((key) => [key, changes.get(key) ?? key]));
  const sources = texts.map(({ key, text }) => changeSource(key, text, known)).filter(({ lines }) => lines.length > 0);
  return { files: changes, sources, unnamed: renamed.map(([key]) => key).filter((key) => !used.has(key)) };
}

function namedFiles(key: string, text: string): string[] {
  return [...literalPlaces(text)].flatMap(({ path }) => keyOf(path, key) ?? []);
}

function changeSource(key: string, text: string, names: ReadonlyMap<string, string>): ChangedSource {
  const own = names.get(key) ?? key;
  const parts: string[] = [];
  let end = 0;
  for (const place of literalPlaces(text)) {
    const target = keyOf(place.path, key);
    const name = target === null ? undefined : names.get(target);
    if (target === null || name === undefined) continue;
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

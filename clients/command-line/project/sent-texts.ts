/**
 * The texts of a project as they are sent. Lines of Typst can be put before the first line of a source, and a source below
 * the root is included by one line at the root (docs/decisions/README.md#what-requests-bring). Neither shows: the lines of
 * diagnostics are those of the author's files.
 */
import { isUtf8 } from "node:buffer";
import { linesBelow, putBefore, sourceLines } from "../../../typst/program-text.ts";
import { isTypst } from "../../template/file-kinds.ts";
import { parseTemplate, type Template } from "../../template/syntax-tree.ts";

/** What Typst calls the source of the request. */
export const SENT_SOURCE = "<stdin>";

/** Lines by the key of the source that they are put before: statements such as `#let`, each with its line end. */
export type LinesBefore = ReadonlyMap<string, string>;

export interface ProjectFile {
  /** The path relative to the root, with `/`: the key in `files`. */
  readonly key: string;
  readonly bytes: Buffer;
}

export interface ProjectTexts {
  /** The path of the source relative to the root. */
  readonly sourceKey: string;
  readonly source: Buffer;
  /** Without the source. */
  readonly files: readonly ProjectFile[];
  /** What is put before the first lines of sources when they are sent. */
  readonly linesBefore: LinesBefore;
}

export interface SentTexts {
  readonly source: Buffer;
  readonly files: readonly ProjectFile[];
}

export function sentTexts({ sourceKey, source, files, linesBefore }: ProjectTexts): SentTexts {
  const complete = (file: ProjectFile): ProjectFile => {
    const lines = linesBefore.get(file.key);
    return lines === undefined ? file : { ...file, bytes: Buffer.concat(putBefore(file.bytes, Buffer.from(lines))) };
  };
  const own = complete({ key: sourceKey, bytes: source });
  const others = files.map(complete);
  if (isAtRoot(sourceKey)) return { source: own.bytes, files: others };
  const including = `#include "/${sourceKey.replace(/["\\]/g, "\\$&")}"`;
  return { source: Buffer.from(including), files: [...others, own].sort((a, b) => (a.key < b.key ? -1 : 1)) };
}

export interface ProjectTemplate {
  readonly key: string;
  readonly text: string;
  /** Parsed when it is asked for. */
  readonly template: Template;
  readonly isOfPackage: boolean;
}

/** The source, and then the other files of Typst that are sent. */
export function templatesOf({ sourceKey, source, files }: Omit<ProjectTexts, "linesBefore">): ProjectTemplate[] {
  return [{ key: sourceKey, bytes: source }, ...files].flatMap(({ key, bytes }) => {
    if ((key !== sourceKey && !isTypst(key)) || !isUtf8(bytes)) return [];
    const text = bytes.toString("utf8");
    const isOfPackage = packageRoot(key) !== "";
    return [
      {
        ...{ key, text, isOfPackage },
        get template() {
          return parseTemplate(text);
        },
      },
    ];
  });
}

/** The project's own, without those of packages. */
export function ownTemplates(texts: Omit<ProjectTexts, "linesBefore">): ProjectTemplate[] {
  return templatesOf(texts).filter(({ isOfPackage }) => !isOfPackage);
}

/** The folder that `/` means in a file: of a package in the request, its own. */
export function packageRoot(key: string): string {
  return /^packages\/[^/]+\/[^/]+\/[^/]+(?=\/)/.exec(key)?.[0] ?? "";
}

export function isAtRoot(sourceKey: string): boolean {
  return !sourceKey.includes("/");
}

/** Maps the lines of a file as Typst has seen it to those of the author's. @param file as Typst names it */
export function originalLines(project: ProjectTexts, file: string): (line: number) => number {
  const { sourceKey, source, files, linesBefore } = project;
  const isSource = file === SENT_SOURCE;
  const key = isSource ? sourceKey : file;
  const lines = linesBefore.get(key);
  const bytes = key === sourceKey ? source : files.find((one) => one.key === key)?.bytes;
  const original =
    lines === undefined || bytes === undefined ? (line: number) => line : linesBelow(bytes, Buffer.from(lines));
  if (!isSource) return original;
  const sentLine = sourceLines(sentTexts(project).source);
  return (line) => original(sentLine(line));
}

/**
 * The files that a template may read by computed paths, as far as can be seen without running it: those whose
 * names are in its sources or in the data. Of a folder that the caller names, also all of the kinds that it may read.
 */
import { isUtf8 } from "node:buffer";
import { extensionOf, FILE_FUNCTIONS, mayHaveNames } from "../../template/file-kinds.ts";

/** More names are no template's. */
const MAX_NAMES = 200_000;
/** A larger file is no list of names. */
const MAX_TEXT_BYTES = 16 * 1024 ** 2;
const NAME = /[\w./-]{1,512}/g;
const EXTENSION = /^\.[A-Za-z0-9]{1,5}$/;

/** The texts of a template and its data that may be names of files, or parts of them. */
export class NamedFiles {
  readonly #names = new Set<string>();
  readonly #extensions = new Set<string>();

  addLiteral(text: string): void {
    if (this.#names.size >= MAX_NAMES) return;
    if (EXTENSION.test(text)) this.#extensions.add(text.slice(1).toLowerCase());
    else this.#names.add(text.replace(/^(?:\.{0,2}\/)+/, ""));
  }

  /** @param key of a file that is sent, or the name of the data */
  addWords(key: string, bytes: Buffer): void {
    if (!mayHaveNames(key) || bytes.length > MAX_TEXT_BYTES || !isUtf8(bytes)) return;
    for (const [word] of bytes.toString("utf8").matchAll(NAME)) this.addLiteral(word);
  }

  /** Whether the file is named: by its path or the end of it, or by its name and its extension apart. */
  has(key: string): boolean {
    const segments = key.split("/");
    if (segments.some((_, index) => this.#names.has(segments.slice(index).join("/")))) return true;
    const [, stem = "", extension = ""] = /^(.+)\.([^.]+)$/.exec(segments.at(-1) ?? "") ?? [];
    return this.#extensions.has(extension.toLowerCase()) && this.#names.has(stem);
  }
}

/** What nobody's document reads, unless its name is in the template. */
const ABOUT_A_PROJECT = /^(?:readme|license|licence|copying|changelog|contributing|makefile)\b/i;

/** The files of a named folder of the kinds that the functions read. @param keys all of its files */
export function filesOfKinds(functions: ReadonlySet<string>, keys: readonly string[]): string[] {
  const kinds = [...functions].map((name) => FILE_FUNCTIONS.get(name) ?? null);
  const extensions = new Set(kinds.flatMap((kind) => kind ?? []));
  const all = new Set(keys);
  return keys.filter((key) => {
    const name = key.slice(key.lastIndexOf("/") + 1);
    const extension = extensionOf(name);
    if (ABOUT_A_PROJECT.test(name)) return false;
    // An earlier document, or what Typst has made of the source beside it, unless it is a picture.
    if (extension === "pdf") return extensions.has(extension) && !all.has(key.replace(/\.pdf$/i, ".typ"));
    return kinds.includes(null) || extensions.has(extension);
  });
}

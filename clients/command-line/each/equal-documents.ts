/**
 * Finds documents of a run that are the same although their rows differ: most likely, the template does not use the data.
 */
import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { countInWords } from "../../document/size-in-words.ts";

/** Shorter is no document. */
const MIN_BYTES = 100;
/** Of larger ones, several at once would fill the memory. */
const MAX_BYTES = 8 * 1024 ** 2;
const MAX_NAMED = 3;

/** What two PDFs of the same document differ in: the time, and the identifiers that Typst makes of the whole file. */
const CHANGING =
  /(?<=\/(?:ModDate|CreationDate)\()[^)]{0,40}|(?<=\/ID\[)[^\]]{0,200}|(?<=<(?:xmp:(?:Modify|Create)Date|stEvt:(?:when|instanceID)|xmpMM:(?:Instance|Document)ID)>)[^<]{0,200}/g;

export class EqualDocuments {
  /** By the digest of what is written, without what changes each time: the rows and the first files. */
  readonly #found = new Map<string, { readonly rows: Set<string>; readonly paths: string[]; count: number }>();

  /** @param row JSON text. @param bytes the size of the file */
  async add(path: string, bytes: number, row: string): Promise<void> {
    if (bytes < MIN_BYTES || bytes > MAX_BYTES) return;
    const content = await readFile(path).catch(() => null);
    if (content !== null) this.addContent(path, [content], row);
  }

  addContent(path: string, content: readonly Uint8Array[], row: string): void {
    const hash = createHash("sha256");
    for (const bytes of content) hash.update(withoutWhatChanges(Buffer.from(bytes)));
    const digest = hash.digest("base64");
    const known = this.#found.get(digest) ?? { rows: new Set(), paths: [], count: 0 };
    known.rows.add(createHash("sha256").update(row).digest("base64"));
    known.count++;
    if (known.paths.length < MAX_NAMED) known.paths.push(path);
    this.#found.set(digest, known);
  }

  /** One sentence for the largest group; null if there is none. */
  inWords(): string | null {
    const groups = [...this.#found.values()].filter(({ rows }) => rows.size > 1);
    const [largest] = groups.toSorted((one, other) => other.count - one.count);
    if (largest === undefined) return null;
    const { count, paths } = largest;
    const more = count > paths.length ? ", …" : "";
    const others = groups.length > 1 ? `, and there are ${countInWords(groups.length - 1, "more group")} of such` : "";
    return `${count} documents are the same although their rows differ (${paths.join(", ")}${more})${others}: does the template use \`data\`?`;
  }
}

function withoutWhatChanges(bytes: Buffer): Buffer {
  if (bytes.toString("latin1", 0, 5) !== "%PDF-") return bytes;
  return Buffer.from(bytes.toString("latin1").replace(CHANGING, ""), "latin1");
}

/** The kept drafts, in IndexedDB. Contents of files are separate records: a key press does not write megabytes. */
import { type DBSchema, type IDBPDatabase, openDB } from "idb";
import { type Draft, type DraftOutput, draftFile, draftTitle, FileContent } from "./draft.ts";

interface DraftRecord {
  readonly id: string;
  /** Milliseconds since 1970. */
  readonly savedAt: number;
  readonly source: string;
  readonly data: string;
  readonly output: DraftOutput;
  readonly files: readonly { readonly key: string; readonly contentId: number }[];
}

interface Schema extends DBSchema {
  drafts: { key: string; value: DraftRecord };
  /** By the draft's id and a number. */
  contents: { key: [string, number]; value: FileContent["value"] };
}

export interface KeptDraft {
  readonly id: string;
  readonly title: string;
  readonly fileCount: number;
  readonly savedAt: number;
}

/** If there are more, the oldest are deleted. */
export const MAX_KEPT_DRAFTS = 20;

export class KeptDrafts {
  readonly #database: IDBPDatabase<Schema>;
  /** The contents that are already in the database, by draft. */
  readonly #contentIds = new Map<string, Map<FileContent, number>>();
  #lastContentId = 0;

  constructor(database: IDBPDatabase<Schema>) {
    this.#database = database;
  }

  /** @throws when the browser keeps nothing for this page */
  static async open(): Promise<KeptDrafts> {
    const database = await openDB<Schema>("playground", 1, {
      upgrade: (opened) => {
        opened.createObjectStore("drafts", { keyPath: "id" });
        opened.createObjectStore("contents");
      },
    });
    return new KeptDrafts(database);
  }

  /** The kept drafts, the newest first. */
  async list(): Promise<readonly KeptDraft[]> {
    const records = await this.#database.getAll("drafts");
    return records
      .toSorted((left, right) => right.savedAt - left.savedAt)
      .map((record) => ({
        id: record.id,
        title: draftTitle(record),
        fileCount: record.files.length,
        savedAt: record.savedAt,
      }));
  }

  /** Null if there is none with this id. */
  async read(id: string): Promise<Draft | null> {
    const transaction = this.#database.transaction(["drafts", "contents"]);
    const record = await transaction.objectStore("drafts").get(id);
    if (record === undefined) return null;
    const stored = new Map<FileContent, number>();
    const files = await Promise.all(
      record.files.map(async ({ key, contentId }) => {
        const value = await transaction.objectStore("contents").get([id, contentId]);
        const content = new FileContent(value ?? "");
        stored.set(content, contentId);
        this.#lastContentId = Math.max(this.#lastContentId, contentId);
        return draftFile(key, content);
      }),
    );
    this.#contentIds.set(id, stored);
    const { source, data, output } = record;
    return { source, data, files, output };
  }

  /**
   * All writes are requested before the first `await`: a page that is being closed may get no further.
   *
   * @throws when there is no room
   */
  async save(id: string, draft: Draft): Promise<void> {
    const transaction = this.#database.transaction(["drafts", "contents"], "readwrite");
    const before = this.#contentIds.get(id) ?? new Map<FileContent, number>();
    const stored = new Map<FileContent, number>();
    const writes: Promise<unknown>[] = [];
    const contents = transaction.objectStore("contents");
    for (const { content } of draft.files) {
      const known = before.get(content);
      if (known === undefined) {
        this.#lastContentId++;
        writes.push(contents.put(content.value, [id, this.#lastContentId]));
      }
      stored.set(content, known ?? this.#lastContentId);
    }
    for (const [content, contentId] of before) if (!stored.has(content)) writes.push(contents.delete([id, contentId]));
    const files = draft.files.map(({ key, content }) => ({ key, contentId: stored.get(content) ?? 0 }));
    const { source, data, output } = draft;
    writes.push(transaction.objectStore("drafts").put({ id, savedAt: Date.now(), source, data, output, files }));
    // This does not wait for the results, which a page that is being closed never gets.
    transaction.commit();
    await Promise.all([...writes, transaction.done]);
    this.#contentIds.set(id, stored);
  }

  async delete(id: string): Promise<void> {
    const transaction = this.#database.transaction(["drafts", "contents"], "readwrite");
    await Promise.all([
      transaction.objectStore("drafts").delete(id),
      transaction.objectStore("contents").delete(IDBKeyRange.bound([id], [id, []])),
      transaction.done,
    ]);
    this.#contentIds.delete(id);
  }
}

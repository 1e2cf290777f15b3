/** The kept drafts, in IndexedDB, as many as the browser has room for. Contents of files are separate records: a key press does not write megabytes. */
import { type DBSchema, type IDBPDatabase, openDB } from "idb";
import { type Draft, draftFile, draftTitle, FileContent } from "./draft.ts";

interface DraftRecord extends Omit<Draft, "files"> {
  readonly id: string;
  /** Milliseconds since 1970. */
  readonly savedAt: number;
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

const STORES = ["drafts", "contents"] as const;

/** What the database has of the draft that was read or saved last, once `done` is fulfilled. */
interface StoredContents {
  readonly id: string;
  readonly contents: ReadonlyMap<FileContent, number>;
  readonly done: Promise<unknown>;
}

const NOTHING: StoredContents = { id: "", contents: new Map(), done: Promise.resolve() };

export class KeptDrafts {
  readonly #database: IDBPDatabase<Schema>;
  #stored: StoredContents = NOTHING;

  constructor(database: IDBPDatabase<Schema>) {
    this.#database = database;
  }

  static async open(): Promise<KeptDrafts> {
    const database = await openDB<Schema>("playground", 1, {
      upgrade: (opened) => {
        opened.createObjectStore("drafts", { keyPath: "id" });
        opened.createObjectStore("contents");
      },
    });
    return new KeptDrafts(database);
  }

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

  async read(id: string): Promise<Draft | null> {
    const transaction = this.#database.transaction(STORES);
    const record = await transaction.objectStore("drafts").get(id);
    if (record === undefined) return null;
    const contents = new Map<FileContent, number>();
    const files = await Promise.all(
      record.files.map(async ({ key, contentId }) => {
        const content = new FileContent((await transaction.objectStore("contents").get([id, contentId])) ?? "");
        contents.set(content, contentId);
        return draftFile(key, content);
      }),
    );
    this.#stored = { ...NOTHING, id, contents };
    const { source, data, output } = record;
    return { source, data, files, output };
  }

  /** Requests all writes before the first `await`: a page that is being closed may get no further. */
  async save(id: string, { files, ...rest }: Draft): Promise<void> {
    const transaction = this.#database.transaction(STORES, "readwrite");
    const store = transaction.objectStore("contents");
    const { contents: before, done: savedBefore } = this.#stored.id === id ? this.#stored : NOTHING;
    const writes: Promise<unknown>[] = before.size === 0 ? [store.delete(allContents(id))] : [];
    const contents = new Map(files.map(({ content }) => [content, before.get(content) ?? Math.random()]));
    for (const [content, contentId] of contents) {
      if (!before.has(content)) writes.push(store.put(content.value, [id, contentId]));
    }
    for (const [content, contentId] of before) {
      if (!contents.has(content)) writes.push(store.delete([id, contentId]));
    }
    const keys = files.map(({ key, content }) => ({ key, contentId: contents.get(content) ?? 0 }));
    writes.push(transaction.objectStore("drafts").put({ ...rest, id, savedAt: Date.now(), files: keys }));
    // Without waiting for the results, which a page that is being closed never gets.
    transaction.commit();
    // The next save may begin before this one has ended. It relies on what this one puts, so it fails with it.
    const done = Promise.all([...writes, transaction.done, savedBefore]);
    this.#stored = { id, contents, done };
    await done.catch((error: unknown) => {
      this.#stored = NOTHING;
      throw error;
    });
  }

  async delete(id: string): Promise<void> {
    if (this.#stored.id === id) this.#stored = NOTHING;
    const transaction = this.#database.transaction(STORES, "readwrite");
    await Promise.all([
      transaction.objectStore("drafts").delete(id),
      transaction.objectStore("contents").delete(allContents(id)),
      transaction.done,
    ]);
  }
}

function allContents(id: string): IDBKeyRange {
  return IDBKeyRange.bound([id], [id, []]);
}

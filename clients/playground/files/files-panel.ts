/** The panel of `files`: a list with the key of each file, a drop zone and two pickers. */
import type { Limits } from "../../../rules/limits.ts";
import { suggestFileKey } from "../../document/file-key-suggestion.ts";
import { countInWords, sizeInWords } from "../../document/size-in-words.ts";
import { type DraftFile, draftFile, FileContent } from "../drafts/draft.ts";
import type { DraftStore } from "../drafts/draft-store.ts";
import { draftOfFolder, type FolderFile } from "../drafts/project-folder.ts";
import { byId } from "../page/elements.ts";
import { connectNotice, type NoticeOffer } from "../page/notice.ts";
import type { Tabs } from "../page/tabs.ts";
import {
  type AddedFiles,
  listChosenFiles,
  listDroppedFiles,
  type NamedFile,
  type ReadFiles,
  readFiles,
} from "./dropped-files.ts";
import { type FileMark, FileRow } from "./file-row.ts";
import { packageOfFolder } from "./package-folder.ts";
import { scaleDownPhoto } from "./scaled-photo.ts";

export interface FilesPanelOptions {
  readonly store: DraftStore;
  readonly tabs: Tabs;
  readonly limits: () => Limits;
  readonly onOpen: (file: DraftFile) => void;
  /** Takes over a folder with a `main.typ`, or single files with one. */
  readonly onProject: (read: ReadFiles) => void;
}

const PICKERS = [
  ["files-add", "files-input"],
  ["folder-add", "folder-input"],
  ["archive-open", "archive-input"],
] as const;

export class FilesPanel {
  readonly #options: FilesPanelOptions;
  readonly #store: DraftStore;
  readonly #list = byId("files-list", HTMLUListElement);
  readonly #notice = connectNotice("files-notice");
  readonly #addButton = byId("files-add", HTMLButtonElement);
  readonly #rows = new Map<number, FileRow>();
  #shown: readonly DraftFile[] | null = null;

  constructor(options: FilesPanelOptions) {
    this.#options = options;
    this.#store = options.store;
    for (const [button, input] of PICKERS) {
      const picker = byId(input, HTMLInputElement);
      byId(button, HTMLButtonElement).addEventListener("click", () => picker.click());
      picker.addEventListener("change", () => {
        options.tabs.show("files-panel");
        void this.#add(listChosenFiles(picker.files ?? []));
        picker.value = "";
      });
    }
    byId("file-new", HTMLButtonElement).addEventListener("click", () => this.#addEmptyFile());
    connectFileDrop(
      () => options.limits().effective_max_files + 4,
      (added) => {
        if (added === null) this.#notice("The dropped items cannot be read.");
        else void this.#add(added);
      },
    );
    this.#store.onChange((change) => {
      if (change === "replace") this.#notice("");
      this.#show();
    });
    this.#show();
  }

  async #add(added: AddedFiles): Promise<void> {
    if (added.files.length === 0) return;
    const read = await readFiles(added, this.#options.limits());
    if (draftOfFolder(read.files) !== null) {
      this.#options.onProject(read);
      return;
    }
    const packed = read.isFolder ? packageOfFolder(read.files, this.#texts()) : null;
    if (packed !== null) {
      const summary = `${packed.name} added: ${countInWords(packed.files.length, "file")}.`;
      this.#replace(mergeFiles(this.#store.draft.files, packed.files), [summary, ...read.skipped].join(" "));
      return;
    }
    const count = read.files.length;
    const offers = read.photos.map((photo) => ({
      label: `Add ${photo.path} scaled down`,
      accept: () => void this.#addScaledDown(photo),
    }));
    if (count === 0) {
      this.#notice(read.skipped.join(" "), null, offers);
      return;
    }
    const summary = `${countInWords(count, "file")} added.`;
    this.#replace(mergeFiles(this.#store.draft.files, read.files), [summary, ...read.skipped].join(" "), offers);
  }

  async #addScaledDown({ path, file }: NamedFile): Promise<void> {
    this.#notice(`Scaling ${path} down.`);
    const bytes = await scaleDownPhoto(file, path, this.#options.limits().max_inline_file_bytes);
    if (bytes === null) this.#notice(`${path} was not added: this browser cannot scale it down.`);
    else {
      const said = `${path} added with ${sizeInWords(bytes.length)}.`;
      this.#replace(mergeFiles(this.#store.draft.files, [{ path, bytes }]), said);
    }
  }

  /** What may import a package. */
  #texts(): string[] {
    const { source, files } = this.#store.draft;
    return [source, ...files.flatMap(({ content: { value } }) => (typeof value === "string" ? value : []))];
  }

  /** Shows messages at the rows of files. The key `null` is for a message about all files. */
  mark(marks: ReadonlyMap<string | null, FileMark>): void {
    byId("files-message", HTMLElement).textContent = marks.get(null)?.message ?? "";
    const { files } = this.#store.draft;
    for (const { id, key, content } of files) {
      const mark = marks.get(key) ?? null;
      const others = files.filter((other) => other.id !== id).map((other) => other.key);
      const better = mark === null ? key : suggestFileKey(key, others);
      const remedies: NoticeOffer[] = [];
      if (better !== key) remedies.push({ label: `Rename to ${better}`, accept: () => this.#rename(id, better) });
      const text = mark === null ? null : textOfOldEncoding(key, content);
      if (text !== null) {
        remedies.push({ label: "Convert it to UTF-8", accept: () => this.#setText(id, key, text) });
      }
      this.#rows.get(id)?.mark(mark, remedies);
    }
  }

  focus(): void {
    (this.#list.querySelector<HTMLElement>('[aria-invalid="true"]') ?? this.#addButton).focus();
  }

  #show(): void {
    const { files } = this.#store.draft;
    if (files === this.#shown) return;
    this.#shown = files;
    for (const id of this.#rows.keys()) {
      if (files.some((file) => file.id === id)) continue;
      this.#rows.get(id)?.element.remove();
      this.#rows.delete(id);
    }
    for (const [index, file] of files.entries()) {
      const row = this.#rows.get(file.id) ?? this.#makeRow(file.id);
      this.#rows.set(file.id, row);
      const before = this.#list.children[index] ?? null;
      // An element that is moved loses the focus.
      if (before !== row.element) this.#list.insertBefore(row.element, before);
      row.show(file, index);
    }
    byId("files-count", HTMLElement).textContent = files.length === 0 ? "" : String(files.length);
    byId("files-panel", HTMLElement).classList.toggle("is-empty", files.length === 0);
  }

  #makeRow(id: number): FileRow {
    return new FileRow({
      rename: (key) => this.#rename(id, key),
      open: () => {
        const file = this.#store.draft.files.find((each) => each.id === id);
        if (file !== undefined) this.#options.onOpen(file);
      },
      remove: () => this.#remove(id),
    });
  }

  #rename(id: number, key: string): void {
    this.#store.edit({ files: this.#store.draft.files.map((file) => (file.id === id ? { ...file, key } : file)) });
  }

  #setText(id: number, key: string, text: string): void {
    const change = (file: DraftFile) => (file.id === id ? draftFile(key, new FileContent(text)) : file);
    this.#replace(this.#store.draft.files.map(change), `${key} replaced.`);
  }

  #remove(id: number): void {
    const before = this.#store.draft.files;
    const index = before.findIndex((file) => file.id === id);
    const files = before.filter((file) => file.id !== id);
    this.#replace(files, `${before[index]?.key ?? ""} removed.`);
    const next = files[Math.min(index, files.length - 1)];
    ((next && this.#rows.get(next.id)) ?? this.#addButton).focus();
  }

  /** Shows other files, and says so. An undo leaves later changes to further files as they are. */
  #replace(after: readonly DraftFile[], said: string, offers: readonly NoticeOffer[] = []): void {
    const before = this.#store.draft.files;
    this.#store.edit({ files: after });
    const undo = () => {
      const { files } = this.#store.draft;
      const current = new Map(files.map((file) => [file.id, file]));
      const kept = new Set(after.map(({ id }) => id));
      const restored = before.flatMap((file) => current.get(file.id) ?? (kept.has(file.id) ? [] : file));
      const known = new Set([...before, ...after].map(({ id }) => id));
      this.#store.edit({ files: [...restored, ...files.filter(({ id }) => !known.has(id))] });
    };
    this.#notice(said, undo, offers);
  }

  #addEmptyFile(): void {
    const { files } = this.#store.draft;
    const keys = files.map(({ key }) => key);
    const file = draftFile(suggestFileKey("new.typ", keys), new FileContent(""));
    this.#store.edit({ files: [...files, file] });
    this.#options.onOpen(file);
  }
}

const OLD_TEXT = /\.(?:csv|tsv|txt)$/i;

/** What a file says that a spreadsheet has saved in the encoding of Windows; null if it is another file, or UTF-8. */
function textOfOldEncoding(key: string, { value }: FileContent): string | null {
  if (!OLD_TEXT.test(key) || typeof value === "string" || value.includes(0)) return null;
  return new TextDecoder("windows-1252").decode(value);
}

export function mergeFiles(files: readonly DraftFile[], added: readonly FolderFile[]): DraftFile[] {
  const keys = new Set(added.map(({ path }) => path));
  return [
    ...files.filter(({ key }) => !keys.has(key)),
    ...added.map(({ path, bytes }) => draftFile(path, FileContent.ofBytes(bytes))),
  ];
}

/** Takes files that are dropped anywhere on the page: the browser would open one that misses a zone. */
function connectFileDrop(maxFiles: () => number, onDrop: (added: AddedFiles | null) => void): void {
  addEventListener("dragover", (event) => {
    if (!event.dataTransfer?.types.includes("Files")) return;
    event.preventDefault();
    document.body.classList.add("is-dropping");
  });
  addEventListener("dragleave", (event) => {
    if (event.relatedTarget === null) document.body.classList.remove("is-dropping");
  });
  addEventListener("drop", (event) => {
    document.body.classList.remove("is-dropping");
    if (!event.dataTransfer?.types.includes("Files")) return;
    event.preventDefault();
    document.getElementById("files-tab")?.click();
    listDroppedFiles(event.dataTransfer, maxFiles()).then(onDrop, () => onDrop(null));
  });
}

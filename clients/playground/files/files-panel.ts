/** The panel of `files`: a list with the key of each file, a drop zone and two pickers. */
import type { Limits } from "../../../rules/limits.ts";
import { suggestFileKey } from "../../typescript/file-key-suggestion.ts";
import { sizeInWords } from "../../typescript/size-in-words.ts";
import { type DraftFile, draftFile, FileContent } from "../drafts/draft.ts";
import type { DraftStore } from "../drafts/draft-store.ts";
import { draftOfFolder, type FolderFile } from "../drafts/project-folder.ts";
import { byId, make, makeButton } from "../page/elements.ts";
import { Notice } from "../page/notice.ts";
import { type AddedFiles, chosenFiles, droppedFiles, type ReadFiles, readFiles } from "./dropped-files.ts";

export interface FilesPanel {
  /** Adds files that were chosen or dropped. A folder with a template becomes the project. */
  add(added: AddedFiles): Promise<void>;
  /** Shows messages at the rows of files. The key `null` is for a message about all files. */
  mark(messages: ReadonlyMap<string | null, string>): void;
  focus(): void;
}

export interface FilesPanelOptions {
  readonly store: DraftStore;
  /** The limits on what may be added now. */
  readonly limits: () => Limits;
  /** Shows a file in a tab. */
  readonly onOpen: (file: DraftFile) => void;
  /** Takes over a folder with a `main.typ`, or single files with one. */
  readonly onProject: (read: ReadFiles) => void;
}

interface Row {
  readonly element: HTMLLIElement;
  readonly input: HTMLInputElement;
  readonly open: HTMLButtonElement;
  readonly remove: HTMLButtonElement;
  readonly kind: HTMLElement;
  readonly size: HTMLElement;
  readonly message: HTMLElement;
  /** The file that the row shows, compared at each key press. */
  shown: DraftFile | null;
}

export function connectFilesPanel({ store, limits, onOpen, onProject }: FilesPanelOptions): FilesPanel {
  const list = byId("files-list", HTMLUListElement);
  const notice = new Notice(byId("files-notice", HTMLElement));
  const message = byId("files-message", HTMLElement);
  const count = byId("files-count", HTMLElement);
  const zone = byId("files-panel", HTMLElement);
  const addButton = byId("files-add", HTMLButtonElement);
  const rows = new Map<number, Row>();

  const fileOf = (id: number) => store.draft.files.find((file) => file.id === id);
  const rename = (id: number, key: string) =>
    store.edit({ files: store.draft.files.map((file) => (file.id === id ? { ...file, key } : file)) });
  /** Undoes one addition or removal. Later changes to other files stay. */
  const undo = (before: readonly DraftFile[], after: readonly DraftFile[]) => () => {
    const current = new Map(store.draft.files.map((file) => [file.id, file]));
    const kept = new Set(after.map(({ id }) => id));
    const restored = before.flatMap((file) => current.get(file.id) ?? (kept.has(file.id) ? [] : file));
    const known = new Set([...before, ...after].map(({ id }) => id));
    store.edit({ files: [...restored, ...store.draft.files.filter(({ id }) => !known.has(id))] });
  };

  const add = async (added: AddedFiles) => {
    if (added.files.length === 0) return;
    const read = await readFiles(added, limits());
    if (draftOfFolder(read.files) !== null) {
      onProject(read);
      return;
    }
    const before = store.draft.files;
    const files = mergedFiles(before, read.files);
    if (read.files.length > 0) store.edit({ files });
    const summary =
      read.files.length === 0 ? [] : [`${read.files.length} file${read.files.length === 1 ? "" : "s"} added.`];
    notice.say([...summary, ...read.skipped].join(" "), read.files.length === 0 ? undefined : undo(before, files));
  };

  const makeRow = (id: number): Row => {
    const input = make("input", { type: "text", autocomplete: "off", spellcheck: "false" });
    input.addEventListener("input", () => rename(id, input.value));
    const open = makeButton("Open", { class: "link-button" }, () => {
      const file = fileOf(id);
      if (file !== undefined) onOpen(file);
    });
    const remove = makeButton("×", { class: "icon-button" }, () => {
      const before = store.draft.files;
      const index = before.findIndex((file) => file.id === id);
      const key = before[index]?.key ?? "";
      const files = before.filter((file) => file.id !== id);
      store.edit({ files });
      notice.say(`${key} removed.`, undo(before, files));
      const next = files[Math.min(index, files.length - 1)];
      ((next && rows.get(next.id)?.input) ?? addButton).focus();
    });
    const kind = make("span", { class: "file-kind" });
    const size = make("span", { class: "file-size" });
    const text = make("p", { class: "message" });
    const element = make("li", {}, input, open, kind, size, remove, text);
    return { element, input, open, remove, kind, size, message: text, shown: null };
  };

  const show = () => {
    const { files } = store.draft;
    const ids = new Set(files.map(({ id }) => id));
    for (const [id, { element }] of rows) {
      if (ids.has(id)) continue;
      element.remove();
      rows.delete(id);
    }
    for (const [index, file] of files.entries()) {
      const row = rows.get(file.id) ?? makeRow(file.id);
      rows.set(file.id, row);
      // An element that is moved loses the focus.
      if (list.children[index] !== row.element) list.insertBefore(row.element, list.children[index] ?? null);
      fillRow(row, file, index);
    }
    count.textContent = files.length === 0 ? "" : String(files.length);
    zone.classList.toggle("is-empty", files.length === 0);
  };

  for (const [button, input] of [
    ["files-add", "files-input"],
    ["folder-add", "folder-input"],
  ] as const) {
    const picker = byId(input, HTMLInputElement);
    byId(button, HTMLButtonElement).addEventListener("click", () => picker.click());
    picker.addEventListener("change", () => {
      void add(chosenFiles(picker.files ?? []));
      picker.value = "";
    });
  }
  byId("file-new", HTMLButtonElement).addEventListener("click", () => {
    const { files } = store.draft;
    const file = draftFile(
      suggestFileKey(
        "new.typ",
        files.map(({ key }) => key),
      ),
      new FileContent(""),
    );
    store.edit({ files: [...files, file] });
    onOpen(file);
  });

  // On the whole page, because the browser would open a file that misses the zone instead of the page.
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
    droppedFiles(event.dataTransfer, limits().effective_max_files + 4)
      .then(add)
      .catch(() => notice.say("The dropped items cannot be read."));
  });

  store.onChange((change) => {
    if (change === "replace") notice.say("");
    show();
  });
  show();
  return {
    add,
    mark: (messages) => {
      message.textContent = messages.get(null) ?? "";
      const { files } = store.draft;
      for (const { id, key } of files) {
        const row = rows.get(id);
        if (row === undefined) continue;
        const text = messages.get(key) ?? "";
        row.input.setAttribute("aria-invalid", String(text !== ""));
        row.message.replaceChildren(text);
        if (text === "") continue;
        const better = suggestFileKey(
          key,
          files.filter((other) => other.id !== id).map((other) => other.key),
        );
        if (better === key) continue;
        const use = makeButton(`Rename to ${better}`, { class: "link-button" }, () => {
          rename(id, better);
          row.input.focus();
        });
        row.message.append(" ", use);
      }
    },
    focus: () => (list.querySelector<HTMLElement>('[aria-invalid="true"]') ?? addButton).focus(),
  };
}

function fillRow(row: Row, file: DraftFile, index: number) {
  const { element, input, open, remove, kind, size, message } = row;
  const { key, content } = file;
  const id = `file-${index}`;
  if (row.shown === file && input.id === id) return;
  row.shown = file;
  if (input.id !== id) {
    input.id = id;
    message.id = `${id}-message`;
    input.setAttribute("aria-label", `Path of file ${index + 1}`);
    input.setAttribute("aria-describedby", message.id);
  }
  if (element.dataset.key !== key) {
    element.dataset.key = key;
    open.setAttribute("aria-label", `Open ${key}`);
    remove.setAttribute("aria-label", `Remove ${key}`);
  }
  if (input.value !== key) input.value = key;
  kind.textContent = content.encoding === "text" ? "text" : "binary";
  size.textContent = sizeInWords(content.size);
}

/** The files with others added. A file with the same key is replaced. */
export function mergedFiles(files: readonly DraftFile[], added: readonly FolderFile[]): DraftFile[] {
  const keys = new Set(added.map(({ path }) => path));
  return [
    ...files.filter(({ key }) => !keys.has(key)),
    ...added.map(({ path, bytes }) => draftFile(path, FileContent.ofBytes(bytes))),
  ];
}

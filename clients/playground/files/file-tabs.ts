/** The open files, each in its own tab: text in an editor, images as pictures. */
import { findUnusableFiles } from "../../typescript/unusable-files.ts";
import { type DraftFile, FileContent } from "../drafts/draft.ts";
import type { DraftStore } from "../drafts/draft-store.ts";
import { CodeEditor, type EditorMark } from "../editor/code-editor.ts";
import { completionsFor } from "../editor/completions.ts";
import { languageFor } from "../editor/languages.ts";
import { make, makeButton } from "../page/elements.ts";
import type { Tabs } from "../page/tabs.ts";

const IMAGE_TYPES: Readonly<Record<string, string>> = {
  png: "image/png",
  jpg: "image/jpeg",
  jpeg: "image/jpeg",
  gif: "image/gif",
  webp: "image/webp",
  svg: "image/svg+xml",
};

interface OpenFile {
  readonly tab: HTMLElement;
  readonly panel: HTMLElement;
  readonly title: HTMLElement;
  readonly editor: CodeEditor | null;
  readonly picture: HTMLImageElement | null;
  shown: DraftFile;
}

/** Follows the store: a renamed file keeps its tab, a removed one loses it. */
export class FileTabs {
  readonly #store: DraftStore;
  readonly #tabs: Tabs;
  readonly #host: HTMLElement;
  readonly #opened = new Map<number, OpenFile>();
  #marks: ReadonlyMap<string, readonly EditorMark[]> = new Map();

  /** @param host receives the panels */
  constructor(store: DraftStore, tabs: Tabs, host: HTMLElement) {
    this.#store = store;
    this.#tabs = tabs;
    this.#host = host;
    store.onChange((change) => {
      if (change === "replace") for (const id of [...this.#opened.keys()]) this.#close(id);
      for (const [id, file] of this.#opened) {
        const current = store.draft.files.find((each) => each.id === id);
        if (current === file.shown) continue;
        if (current === undefined) this.#close(id);
        else follow(file, current);
      }
    });
  }

  open(file: DraftFile): void {
    const opened = this.#opened.get(file.id) ?? this.#add(file);
    this.#tabs.show(opened.panel.id);
    opened.editor?.focus();
  }

  /** Shows a place in the text of a file; false if there is no such text. */
  goTo(key: string, offset: number): boolean {
    const file = this.#store.draft.files.find((each) => each.key === key);
    if (file === undefined || typeof file.content.value !== "string") return false;
    this.open(file);
    this.#opened.get(file.id)?.editor?.goTo(offset);
    return true;
  }

  /** Marks the texts of files by their keys, those that are opened later too. */
  mark(marks: ReadonlyMap<string, readonly EditorMark[]>): void {
    this.#marks = marks;
    for (const { editor, shown } of this.#opened.values()) editor?.mark(marks.get(shown.key) ?? []);
  }

  #add(file: DraftFile): OpenFile {
    const { id, key } = file;
    const panelId = `open-file-${id}`;
    const tabId = `${panelId}-tab`;
    const tab = make("button", { type: "button", role: "tab", id: tabId, "aria-controls": panelId }, key);
    const title = make("span", { class: "file-path" }, key);
    const close = () => this.#close(id);
    const closeButton = makeButton("Close", { class: "link-button", "aria-label": `Close ${key}` }, close);
    const panel = make(
      "div",
      { class: "panel open-file", id: panelId, role: "tabpanel", "aria-labelledby": tabId },
      make("p", { class: "file-bar" }, title, closeButton),
    );
    this.#host.append(panel);
    const picture = showPicture(panel, file);
    const editor = this.#showText(panel, file);
    if (editor === null && picture === null) {
      panel.append(make("p", { class: "notice" }, describeBinary(file)));
    }
    const opened: OpenFile = { tab, panel, title, editor, picture, shown: file };
    this.#opened.set(id, opened);
    this.#tabs.add(tab, close);
    return opened;
  }

  /** Null if the file is not text. */
  #showText(panel: HTMLElement, { id, key, content: { value } }: DraftFile): CodeEditor | null {
    if (typeof value !== "string") return null;
    const host = make("div", { class: "editor" });
    panel.append(host);
    const editor = new CodeEditor(host, {
      label: `File ${key}`,
      language: languageFor(key),
      completions: completionsFor(
        () => this.#store.draft,
        () => this.#opened.get(id)?.shown.key ?? key,
      ),
      onChange: (text) => this.#edit(id, text),
    });
    editor.replace(value);
    editor.mark(this.#marks.get(key) ?? []);
    return editor;
  }

  #edit(id: number, text: string): void {
    const { files } = this.#store.draft;
    this.#store.edit({
      files: files.map((file) => (file.id === id ? { ...file, content: new FileContent(text) } : file)),
    });
  }

  #close(id: number): void {
    const file = this.#opened.get(id);
    if (file === undefined) return;
    this.#opened.delete(id);
    this.#tabs.remove(file.tab);
    file.editor?.destroy();
    if (file.picture !== null) URL.revokeObjectURL(file.picture.src);
    file.panel.remove();
  }
}

/** What a file is that is neither text nor a picture. */
function describeBinary({ key, content }: DraftFile): string {
  const [unusable] = findUnusableFiles([{ key, bytes: content.bytes() }]);
  return `This file ${unusable?.message ?? "is not text, so it cannot be edited here."}`;
}

/** Null if the file is not an image that browsers show. */
function showPicture(panel: HTMLElement, { key, content }: DraftFile): HTMLImageElement | null {
  const type = imageType(key);
  if (type === undefined) return null;
  const picture = make("img", { alt: `The file ${key}`, class: "file-picture" });
  picture.src = URL.createObjectURL(new Blob([content.bytes()], { type }));
  panel.append(picture);
  return picture;
}

function follow(file: OpenFile, current: DraftFile): void {
  if (current.key !== file.shown.key) {
    file.tab.textContent = current.key;
    file.title.textContent = current.key;
    file.panel.querySelector("button")?.setAttribute("aria-label", `Close ${current.key}`);
    file.editor?.describe(`File ${current.key}`, languageFor(current.key));
  }
  const { value } = current.content;
  if (typeof value === "string" && file.editor !== null && file.editor.text !== value) file.editor.replace(value);
  if (file.picture !== null && current.content !== file.shown.content) {
    URL.revokeObjectURL(file.picture.src);
    file.picture.src = URL.createObjectURL(new Blob([current.content.bytes()], { type: imageType(current.key) ?? "" }));
  }
  file.shown = current;
}

function imageType(key: string): string | undefined {
  const extension = key.slice(key.lastIndexOf(".") + 1).toLowerCase();
  return Object.hasOwn(IMAGE_TYPES, extension) ? IMAGE_TYPES[extension] : undefined;
}

/** The open files, each in its own tab: text in an editor. */
import { findUnusableFiles } from "../../document/unusable-files.ts";
import { type DraftFile, FileContent } from "../drafts/draft.ts";
import type { DraftStore } from "../drafts/draft-store.ts";
import { CodeEditor, type EditorMark } from "../editor/code-editor.ts";
import { completionsFor } from "../editor/completions.ts";
import { languageFor } from "../editor/languages.ts";
import { make, makeButton } from "../page/elements.ts";
import type { Tabs } from "../page/tabs.ts";

interface OpenFile {
  readonly tab: HTMLElement;
  readonly panel: HTMLElement;
  shown: DraftFile;
  editor: CodeEditor | null;
}

/** Follows the store: a renamed file keeps its tab, a removed one loses it. */
export class FileTabs {
  readonly #store: DraftStore;
  readonly #tabs: Tabs;
  readonly #host: HTMLElement;
  readonly #opened = new Map<number, OpenFile>();
  #marks: ReadonlyMap<string, readonly EditorMark[]> = new Map();

  constructor(store: DraftStore, tabs: Tabs, host: HTMLElement) {
    this.#store = store;
    this.#tabs = tabs;
    this.#host = host;
    store.onChange(() => {
      for (const [id, opened] of [...this.#opened]) {
        const current = store.draft.files.find((each) => each.id === id);
        if (current === undefined) this.#close(id);
        else if (current.key !== opened.shown.key) this.#show(opened, current);
        // Its own editor has changed it.
        else opened.shown = current;
      }
    });
  }

  open(file: DraftFile): void {
    const opened = this.#opened.get(file.id) ?? this.#add(file);
    this.#tabs.show(opened.panel.id);
    opened.editor?.focus();
  }

  goTo(key: string, offset: number): boolean {
    const file = this.#store.draft.files.find((each) => each.key === key);
    if (file === undefined || typeof file.content.value !== "string") return false;
    this.open(file);
    this.#opened.get(file.id)?.editor?.goTo(offset);
    return true;
  }

  mark(marks: ReadonlyMap<string, readonly EditorMark[]>): void {
    this.#marks = marks;
    for (const { editor, shown } of this.#opened.values()) editor?.mark(marks.get(shown.key) ?? []);
  }

  #add(file: DraftFile): OpenFile {
    const id = `open-file-${file.id}`;
    const tabId = `${id}-tab`;
    const tab = make("button", { type: "button", class: "muted medium", role: "tab", id: tabId, "aria-controls": id });
    const panel = make("div", { class: "panel open-file stack", id, role: "tabpanel", "aria-labelledby": tabId });
    const opened: OpenFile = { tab, panel, shown: file, editor: null };
    this.#host.append(panel);
    this.#opened.set(file.id, opened);
    this.#show(opened, file);
    this.#tabs.add(tab, () => this.#close(file.id));
    return opened;
  }

  #show(opened: OpenFile, file: DraftFile): void {
    opened.editor?.destroy();
    opened.editor = null;
    const { id, key, content } = file;
    const closeLabel = { class: "link-button", "aria-label": `Close ${key}` };
    const bar = make(
      "p",
      { class: "file-bar notice" },
      make("span", { class: "file-path one-line" }, key),
      makeButton("Close", closeLabel, () => this.#close(id)),
    );
    opened.shown = file;
    opened.tab.textContent = key;
    opened.panel.replaceChildren(bar);
    if (typeof content.value === "string") opened.editor = this.#makeEditor(opened, content.value);
    else opened.panel.append(make("p", { class: "notice" }, describeBinary(file)));
  }

  #makeEditor({ panel, shown: { id, key } }: OpenFile, text: string): CodeEditor {
    const host = make("div", { class: "editor" });
    panel.append(host);
    const editor = new CodeEditor(host, {
      label: `File ${key}`,
      language: languageFor(key),
      completions: completionsFor(
        () => this.#store.draft,
        () => key,
      ),
      onChange: (changed) => this.#edit(id, changed),
    });
    editor.replace(text);
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
    file.panel.remove();
  }
}

function describeBinary({ key, content }: DraftFile): string {
  const [unusable] = findUnusableFiles([{ key, bytes: content.bytes() }]);
  return `This file ${unusable?.message ?? "is not text, so it cannot be edited here."}`;
}

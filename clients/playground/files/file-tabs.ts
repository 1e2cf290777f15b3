/** The open files, each in its own tab: text in an editor, images as pictures. */

import { type DraftFile, FileContent } from "../drafts/draft.ts";
import type { DraftStore } from "../drafts/draft-store.ts";
import { type CodeEditor, createCodeEditor } from "../editor/code-editor.ts";
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

/**
 * Follows the store: a renamed file keeps its tab, a removed one loses it.
 *
 * @param host receives the panels
 * @returns a function that shows a file
 */
export function connectFileTabs(store: DraftStore, tabs: Tabs, host: HTMLElement): (file: DraftFile) => void {
  const opened = new Map<number, OpenFile>();

  const close = (id: number) => {
    const file = opened.get(id);
    if (file === undefined) return;
    opened.delete(id);
    tabs.remove(file.tab);
    file.editor?.destroy();
    if (file.picture !== null) URL.revokeObjectURL(file.picture.src);
    file.panel.remove();
  };

  const edit = (id: number, text: string) =>
    store.edit({
      files: store.draft.files.map((file) => (file.id === id ? { ...file, content: new FileContent(text) } : file)),
    });

  const open = (file: DraftFile) => {
    const { id, key, content } = file;
    const panelId = `open-file-${id}`;
    const tabId = `${panelId}-tab`;
    if (!opened.has(id)) {
      const tab = make("button", { type: "button", role: "tab", id: tabId, "aria-controls": panelId }, key);
      const title = make("span", { class: "file-path" }, key);
      const closeButton = makeButton("Close", { class: "link-button", "aria-label": `Close ${key}` }, () => close(id));
      const panel = make(
        "div",
        { class: "panel open-file", id: panelId, role: "tabpanel", "aria-labelledby": tabId },
        make("p", { class: "file-bar" }, title, closeButton),
      );
      host.append(panel);
      const type = imageType(key);
      const picture = type === undefined ? null : make("img", { alt: `The file ${key}`, class: "file-picture" });
      if (picture !== null) {
        picture.src = URL.createObjectURL(new Blob([content.bytes()], { type: type ?? "" }));
        panel.append(picture);
      }
      let editor: CodeEditor | null = null;
      if (typeof content.value === "string") {
        const editorHost = make("div", { class: "editor" });
        panel.append(editorHost);
        editor = createCodeEditor(editorHost, {
          label: `File ${key}`,
          language: languageFor(key),
          completions: completionsFor(
            () => store.draft,
            () => opened.get(id)?.shown.key ?? key,
          ),
          onChange: (text) => edit(id, text),
        });
        editor.replace(content.value);
      } else if (picture === null) {
        panel.append(make("p", { class: "notice" }, "This file is not text, so it cannot be edited here."));
      }
      opened.set(id, { tab, panel, title, editor, picture, shown: file });
      tabs.add(tab, () => close(id));
    }
    tabs.show(panelId);
    opened.get(id)?.editor?.focus();
  };

  store.onChange((change) => {
    if (change === "replace") for (const id of [...opened.keys()]) close(id);
    for (const [id, file] of opened) {
      const current = store.draft.files.find((each) => each.id === id);
      if (current === file.shown) continue;
      if (current === undefined) close(id);
      else follow(file, current);
    }
  });
  return open;
}

function follow(file: OpenFile, current: DraftFile): void {
  if (current.key !== file.shown.key) {
    file.tab.textContent = current.key;
    file.title.textContent = current.key;
    file.panel.querySelector("button")?.setAttribute("aria-label", `Close ${current.key}`);
    file.editor?.describe(`File ${current.key}`, languageFor(current.key));
  }
  const { value } = current.content;
  if (typeof value === "string" && file.editor !== null && file.editor.text() !== value) file.editor.replace(value);
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

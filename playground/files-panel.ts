/** The panel of `files`: a list with a key for each, a drop zone and two pickers. */

import { sizeInWords } from "../client/size-in-words.ts";
import type { Limits } from "../rules/limits.ts";
import type { DraftFile } from "./draft.ts";
import { chosenFiles, droppedFiles, type NamedFile, readFiles } from "./dropped-files.ts";
import { byId, make, makeButton } from "./elements.ts";

export interface FilesPanel {
  files(): readonly DraftFile[];
  replace(files: readonly DraftFile[]): void;
  /** Shows a message at a file's row; `null` keys a message about all files. */
  mark(messages: ReadonlyMap<string | null, string>): void;
  focus(): void;
}

/** @param onChange called after every change; `limits` says what may be added at this moment */
export function connectFilesPanel(limits: () => Limits, onChange: () => void): FilesPanel {
  const list = byId("files-list", HTMLUListElement);
  const notice = byId("files-notice", HTMLElement);
  const message = byId("files-message", HTMLElement);
  const count = byId("files-count", HTMLElement);
  const zone = byId("files-panel", HTMLElement);
  const addButton = byId("files-add", HTMLButtonElement);
  let files: DraftFile[] = [];
  let rows: HTMLLIElement[] = [];

  const add = async (named: readonly NamedFile[]) => {
    if (named.length === 0) return;
    const { added, skipped } = await readFiles(named, limits());
    const keys = new Set(added.map(({ key }) => key));
    files = [...files.filter(({ key }) => !keys.has(key)), ...added];
    const summary = added.length === 0 ? [] : [`${added.length} file${added.length === 1 ? "" : "s"} added.`];
    notice.textContent = [...summary, ...skipped].join(" ");
    show();
    onChange();
  };

  const show = () => {
    rows = files.map((file, index) => row(file, index));
    list.replaceChildren(...rows);
    count.textContent = files.length === 0 ? "" : String(files.length);
    zone.classList.toggle("is-empty", files.length === 0);
  };

  const row = (file: DraftFile, index: number): HTMLLIElement => {
    const id = `file-${index}`;
    const input = make("input", {
      type: "text",
      id,
      value: file.key,
      "aria-label": `Path of file ${index + 1}`,
      "aria-describedby": `${id}-message`,
      autocomplete: "off",
      spellcheck: "false",
    });
    input.addEventListener("input", () => {
      const current = files[index];
      if (current === undefined) return;
      files = files.with(index, { ...current, key: input.value });
      onChange();
    });
    const remove = makeButton("×", { class: "icon-button", "aria-label": `Remove ${file.key}` }, () => {
      files = files.toSpliced(index, 1);
      notice.textContent = `${file.key} removed.`;
      show();
      onChange();
      (rows[Math.min(index, rows.length - 1)]?.querySelector("input") ?? addButton).focus();
    });
    const kind = make("span", { class: "file-kind" }, file.encoding === "text" ? "text" : "binary");
    const size = make("span", { class: "file-size" }, sizeInWords(file.size));
    return make("li", {}, input, kind, size, remove, make("p", { class: "message", id: `${id}-message` }));
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

  // Anywhere on the page: a file that misses the zone would replace the page otherwise.
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
    const failed = () => {
      notice.textContent = "The dropped items cannot be read.";
    };
    droppedFiles(event.dataTransfer, limits().effective_max_files + 1)
      .then(add)
      .catch(failed);
  });

  show();
  return {
    files: () => files,
    replace: (replacement) => {
      files = [...replacement];
      notice.textContent = "";
      show();
      onChange();
    },
    mark: (messages) => {
      message.textContent = messages.get(null) ?? "";
      for (const [index, { key }] of files.entries()) {
        const text = messages.get(key) ?? "";
        const place = document.getElementById(`file-${index}-message`);
        if (place !== null) place.textContent = text;
        document.getElementById(`file-${index}`)?.setAttribute("aria-invalid", String(text !== ""));
      }
    },
    focus: () => (list.querySelector<HTMLElement>('[aria-invalid="true"]') ?? addButton).focus(),
  };
}

/** A row of the files panel: the key of a file, what it is, and what is wrong with it. */
import { sizeInWords } from "../../typescript/size-in-words.ts";
import type { DraftFile } from "../drafts/draft.ts";
import type { EditorMark } from "../editor/code-editor.ts";
import { make, makeButton } from "../page/elements.ts";

export type FileMark = Omit<EditorMark, "range">;

export interface FileRowActions {
  rename(key: string): void;
  open(): void;
  remove(): void;
}

export class FileRow {
  readonly element: HTMLLIElement;
  readonly #input = make("input", { type: "text", autocomplete: "off", spellcheck: "false" });
  readonly #open: HTMLButtonElement;
  readonly #remove: HTMLButtonElement;
  readonly #kind = make("span", { class: "notice" });
  readonly #size = make("span", { class: "file-size notice" });
  readonly #message = make("p", { class: "message" });
  readonly #rename: (key: string) => void;

  constructor({ rename, open, remove }: FileRowActions) {
    this.#rename = rename;
    this.#input.addEventListener("input", () => rename(this.#input.value));
    this.#open = makeButton("Open", { class: "link-button" }, open);
    this.#remove = makeButton("×", { class: "icon-button" }, remove);
    this.element = make("li", {}, this.#input, this.#open, this.#kind, this.#size, this.#remove, this.#message);
  }

  focus(): void {
    this.#input.focus();
  }

  show({ key, content }: DraftFile, index: number): void {
    const id = `file-${index}`;
    this.#input.id = id;
    this.#message.id = `${id}-message`;
    this.#input.setAttribute("aria-label", `Path of file ${index + 1}`);
    this.#input.setAttribute("aria-describedby", this.#message.id);
    this.#input.title = key;
    this.#open.setAttribute("aria-label", `Open ${key}`);
    this.#remove.setAttribute("aria-label", `Remove ${key}`);
    // Otherwise, the cursor would move to the end.
    if (this.#input.value !== key) this.#input.value = key;
    this.#kind.textContent = content.encoding === "text" ? "text" : "binary";
    this.#size.textContent = sizeInWords(content.size);
  }

  /** @param better a key that the rules allow, which one click gives to the file; null if there is none */
  mark(mark: FileMark | null, better: string | null): void {
    this.#input.setAttribute("aria-invalid", String(mark !== null && !mark.isWarning));
    this.#message.classList.toggle("is-warning", mark?.isWarning ?? false);
    this.#message.replaceChildren(mark?.message ?? "");
    if (mark === null || better === null) return;
    const use = makeButton(`Rename to ${better}`, { class: "link-button" }, () => {
      this.#rename(better);
      this.focus();
    });
    this.#message.append(" ", use);
  }
}

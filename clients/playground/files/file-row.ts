/** A row of the files panel: the key of a file, what it is, and what is wrong with it. */
import { fontFaces } from "../../../typst/fonts/font-file.ts";
import { isFont } from "../../../typst/fonts/font-names.ts";
import { sizeInWords } from "../../document/size-in-words.ts";
import type { DraftFile, FileContent } from "../drafts/draft.ts";
import type { EditorMark } from "../editor/code-editor.ts";
import { make, makeButton } from "../page/elements.ts";
import type { NoticeOffer } from "../page/notice.ts";

const MAX_FAMILIES = 5;

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
  readonly #families = make("p", { class: "file-families notice" });
  readonly #message = make("p", { class: "message" });
  #shown: FileContent | null = null;

  constructor({ rename, open, remove }: FileRowActions) {
    this.#input.addEventListener("input", () => rename(this.#input.value));
    this.#open = makeButton("Open", { class: "link-button" }, open);
    this.#remove = makeButton("×", { class: "icon-button" }, remove);
    const buttons = [this.#open, this.#kind, this.#size, this.#remove];
    this.element = make("li", {}, this.#input, ...buttons, this.#families, this.#message);
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
    if (this.#shown === content) return;
    this.#shown = content;
    this.#families.textContent = describeFamilies(key, content);
  }

  /** @param remedies what mends the file at one click */
  mark(mark: FileMark | null, remedies: readonly NoticeOffer[]): void {
    this.#input.setAttribute("aria-invalid", String(mark !== null && !mark.isWarning));
    this.#message.classList.toggle("is-warning", mark?.isWarning ?? false);
    this.#message.replaceChildren(mark?.message ?? "");
    for (const { label, accept } of remedies) {
      const use = makeButton(label, { class: "link-button" }, () => {
        accept();
        this.focus();
      });
      this.#message.append(" ", use);
    }
  }
}

/** By what names a template asks for a font. */
function describeFamilies(key: string, content: FileContent): string {
  const families = isFont(key) ? [...new Set(fontFaces(content.bytes()).map(({ family }) => family))] : [];
  return families.length === 0 ? "" : `Font family: ${families.slice(0, MAX_FAMILIES).join(", ")}`;
}

/** The editors: CodeMirror in a shadow root, where it adopts style sheets: the page's policy forbids `<style>`. */
import type { CompletionSource } from "@codemirror/autocomplete";
import { type Diagnostic, setDiagnostics } from "@codemirror/lint";
import { EditorState, type Extension } from "@codemirror/state";
import { EditorView } from "@codemirror/view";
import { make } from "../page/elements.ts";
import type { TextRange } from "./data-range.ts";
import { editingExtensions } from "./editing-extensions.ts";

export interface EditorMark {
  readonly message: string;
  readonly range: TextRange | null;
  readonly isWarning: boolean;
}

export interface CodeEditorOptions {
  readonly label: string;
  readonly language: Extension;
  readonly completions?: readonly CompletionSource[];
  readonly onChange: (text: string) => void;
}

/** Between the line that is written and what would cover it. */
const LINE_MARGIN_PIXELS = 6;

/** On a phone the row of Render stays in view: the page scrolls until the line that is written is above it. */
const clearOfActions = EditorView.scrollHandler.of((view, { head }) => {
  requestAnimationFrame(() => {
    const line = view.coordsAtPos(head);
    const row = document.querySelector(".actions")?.getBoundingClientRect();
    if (!line || !row) return;
    const covered = line.bottom + LINE_MARGIN_PIXELS - row.top;
    if (covered > 0) window.scrollBy(0, covered);
  });
  return false;
});

export class CodeEditor {
  readonly #view: EditorView;
  readonly #extensions: Extension;
  /** A description must be in the same tree as the element that it describes. */
  readonly #description = make("p", { id: "description", hidden: "" });
  #hasError = false;
  #lineEnd: "\n" | "\r\n" = "\n";

  constructor(host: HTMLElement, { label, language, completions = [], onChange }: CodeEditorOptions) {
    this.#extensions = [
      editingExtensions(completions),
      language,
      clearOfActions,
      EditorView.contentAttributes.of(() => ({
        "aria-label": label,
        "aria-describedby": "description",
        "aria-invalid": String(this.#hasError),
        tabindex: "0",
        autocapitalize: "off",
        spellcheck: "false",
      })),
      EditorView.updateListener.of(({ docChanged }) => {
        if (docChanged) onChange(this.text);
      }),
    ];
    const root = host.attachShadow({ mode: "open", delegatesFocus: true });
    const frame = make("div", { class: "frame" });
    const sheet = new CSSStyleSheet();
    sheet.replaceSync(":host { display: block; } .frame { height: 100%; }");
    root.adoptedStyleSheets = [sheet];
    root.append(frame, this.#description);
    this.#view = new EditorView({ root, parent: frame, extensions: this.#extensions });
    // The search panel reads its fields only when a key is released: it would miss text pasted by mouse.
    root.addEventListener("input", ({ target }) => {
      if (target instanceof Element && target.closest(".cm-search") !== null) target.dispatchEvent(new Event("change"));
    });
  }

  get state(): EditorState {
    return this.#view.state;
  }

  get text(): string {
    const { doc } = this.#view.state;
    return doc.sliceString(0, doc.length, this.#lineEnd);
  }

  replace(text: string): void {
    this.#hasError = false;
    this.#description.textContent = "";
    // CodeMirror itself has only one kind of line end.
    this.#lineEnd = text.includes("\r\n") && !/(?<!\r)\n/.test(text) ? "\r\n" : "\n";
    // A new state, so that "undo" does not lead into the previous document.
    this.#view.setState(EditorState.create({ doc: text, extensions: this.#extensions }));
  }

  focus(): void {
    this.#view.focus();
  }

  goTo(offset: number): void {
    const anchor = Math.min(offset, this.#view.state.doc.length);
    this.#view.dispatch({ selection: { anchor }, effects: EditorView.scrollIntoView(anchor, { y: "center" }) });
    this.#view.focus();
  }

  /** Marks the text. The first message becomes the editor's description for screen readers. */
  mark(marks: readonly EditorMark[]): void {
    this.#description.textContent = marks[0]?.message ?? "";
    const { length } = this.#view.state.doc;
    const diagnostics = marks.flatMap(({ message, range, isWarning }): Diagnostic[] =>
      range === null ? [] : [{ ...clampRange(range, length), severity: isWarning ? "warning" : "error", message }],
    );
    this.#hasError = marks.some(({ isWarning }) => !isWarning);
    this.#view.dispatch(setDiagnostics(this.#view.state, diagnostics));
  }

  destroy(): void {
    this.#view.destroy();
  }
}

function clampRange({ from, to }: TextRange, length: number): TextRange {
  const start = Math.max(0, Math.min(from, length - 1));
  return { from: start, to: Math.max(Math.min(to, length), Math.min(start + 1, length)) };
}

/**
 * The editors: CodeMirror in a shadow root. Only there does it adopt style sheets instead of inserting `<style>`, which
 * the page's policy forbids.
 */
import {
  autocompletion,
  type CompletionSource,
  closeBrackets,
  closeBracketsKeymap,
  completionKeymap,
} from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
import { bracketMatching, indentOnInput, syntaxHighlighting } from "@codemirror/language";
import { type Diagnostic, setDiagnostics } from "@codemirror/lint";
import { gotoLine, highlightSelectionMatches, search, searchKeymap } from "@codemirror/search";
import { Compartment, EditorState, type Extension } from "@codemirror/state";
import {
  drawSelection,
  EditorView,
  highlightActiveLine,
  highlightActiveLineGutter,
  highlightSpecialChars,
  keymap,
  lineNumbers,
} from "@codemirror/view";
import { make } from "../page/elements.ts";
import { editorHighlighting, editorTheme } from "./editor-theme.ts";

export interface CodeEditor {
  readonly state: EditorState;
  text(): string;
  /** Shows another text. `onChange` is not called. */
  replace(text: string): void;
  focus(): void;
  /** Moves the cursor and the focus to an offset. */
  goTo(offset: number): void;
  /** Shows a message as the editor's description, and marks a range of the text if one is given. */
  mark(message: string | null, range: { readonly from: number; readonly to: number } | null): void;
  /** Changes the editor's name for screen readers, and its language. */
  describe(label: string, language: Extension): void;
  destroy(): void;
}

export interface CodeEditorOptions {
  /** The editor's name for screen readers. */
  readonly label: string;
  readonly language: Extension;
  readonly completions?: readonly CompletionSource[];
  /** Called with the text after every change by the user. */
  readonly onChange: (text: string) => void;
}

/** Puts an editor into `host`. */
export function createCodeEditor(host: HTMLElement, options: CodeEditorOptions): CodeEditor {
  const root = host.attachShadow({ mode: "open", delegatesFocus: true });
  // A description must be in the same tree as the element that it describes.
  const description = make("p", { id: "description", hidden: "" });
  const frame = make("div", { class: "frame" });
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(":host { display: block; } .frame { height: 100%; }");
  root.adoptedStyleSheets = [sheet];
  root.append(frame, description);
  let { label } = options;
  let hasError = false;
  let lineEnd: "\n" | "\r\n" = "\n";
  const attributes = new Compartment();
  const language = new Compartment();
  let currentLanguage = options.language;
  const contentAttributes = () =>
    EditorView.contentAttributes.of({
      "aria-label": label,
      "aria-describedby": "description",
      "aria-invalid": String(hasError),
      tabindex: "0",
      autocapitalize: "off",
      spellcheck: "false",
    });
  const textOf = ({ doc }: EditorState) => doc.sliceString(0, doc.length, lineEnd);
  let hasDialog = false;
  /**
   * Returns the focus when a dialog closes, before the next key. CodeMirror's own code for that does not support shadow
   * roots.
   */
  const focusAfterDialog = (view: EditorView) => {
    const hadDialog = hasDialog;
    hasDialog = view.dom.querySelector(".cm-dialog") !== null;
    if (hadDialog && !hasDialog && root.activeElement === null && document.activeElement === document.body)
      view.focus();
  };
  const extensions = () => [
    lineNumbers(),
    highlightSpecialChars(),
    history(),
    drawSelection(),
    indentOnInput(),
    bracketMatching(),
    closeBrackets(),
    highlightActiveLine(),
    highlightActiveLineGutter(),
    highlightSelectionMatches(),
    search({ top: true }),
    autocompletion({ override: [...(options.completions ?? [])], icons: false }),
    EditorView.lineWrapping,
    keymap.of([
      // As in other editors. F3 still finds the next match.
      { key: "Ctrl-g", run: gotoLine, preventDefault: true },
      ...closeBracketsKeymap,
      ...completionKeymap,
      ...searchKeymap,
      // Without Tab, which leaves the editor, and without Mod-Enter, which renders.
      ...defaultKeymap.filter(({ key }) => key !== "Mod-Enter"),
      ...historyKeymap,
    ]),
    typingOverSelection,
    language.of(currentLanguage),
    editorTheme,
    syntaxHighlighting(editorHighlighting),
    attributes.of(contentAttributes()),
    EditorView.updateListener.of((update) => {
      if (update.docChanged) options.onChange(textOf(update.state));
      focusAfterDialog(update.view);
    }),
  ];
  const view = new EditorView({ root, parent: frame, state: EditorState.create({ extensions: extensions() }) });
  // The search panel reads its fields only when a key is released, so it misses text pasted by mouse or from an input
  // method.
  root.addEventListener("input", ({ target }) => {
    if (target instanceof Element && target.closest(".cm-search") !== null) target.dispatchEvent(new Event("change"));
  });
  return {
    get state() {
      return view.state;
    },
    text: () => textOf(view.state),
    replace: (text) => {
      hasError = false;
      description.textContent = "";
      // CodeMirror itself has only one kind of line end.
      lineEnd = text.includes("\r\n") && !/(?<!\r)\n/.test(text) ? "\r\n" : "\n";
      // A new state, so that "undo" does not lead into the previous document.
      view.setState(EditorState.create({ doc: text, extensions: extensions() }));
    },
    focus: () => view.focus(),
    goTo: (offset) => {
      const anchor = Math.min(offset, view.state.doc.length);
      view.dispatch({ selection: { anchor }, effects: EditorView.scrollIntoView(anchor, { y: "center" }) });
      view.focus();
    },
    mark: (message, range) => {
      description.textContent = message;
      const diagnostics: Diagnostic[] =
        message === null || range === null
          ? []
          : [{ ...clamped(range, view.state.doc.length), severity: "error", message }];
      const isSame = hasError === (message !== null);
      hasError = message !== null;
      view.dispatch(
        setDiagnostics(view.state, diagnostics),
        isSame ? {} : { effects: attributes.reconfigure(contentAttributes()) },
      );
    },
    describe: (newLabel, newLanguage) => {
      label = newLabel;
      currentLanguage = newLanguage;
      view.dispatch({
        effects: [attributes.reconfigure(contentAttributes()), language.reconfigure(newLanguage)],
      });
    },
    destroy: () => view.destroy(),
  };
}

/**
 * Replaces a selection by what is typed over it. Chromium would give the new text the style of the old one, in an
 * attribute that the page's policy blocks and reports.
 */
const typingOverSelection = EditorView.domEventHandlers({
  beforeinput: (event, view) => {
    const { data: text, inputType } = event;
    if (inputType !== "insertText" || text === null || text === "" || view.state.selection.main.empty) return false;
    const { from, to } = view.state.selection.main;
    const insert = () => view.state.update(view.state.replaceSelection(text), { userEvent: "input.type" });
    event.preventDefault();
    // As CodeMirror does with input that it reads from the page: brackets, for example, are put around the selection.
    const isHandled = view.state.facet(EditorView.inputHandler).some((handle) => handle(view, from, to, text, insert));
    if (!isHandled) view.dispatch(insert());
    return true;
  },
  // The events of an input method cannot be prevented, so the selection is removed before it begins.
  compositionstart: (_event, view) => {
    if (!view.state.selection.main.empty)
      view.dispatch(view.state.replaceSelection(""), { userEvent: "delete.selection" });
    return false;
  },
});

/** The range, limited to the text; it is empty only if the text is. */
function clamped({ from, to }: { readonly from: number; readonly to: number }, length: number) {
  const start = Math.max(0, Math.min(from, length - 1));
  return { from: start, to: Math.max(Math.min(to, length), Math.min(start + 1, length)) };
}

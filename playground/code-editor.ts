/**
 * The editors for the template and the data: CodeMirror within a shadow root, because only there it adopts its style sheets
 * instead of inserting `<style>`, which the page's policy forbids. Colours come from the page by custom properties.
 */
import { closeBrackets, closeBracketsKeymap } from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
import { bracketMatching, HighlightStyle, indentOnInput, syntaxHighlighting } from "@codemirror/language";
import { type Diagnostic, setDiagnostics } from "@codemirror/lint";
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
import { tags } from "@lezer/highlight";
import { make } from "./elements.ts";

export interface CodeEditor {
  readonly state: EditorState;
  text(): string;
  replace(text: string): void;
  focus(): void;
  /** Shows a message as the editor's description, and marks a range of the text if one is given. */
  mark(message: string | null, range: { readonly from: number; readonly to: number } | null): void;
}

const theme = EditorView.theme({
  "&": { height: "100%", color: "var(--text)", backgroundColor: "var(--surface)", fontSize: "0.8125rem" },
  "&.cm-focused": { outline: "none" },
  ".cm-scroller": { fontFamily: "var(--monospace)", lineHeight: "1.6" },
  ".cm-content": { caretColor: "var(--accent)", padding: "0.6rem 0" },
  ".cm-cursor": { borderLeftColor: "var(--accent)", borderLeftWidth: "2px" },
  ".cm-gutters": { color: "var(--faint)", backgroundColor: "var(--surface)", border: "none" },
  ".cm-lineNumbers .cm-gutterElement": { padding: "0 0.75rem 0 0.85rem" },
  ".cm-activeLine": { backgroundColor: "var(--line)" },
  ".cm-activeLineGutter": { color: "var(--muted)", backgroundColor: "var(--line)" },
  "&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground": {
    backgroundColor: "var(--selection)",
  },
  "&.cm-focused .cm-matchingBracket": {
    backgroundColor: "var(--selection)",
    outline: "1px solid var(--border-strong)",
  },
  ".cm-lintRange-error": {
    backgroundImage: "none",
    textDecoration: "underline wavy var(--danger) 1.5px",
    textUnderlineOffset: "3px",
  },
  ".cm-tooltip": { color: "var(--text)", backgroundColor: "var(--raised)", border: "1px solid var(--border-strong)" },
});

const highlighting = HighlightStyle.define([
  { tag: tags.comment, color: "var(--faint)", fontStyle: "italic" },
  { tag: tags.heading, color: "var(--code-heading)", fontWeight: "700" },
  { tag: tags.strong, fontWeight: "700" },
  { tag: tags.emphasis, fontStyle: "italic" },
  { tag: [tags.keyword, tags.controlKeyword], color: "var(--code-keyword)" },
  { tag: tags.function(tags.variableName), color: "var(--code-function)" },
  { tag: tags.propertyName, color: "var(--code-property)" },
  { tag: [tags.string, tags.monospace], color: "var(--code-string)" },
  { tag: [tags.number, tags.literal, tags.bool, tags.null], color: "var(--code-number)" },
  { tag: [tags.labelName, tags.link], color: "var(--code-label)" },
  { tag: [tags.list, tags.escape], color: "var(--code-keyword)" },
  { tag: [tags.operator, tags.punctuation, tags.bracket], color: "var(--muted)" },
]);

/**
 * Puts an editor into `host`.
 *
 * @param label its name for screen readers
 * @param onChange called after every change of its text
 */
export function createCodeEditor(
  host: HTMLElement,
  label: string,
  language: Extension,
  onChange: () => void,
): CodeEditor {
  const root = host.attachShadow({ mode: "open", delegatesFocus: true });
  // A description must be in the same tree as what it describes.
  const description = make("p", { id: "description", hidden: "" });
  const frame = make("div");
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(":host { display: block; } div:first-child { height: 100%; }");
  root.adoptedStyleSheets = [sheet];
  root.append(frame, description);
  const attributes = new Compartment();
  const attributesFor = (hasError: boolean) =>
    EditorView.contentAttributes.of({
      "aria-label": label,
      "aria-describedby": "description",
      "aria-invalid": String(hasError),
      tabindex: "0",
      autocapitalize: "off",
      spellcheck: "false",
    });
  const extensions = [
    lineNumbers(),
    highlightSpecialChars(),
    history(),
    drawSelection(),
    indentOnInput(),
    bracketMatching(),
    closeBrackets(),
    highlightActiveLine(),
    highlightActiveLineGutter(),
    EditorView.lineWrapping,
    // Not Tab, by which keyboards leave the editor; not Mod-Enter either, which renders.
    keymap.of([...closeBracketsKeymap, ...defaultKeymap.filter(({ key }) => key !== "Mod-Enter"), ...historyKeymap]),
    language,
    theme,
    syntaxHighlighting(highlighting),
    attributes.of(attributesFor(false)),
    EditorView.updateListener.of((update) => {
      if (update.docChanged) onChange();
    }),
  ];
  const view = new EditorView({ root, parent: frame, state: EditorState.create({ extensions }) });
  return {
    get state() {
      return view.state;
    },
    text: () => view.state.doc.toString(),
    replace: (text) => {
      // A new state, so that "undo" does not lead into the previous document.
      view.setState(EditorState.create({ doc: text, extensions }));
      onChange();
    },
    focus: () => view.focus(),
    mark: (message, range) => {
      description.textContent = message;
      const diagnostics: Diagnostic[] =
        message === null || range === null
          ? []
          : [{ ...clamped(range, view.state.doc.length), severity: "error", message }];
      view.dispatch(setDiagnostics(view.state, diagnostics), {
        effects: attributes.reconfigure(attributesFor(message !== null)),
      });
    },
  };
}

/** The range within the text, not empty unless the text is. */
function clamped({ from, to }: { readonly from: number; readonly to: number }, length: number) {
  const start = Math.max(0, Math.min(from, length - 1));
  return { from: start, to: Math.max(Math.min(to, length), Math.min(start + 1, length)) };
}

/** How all editors behave: keys, brackets, search, completion, and what CodeMirror does not do by itself here. */
import {
  autocompletion,
  type CompletionSource,
  closeBrackets,
  closeBracketsKeymap,
  completionKeymap,
} from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
import { bracketMatching, indentOnInput, syntaxHighlighting } from "@codemirror/language";
import { gotoLine, highlightSelectionMatches, search, searchKeymap } from "@codemirror/search";
import type { Extension } from "@codemirror/state";
import {
  drawSelection,
  EditorView,
  highlightActiveLine,
  highlightActiveLineGutter,
  highlightSpecialChars,
  keymap,
  lineNumbers,
} from "@codemirror/view";
import { editorHighlighting, editorTheme } from "./editor-theme.ts";

export function editingExtensions(completions: readonly CompletionSource[]): Extension {
  return [
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
    autocompletion({ override: [...completions], icons: false }),
    EditorView.lineWrapping,
    keymap.of([
      { key: "Ctrl-g", run: gotoLine, preventDefault: true },
      ...closeBracketsKeymap,
      ...completionKeymap,
      ...searchKeymap,
      // Without Tab, which leaves the editor, and without Mod-Enter, which renders.
      ...defaultKeymap.filter(({ key }) => key !== "Mod-Enter"),
      ...historyKeymap,
    ]),
    typingOverSelection,
    focusAfterDialog(),
    editorTheme,
    syntaxHighlighting(editorHighlighting),
  ];
}

/** Replaces a selection by what is typed: Chromium would add a `style` attribute, which the page's policy blocks. */
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

/** Returns the focus when a dialog closes: CodeMirror's own code for that does not support shadow roots. */
function focusAfterDialog(): Extension {
  let hasDialog = false;
  return EditorView.updateListener.of(({ view }) => {
    const hadDialog = hasDialog;
    hasDialog = view.dom.querySelector(".cm-dialog") !== null;
    const root = view.dom.getRootNode();
    const hasFocus = root instanceof ShadowRoot && root.activeElement !== null;
    if (hadDialog && !hasDialog && !hasFocus && document.activeElement === document.body) view.focus();
  });
}

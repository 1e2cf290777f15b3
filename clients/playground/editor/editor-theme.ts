/** How the editors look. Their colours are custom properties of the page. */
import { HighlightStyle } from "@codemirror/language";
import { EditorView } from "@codemirror/view";
import { tags } from "@lezer/highlight";

export const editorTheme = EditorView.theme({
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
  ".cm-lintRange": { textUnderlineOffset: "3px" },
  ".cm-lintRange-error": { background: "none", textDecoration: "underline wavy var(--danger) 1.5px" },
  ".cm-lintRange-warning": { background: "none", textDecoration: "underline wavy var(--warning) 1.5px" },
  ".cm-panels": { color: "var(--text)", backgroundColor: "var(--raised)", fontSize: "0.8125rem" },
  ".cm-panels.cm-panels-top": { borderBottom: "1px solid var(--border)" },
  ".cm-panel.cm-search": { padding: "0.4rem 2rem 0.5rem 0.75rem" },
  ".cm-panel.cm-search label": { fontSize: "0.8125rem", whiteSpace: "nowrap" },
  ".cm-textfield, .cm-button": {
    color: "var(--text)",
    background: "var(--surface)",
    border: "1px solid var(--border-strong)",
    borderRadius: "6px",
    fontSize: "0.8125rem",
  },
  ".cm-panel button[name=close], .cm-dialog-close": { color: "var(--text)" },
  ".cm-searchMatch": { backgroundColor: "var(--selection)", outline: "1px solid var(--border-strong)" },
  ".cm-searchMatch-selected": { backgroundColor: "var(--accent-soft)", outline: "2px solid var(--accent)" },
  ".cm-selectionMatch": { backgroundColor: "var(--accent-soft)" },
  ".cm-tooltip.cm-tooltip-autocomplete > ul": { fontFamily: "var(--monospace)" },
  ".cm-tooltip-autocomplete ul li[aria-selected]": { color: "var(--on-accent)", backgroundColor: "var(--accent)" },
  // Where people choose the colours of all pages, only their own colours show what is chosen.
  "@media (forced-colors: active)": {
    ".cm-tooltip-autocomplete ul li[aria-selected]": {
      color: "HighlightText",
      backgroundColor: "Highlight",
      forcedColorAdjust: "none",
    },
  },
  ".cm-completionDetail": { color: "inherit", fontStyle: "normal", opacity: "0.85" },
  ".cm-tooltip": { color: "var(--text)", backgroundColor: "var(--raised)", border: "1px solid var(--border-strong)" },
});

export const editorHighlighting = HighlightStyle.define([
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

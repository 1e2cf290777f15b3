/** Typst in an editor, coloured by its own parser, which runs in a worker: the page's policy forbids WebAssembly. */
import { EditorState, type Extension } from "@codemirror/state";
import { Decoration, type DecorationSet, type EditorView, ViewPlugin, type ViewUpdate } from "@codemirror/view";
import { tags } from "@lezer/highlight";
import { TimedWorker } from "../page/timed-worker.ts";
import { editorHighlighting } from "./editor-theme.ts";
import type { Colour, ColouredRange } from "./typst-colours.ts";

const MAX_READ_MILLISECONDS = 10_000;
/** In UTF-16 code units. Each edit has the whole text read, and all its colours sent. */
const MAX_COLOURED_LENGTH = 200_000;

const worker = new TimedWorker<string, readonly ColouredRange[]>(
  "playground/template-worker.js",
  MAX_READ_MILLISECONDS,
);
/** The texts of all editors wait in line: the worker answers only its last question. */
let line: Promise<unknown> = new Promise(() => {});

/** Begins to colour. @param after what is loaded before the worker and its parser */
export function beginColouring(after: Promise<unknown>): void {
  line = after;
}

class Colouring {
  decorations: DecorationSet = Decoration.none;

  constructor(view: EditorView) {
    void this.#colour(view);
  }

  update({ changes, docChanged, view }: ViewUpdate): void {
    // Until the worker has answered, what was there keeps its colour.
    this.decorations = this.decorations.map(changes);
    if (docChanged) void this.#colour(view);
  }

  async #colour(view: EditorView): Promise<void> {
    const { doc } = view.state;
    if (doc.length > MAX_COLOURED_LENGTH) {
      this.decorations = Decoration.none;
      return;
    }
    const asked = line.then(() => (view.state.doc === doc ? worker.ask(doc.toString()) : null));
    line = asked;
    const answer = await asked;
    if (answer === null || typeof answer === "string" || view.state.doc !== doc) return;
    const marks = answer.map(([from, to, colour]) => Decoration.mark({ class: classOf(colour) }).range(from, to));
    this.decorations = Decoration.set(marks, true);
    view.dispatch({});
  }
}

function classOf(colour: Colour): string {
  return editorHighlighting.style([colour === "function" ? tags.function(tags.variableName) : tags[colour]]) ?? "";
}

export const typstLanguage: Extension = [
  EditorState.languageData.of(() => [{ commentTokens: { line: "//", block: { open: "/*", close: "*/" } } }]),
  ViewPlugin.fromClass(Colouring, { decorations: ({ decorations }) => decorations }),
];

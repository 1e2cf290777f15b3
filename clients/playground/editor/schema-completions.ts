/** Offers the names and values that the schema of a draft allows at the cursor of the data editor. */
import {
  type Completion,
  type CompletionSource,
  insertCompletionText,
  pickedCompletion,
} from "@codemirror/autocomplete";
import type { EditorView } from "@codemirror/view";
import { suggestMembers, suggestValues } from "../../data-schema/suggestions.ts";
import { parseJson } from "../../typescript/transport.ts";
import { placeInJson } from "./json-place.ts";

const WORD = /^"?[^"\\\s:,[\]{}]*"?$/;

export function schemaCompletions(schema: () => string | null): CompletionSource {
  return ({ state, pos, explicit }) => {
    const value = parseJson(schema() ?? "");
    if (value === undefined) return null;
    const place = placeInJson(state.doc.toString(), pos);
    if (place === null || (!explicit && place.from === pos)) return null;
    const hasColon = /^"?\s*:/.test(state.sliceDoc(pos, Math.min(pos + 100, state.doc.length)));
    const options = place.isName
      ? suggestMembers(value, place.path)
          .filter(({ name }) => !place.names.has(name))
          .map(({ name, description, isRequired }): Completion => {
            const label = JSON.stringify(name);
            return {
              label,
              apply: insertAs(hasColon ? label : `${label}: `),
              ...(isRequired && { detail: "required" }),
              ...(description !== null && { info: description }),
            };
          })
      : suggestValues(value, place.path).map((label): Completion => ({ label, apply: insertAs(label) }));
    return options.length === 0 ? null : { from: place.from, options, validFor: WORD };
  };
}

/** Inserts a text, and replaces the closing quotation mark that the editor has already added. */
function insertAs(text: string) {
  return (view: EditorView, completion: Completion, from: number, to: number): void => {
    const end = view.state.sliceDoc(to, to + 1) === '"' ? to + 1 : to;
    view.dispatch({
      ...insertCompletionText(view.state, text, from, end),
      annotations: pickedCompletion.of(completion),
    });
  };
}

/** The folder as which the playground saves a draft, and which the command line renders: its names and options. */
import { OUTPUT_FIELDS, type OutputField } from "../../rules/output-options.ts";
import { parseJson } from "../typescript/transport.ts";

export const SOURCE_PATH = "main.typ";
export const DATA_PATH = "data.json";
/** The `output` of the draft's request, as JSON. A hidden file is not sent. */
export const OPTIONS_PATH = ".playground.json";

/** Values of any kind: what somebody types into the form is saved, whether the rules accept it or not. */
export type SavedOptions = Readonly<Partial<Record<OutputField, unknown>>>;

/** The options in the text of the file, without members that this version does not know; null for another form. */
export function readSavedOptions(text: string): SavedOptions | null {
  const value = parseJson(text);
  if (typeof value !== "object" || value === null || Array.isArray(value)) return null;
  const members: { readonly [name: string]: unknown } = { ...value };
  return Object.fromEntries(OUTPUT_FIELDS.filter((name) => name in members).map((name) => [name, members[name]]));
}

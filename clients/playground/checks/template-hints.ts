/** Says of a template what renders without an error and is not what its author expects. */

import { knownData } from "../../template/data-mistakes.ts";
import { usesData } from "../../template/data-use.ts";
import { findLostContent } from "../../template/lost-content.ts";
import { lineAt, parseTemplate, type Template } from "../../template/syntax-tree.ts";
import {
  findDataFile,
  findInputsUse,
  findOldTypeNames,
  MAX_NOTED_LENGTH,
  readsDataFile,
  type TemplateFinding,
} from "../../template/template-findings.ts";
import type { DraftFinding } from "./findings.ts";

/** The texts of a draft that Typst reads, and its data. */
export interface DraftTexts {
  readonly source: string;
  /** JSON; may be empty. */
  readonly data: string;
  readonly files: readonly { readonly key: string; readonly text: string }[];
}

const NO_INPUTS = "reads sys.inputs, which is empty here. Use data, or begin with #let sys = (inputs: data).";

export function templateHints(texts: DraftTexts): readonly DraftFinding[] {
  const { source, data, files } = texts;
  return [
    ...ownData(texts),
    ...hintsIn(source, data).map((finding) => ({ ...finding, place: { field: "source", ...finding.place } }) as const),
    ...files.flatMap(({ key, text }) => {
      return hintsIn(text, null).map(
        (finding) => ({ ...finding, place: { field: "files", keys: [key], ...finding.place } }) as const,
      );
    }),
  ];
}

type Hint = Omit<DraftFinding, "place"> & { readonly place: { readonly offset: number; readonly length: number } };

/** @param data null for a file, which does not see it */
function hintsIn(text: string, data: string | null): Hint[] {
  if (text.length > MAX_NOTED_LENGTH) return [];
  const template = parseTemplate(text);
  const inputs = findInputsUse(template);
  return [
    ...(inputs === null ? [] : [hint(template, inputs, NO_INPUTS)]),
    ...findOldTypeNames(template).map((finding) => hint(template, finding, `${finding.message}.`)),
    ...findLostContent(template, data !== null, knownData(data ?? "")).map((finding) =>
      hint(template, finding, finding.message),
    ),
  ];
}

function hint({ text }: Template, { offset, length }: TemplateFinding, message: string): Hint {
  return { place: { offset, length }, message: `Line ${lineAt(text, offset)}: ${message}`, isWarning: true };
}

/** A template that came with its own data file, whose data here would be in vain. */
function ownData({ source, data, files }: DraftTexts): DraftFinding[] {
  if (source.length > MAX_NOTED_LENGTH || /^\s*(?:\{\s*\})?\s*$/.test(data)) return [];
  const template = parseTemplate(source);
  const file = findDataFile(template);
  if (file === null || usesData(template)) return [];
  if (files.some(({ text }) => readsDataFile(parseTemplate(text)))) return [];
  const found = hint(template, file, `${file.message}, and the template never uses the data of the request, data.`);
  return [{ ...found, place: { field: "source", ...found.place } }];
}

/** Says of a template what renders without an error and is not what its author expects. Each text is looked at once. */
import { usesData } from "../../typescript/template-text/data-use.ts";
import {
  findDataFile,
  findInputsUse,
  findOldTypeNames,
  lineAt,
  readsDataFile,
  type TemplateFinding,
} from "../../typescript/template-text/template-findings.ts";
import type { Draft, FileContent } from "../drafts/draft.ts";
import type { DraftFinding } from "./findings.ts";
import { findForeignMarkup } from "./foreign-markup.ts";
import { findIdleCode } from "./idle-code.ts";
import type { FindingSource } from "./request-check.ts";

/** Longer texts are made by programs, and would keep the page busy while somebody types. */
const MAX_LENGTH = 200_000;
const MAX_MARKED = 40;

const NO_INPUTS = "reads sys.inputs, which is empty here. Use data, or begin with #let sys = (inputs: data).";

export const templateHints: FindingSource = (draft) => {
  const files = draft.files.filter(({ key, content }) => key.endsWith(".typ") && typeof content.value === "string");
  return [
    ...ownData(draft),
    ...hintsIn(draft.source, draft.data).map(
      (finding) => ({ ...finding, place: { field: "source", ...finding.place } }) as const,
    ),
    ...files.flatMap(({ key, content }) => {
      return hintsInFile(content).map(
        (finding) => ({ ...finding, place: { field: "files", keys: [key], ...finding.place } }) as const,
      );
    }),
  ];
};

type Hint = Omit<DraftFinding, "place"> & { readonly place: { readonly offset: number; readonly length: number } };

const hintsOfFiles = new WeakMap<FileContent, readonly Hint[]>();

function hintsInFile(content: FileContent): readonly Hint[] {
  const known = hintsOfFiles.get(content) ?? hintsIn(String(content.value));
  hintsOfFiles.set(content, known);
  return known;
}

function hintsIn(text: string, data = ""): Hint[] {
  if (text.length > MAX_LENGTH) return [];
  const inputs = findInputsUse(text);
  const inOrder = [...findForeignMarkup(text, data), ...findIdleCode(text)].sort((a, b) => a.offset - b.offset);
  return [
    ...(inputs === null ? [] : [hint(text, inputs, NO_INPUTS)]),
    ...findOldTypeNames(text).map((finding) => hint(text, finding, `${finding.message}.`)),
    ...inOrder.map((finding) => {
      const [marked = ""] = text.slice(finding.offset, finding.offset + finding.length).split("\n", 1);
      return hint(text, finding, `“${marked.slice(0, MAX_MARKED)}” ${finding.message}`);
    }),
  ];
}

function hint(text: string, { offset, length }: TemplateFinding, message: string): Hint {
  return { place: { offset, length }, message: `Line ${lineAt(text, offset)}: ${message}`, isWarning: true };
}

/** A template that came with its own data file, whose data here would be in vain. */
function ownData({ source, data, files }: Draft): DraftFinding[] {
  if (source.length > MAX_LENGTH || /^\s*(?:\{\s*\})?\s*$/.test(data)) return [];
  const file = findDataFile(source);
  if (file === null || usesData(source)) return [];
  if (files.some(({ key, content }) => key.endsWith(".typ") && readsDataFile(String(content.value)))) return [];
  const found = hint(source, file, `${file.message}, and the template never uses the data of the request, data.`);
  return [{ ...found, place: { field: "source", ...found.place } }];
}

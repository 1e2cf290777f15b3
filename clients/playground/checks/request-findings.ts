/** Shows findings at the fields that they concern, and their number at each tab; leads to the field of one. */
import type { OutputField } from "../../../rules/output-options.ts";
import { countInWords } from "../../document/size-in-words.ts";
import type { CodeEditor, EditorMark } from "../editor/code-editor.ts";
import { rangeOfPath, type TextRange } from "../editor/data-range.ts";
import type { FileMark } from "../files/file-row.ts";
import type { FileTabs } from "../files/file-tabs.ts";
import type { FilesPanel } from "../files/files-panel.ts";
import type { OutputPanel } from "../output/output-panel.ts";
import { byId, make, makeButton } from "../page/elements.ts";
import type { Tabs } from "../page/tabs.ts";
import type { DraftFinding, TextPlace } from "./findings.ts";

export interface RequestFields {
  readonly tabs: Tabs;
  readonly source: CodeEditor;
  readonly data: CodeEditor;
  readonly files: FilesPanel;
  readonly fileTabs: FileTabs;
  readonly output: OutputPanel;
}

const TABS = ["source", "data", "files"] as const;
const MAX_MESSAGES = 3;

export function markFindings(fields: RequestFields, findings: readonly DraftFinding[]): void {
  const sorted = findings.toSorted((left, right) => Number(left.isWarning ?? false) - Number(right.isWarning ?? false));
  for (const name of TABS) showCount(name, sorted.filter(({ place }) => place.field === name).length);
  for (const name of ["source", "data"] as const) {
    const own = sorted.filter(({ place }) => place.field === name);
    const marks = own.map((finding) => ({ ...markOf(finding), range: rangeInEditor(fields, finding) }));
    fields[name].mark(marks);
    showMessages(byId(`${name}-message`, HTMLElement), own, (finding) => goToFinding(fields, finding));
  }
  markFiles(fields, sorted);
  const outputMessages = new Map<OutputField, string>();
  for (const { place, message } of sorted) {
    if (place.field !== "source" && place.field !== "data" && place.field !== "files") {
      outputMessages.set(place.field, message);
    }
  }
  fields.output.mark(outputMessages);
}

function markFiles({ files, fileTabs }: RequestFields, findings: readonly DraftFinding[]): void {
  const rows = new Map<string | null, FileMark>();
  const editors = new Map<string, EditorMark[]>();
  for (const finding of findings) {
    const { place } = finding;
    if (place.field !== "files") continue;
    const mark = markOf(finding);
    for (const key of place.keys.length === 0 ? [null] : place.keys) {
      if (!rows.has(key)) rows.set(key, mark);
      const range = rangeOf(place);
      if (key !== null && range !== null) editors.set(key, [...(editors.get(key) ?? []), { ...mark, range }]);
    }
  }
  files.mark(rows);
  fileTabs.mark(editors);
}

export function goToFinding(fields: RequestFields, finding: DraftFinding): void {
  const { place } = finding;
  switch (place.field) {
    case "source":
    case "data": {
      fields.tabs.show(`${place.field}-panel`);
      const range = rangeInEditor(fields, finding);
      if (range === null) fields[place.field].focus();
      else fields[place.field].goTo(range.from);
      break;
    }
    case "files": {
      const [key] = place.keys;
      const isShown = key !== undefined && place.offset !== undefined && fields.fileTabs.goTo(key, place.offset);
      if (isShown) break;
      fields.tabs.show("files-panel");
      fields.files.focus();
      break;
    }
    default:
      fields.output.focus(place.field);
  }
}

function markOf({ message, isWarning = false }: DraftFinding): FileMark {
  return { message, isWarning };
}

function rangeOf({ offset, length = 1 }: TextPlace): TextRange | null {
  return offset === undefined ? null : { from: offset, to: offset + length };
}

function rangeInEditor({ data }: RequestFields, { place }: DraftFinding): TextRange | null {
  if (place.field !== "source" && place.field !== "data") return null;
  const range = rangeOf(place);
  if (range !== null || place.field === "source" || place.path === undefined) return range;
  return rangeOfPath(data.state, place.path);
}

function showMessages(
  host: HTMLElement,
  findings: readonly DraftFinding[],
  onGo: (finding: DraftFinding) => void,
): void {
  const lines = findings.slice(0, MAX_MESSAGES);
  const more = findings.length - lines.length;
  const text = lines.map(({ message }) => message).join("\n") + more;
  // New elements would take the focus away from somebody who is on a message.
  if (host.dataset.text === text) return;
  host.dataset.text = text;
  host.replaceChildren(
    ...lines.map((finding) => {
      const isPlaced = "offset" in finding.place || "path" in finding.place;
      const content = isPlaced
        ? makeButton(finding.message, { class: "link-button" }, () => onGo(finding))
        : finding.message;
      return make("p", finding.isWarning ? { class: "is-warning" } : {}, content);
    }),
    ...(more > 0 ? [make("p", {}, `And ${more} more.`)] : []),
  );
}

function showCount(name: (typeof TABS)[number], count: number): void {
  const badge = byId(`${name}-badge`, HTMLElement);
  badge.hidden = count === 0;
  badge.textContent = count === 0 ? "" : `${count}`;
  badge.setAttribute("aria-label", countInWords(count, "problem"));
}

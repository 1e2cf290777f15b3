/** Shows findings at the fields that they concern, and their number at each tab. */
import type { OutputField } from "../../../rules/output-options.ts";
import type { CodeEditor } from "../editor/code-editor.ts";
import { rangeOfPath } from "../editor/data-range.ts";
import type { FilesPanel } from "../files/files-panel.ts";
import type { OutputPanel } from "../output/output-panel.ts";
import { byId } from "../page/elements.ts";
import type { Finding } from "./findings.ts";

export interface RequestFields {
  readonly source: CodeEditor;
  readonly data: CodeEditor;
  readonly files: FilesPanel;
  readonly output: OutputPanel;
}

export function markFindings({ source, data, files, output }: RequestFields, findings: readonly Finding[]): void {
  const fileMessages = new Map<string | null, string>();
  const outputMessages = new Map<OutputField, string>();
  const first: Partial<Record<"source" | "data", Finding>> = {};
  const counts = { source: 0, data: 0, files: 0 };
  for (const finding of findings) {
    const { place, message } = finding;
    switch (place.field) {
      case "source":
      case "data":
        counts[place.field]++;
        first[place.field] ??= finding;
        break;
      case "files":
        counts.files++;
        for (const key of place.keys.length === 0 ? [null] : place.keys) fileMessages.set(key, message);
        break;
      default:
        outputMessages.set(place.field, message);
    }
  }
  files.mark(fileMessages);
  output.mark(outputMessages);
  source.mark(first.source?.message ?? null, null);
  data.mark(first.data?.message ?? null, first.data === undefined ? null : dataRange(data, first.data));
  setText("source-message", first.source?.message ?? "");
  setText("data-message", first.data?.message ?? "");
  for (const name of ["source", "data", "files"] as const) {
    const badge = byId(`${name}-badge`, HTMLElement);
    badge.hidden = counts[name] === 0;
    badge.textContent = counts[name] === 0 ? "" : `${counts[name]}`;
    badge.setAttribute("aria-label", `${counts[name]} problem${counts[name] === 1 ? "" : "s"}`);
  }
}

/** The range of a finding in the text of the data; null if it concerns the whole text. */
export function dataRange(data: CodeEditor, { place }: Finding) {
  if (place.field !== "data") return null;
  const { offset, length = 1, path } = place;
  if (offset !== undefined) return { from: offset, to: offset + length };
  return path === undefined ? null : rangeOfPath(data.state, path);
}

function setText(id: string, text: string): void {
  const element = byId(id, HTMLElement);
  if (element.textContent !== text) element.textContent = text;
}

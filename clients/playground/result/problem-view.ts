/** A problem as people read it: what is wrong, the fields to change, and what to do. */
import { adviceFor } from "../../document/problem-advice.ts";
import type { DraftFinding } from "../checks/findings.ts";
import { connectCopyButton } from "../page/copy-button.ts";
import { byId, make, makeButton } from "../page/elements.ts";

/** Whether the card says how to find the mistake. */
export type CompileFailure = UnnamedMistake | "named";

export interface UnnamedMistake {
  /** The name of the folder on the reader's machine. Its saved options are those of the draft. */
  readonly folder: string;
  /** Sentences, the likeliest cause first. */
  readonly causes: readonly string[];
  /** Whether the page's compiler makes a document of it, so that the cause is in the standard or the output. */
  readonly compiles: boolean;
}

export interface ShownProblem {
  readonly code: string;
  readonly title: string;
  readonly detail: string;
  /** Null if it was found before sending. */
  readonly requestId: string | null;
  readonly findings: readonly DraftFinding[];
  readonly compileFailure: CompileFailure | null;
}

const TOKEN_ADVICE = "Set the API token of this deployment (“API token”, at the top) and render again.";
const UNKNOWN_ADVICE = "See the interface reference for this code.";

export function makeProblemView(problem: ShownProblem, onFinding: (finding: DraftFinding) => void): HTMLElement {
  const { code, title, detail, requestId, findings, compileFailure } = problem;
  // Of a template that does not compile, the service's own finding says no more than the card does.
  const telling = compileFailure === null ? findings : findings.filter(({ message }) => message !== detail);
  const fields = telling.map((finding) => {
    const button = makeButton(labelOf(finding), { class: "link-button" }, () => onFinding(finding));
    return make("li", {}, button, ` ${finding.message === detail ? "" : finding.message}`);
  });
  const facts = [`Code ${code}`, ...(requestId === null ? [] : [`request ${requestId}`])];
  return make(
    "div",
    { class: "card problem", "data-code": code },
    make("h3", {}, title),
    make("p", {}, detail),
    ...(fields.length === 0 ? [] : [make("ul", {}, ...fields)]),
    ...makeAdvice(code, compileFailure),
    make("p", { class: "facts" }, facts.join(" · ")),
  );
}

function makeAdvice(code: string, compileFailure: CompileFailure | null): HTMLElement[] {
  if (compileFailure === "named") return [];
  if (compileFailure !== null) return makeCompileAdvice(compileFailure);
  const advice = code === "forbidden" ? TOKEN_ADVICE : (adviceFor(code) ?? UNKNOWN_ADVICE);
  return [make("h4", { class: "label" }, "What to do"), make("p", {}, advice)];
}

function makeCompileAdvice({ folder, causes, compiles }: UnnamedMistake): HTMLElement[] {
  const command = `document-rendering check ${folder}`;
  const text = make("code", { tabindex: "0" }, command);
  const copy = makeButton("Copy the command", { class: "button small" }, () => {});
  connectCopyButton(
    copy,
    () => command,
    () => getSelection()?.selectAllChildren(text),
  );
  const save = makeButton("Save the draft", { class: "link-button" }, () => byId("archive-save", HTMLElement).click());
  const why = "The service never returns the compiler's messages; the command line of this project shows them. ";
  const checked =
    "The template itself compiles in this page, which cannot say the line: the options of the output ask for more.";
  return [
    ...(compiles ? [make("p", {}, checked)] : []),
    make("h4", { class: "label" }, compiles ? "Causes that remain" : "Usual causes, the likeliest first"),
    make("ul", {}, ...causes.map((cause) => make("li", {}, cause))),
    make("h4", { class: "label" }, "To see the line on your machine"),
    make("p", {}, why, save, ` as a ZIP, unpack it into a folder ${folder}, and run:`),
    make("p", { class: "command row" }, text, copy),
  ];
}

function labelOf({ place }: DraftFinding): string {
  switch (place.field) {
    case "source":
      return "Template";
    case "data":
      return place.path === undefined || place.path.length === 0 ? "Data" : `Data, ${place.path.join(".")}`;
    case "files":
      return place.keys.length === 0 ? "Files" : `Files, ${place.keys.join(", ")}`;
    default:
      return `Output, ${place.field}`;
  }
}

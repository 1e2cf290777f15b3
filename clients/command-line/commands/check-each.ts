/** `check --each`: compiles the template with each row of data, and shows Typst's diagnostics of those that fail. */
import { firstInWords } from "../../document/size-in-words.ts";
import { dataOf, type EachDocument, readEachProject } from "../each/documents.ts";
import { EqualDocuments } from "../each/equal-documents.ts";
import { CommandError, EXIT_CODES, type ExitCode } from "../exit-codes.ts";
import { fitFiles } from "../fit-files.ts";
import { findProjectFonts } from "../fonts/missing-fonts.ts";
import { type LocalRender, renderLocally } from "../local/compile.ts";
import { sayDiagnostics } from "../local/diagnostics.ts";
import { compareWithService, makeCapabilitiesReader } from "../local/missing-here.ts";
import { describeNotSent } from "../local/not-sent.ts";
import { localSettings } from "../local/operator-folders.ts";
import { outputOf } from "../output-options.ts";
import { progressBar, startProgress } from "../progress.ts";
import { requireValidDocuments } from "../project/data-schema.ts";
import { problemDetails } from "../project/problem-details.ts";
import type { Project } from "../project/project.ts";
import { problemInWords, problemOutcome, writeJson } from "../report.ts";
import { printableLine, say } from "../terminal.ts";
import type { CheckFlags } from "./flags.ts";

/** Rows that fail for the same reason are shown together. */
const MAX_SHOWN_REASONS = 20;
const MAX_SHOWN_PLACES = 10;
const MAX_NOTES = 20;

export async function checkEach(source: string, flags: CheckFlags, signal: AbortSignal): Promise<ExitCode> {
  const { each } = flags;
  if (each === undefined) throw new Error("--each is missing");
  if (flags.watch || flags.open) {
    throw new CommandError("--watch and --open show one document: use --data, not --each.");
  }
  const output = outputOf(flags);
  // No file is written, but a pattern for file names is validated.
  const read = await readEachProject({ ...flags, source, each, template: flags.output ?? "{#}" }, "check");
  const { documents, reading } = read;
  const project = await fitFiles(read.project, flags, null);
  await requireValidDocuments(project, each, documents, "compiled");
  const local = await localSettings(flags);
  const capabilities = makeCapabilitiesReader(flags.url, signal);
  const shared = { project, wanted: findProjectFonts(project), local, capabilities };
  const failures = new Map<string, EachDocument[]>();
  const notesOfRows = new Set<string>();
  const equal = new EqualDocuments();
  const progress = startProgress(progressBar(0, documents.length));
  let failed = 0;
  let notShown = 0;
  try {
    for (const [index, document] of documents.entries()) {
      const data = dataOf(document);
      const rendered = await renderLocally(project, data, { options: output, local }, signal);
      const { warnings, notes } = await compareWithService(rendered, { ...shared, data }, signal);
      for (const note of notes) if (notesOfRows.size < MAX_NOTES) notesOfRows.add(note);
      const severity = flags.strict ? "error" : "warning";
      const inWords = warnings.map((warning) => `${severity}: ${warning}`).join("\n");
      const failure = explainFailure(rendered, document, project);
      if (rendered.kind === "compiled" && rendered.compiled.ok) {
        equal.addContent(document.place, rendered.compiled.files, document.data);
      }
      const reason = failure ?? (inWords === "" ? null : inWords);
      if (flags.json) writeJson({ ...outcomeOf(rendered, notes), warnings, line: document.number });
      if (failure !== null || (flags.strict && warnings.length > 0)) failed++;
      if (reason !== null) {
        const same = failures.get(reason);
        if (same !== undefined) same.push(document);
        else if (failures.size < MAX_SHOWN_REASONS) failures.set(reason, [document]);
        else notShown++;
      }
      progress.say(`${progressBar(index + 1, documents.length)}${failed > 0 ? `, ${failed} do not compile` : ""}`);
    }
  } finally {
    progress.stop();
  }
  const sameInWords = equal.inWords();
  const compiled = documents.length - failed;
  if (flags.json) {
    const notes = sameInWords === null ? {} : { notes: [sameInWords] };
    const read = reading === null ? {} : { reading };
    writeJson({ outcome: "summary", documents: documents.length, compiled, failed, ...notes, ...read });
  } else {
    for (const note of [...(failed > 0 ? project.warnings : []), ...project.notes, ...notesOfRows])
      say(`note: ${note}`);
    for (const [reason, rows] of failures) {
      const places = rows.map(({ place }) => place);
      say(printableLine(`${each}, ${firstInWords(places, MAX_SHOWN_PLACES)}:`));
      sayDiagnostics(`${reason}\n`);
    }
    if (notShown > 0) say(`… and ${notShown} more, for other reasons.`);
    if (sameInWords !== null) say(printableLine(`note: ${sameInWords}`));
    if (reading !== null) say(printableLine(reading));
    const withAll = flags.strict ? " with all fonts and characters" : "";
    say(`${compiled} of ${documents.length} documents compile${withAll}.`);
  }
  return failed === 0 && !(flags.strict && sameInWords !== null) ? EXIT_CODES.success : EXIT_CODES.template;
}

function explainFailure(rendered: LocalRender, document: EachDocument, project: Project): string | null {
  if (rendered.kind === "refused") {
    const { problem, request, failed } = rendered;
    const words = problemInWords(problem, true, problemDetails(problem, { project, data: dataOf(document), request }));
    return failed === null ? words : `${words}\n${failed.text}`;
  }
  const { ok, text, reason } = rendered.compiled;
  if (ok) return null;
  const notSent = describeNotSent(project, rendered.compiled);
  const notes = notSent.map((note) => `note: ${note}`);
  return [...(text === "" ? [] : [text]), ...(reason === null ? [] : [`error: ${reason}`]), ...notes].join("\n");
}

function outcomeOf(rendered: LocalRender, notes: readonly string[]): object {
  if (rendered.kind === "refused") return problemOutcome(rendered.problem, true);
  const { ok, diagnostics, reason } = rendered.compiled;
  return { outcome: ok ? "compiled" : "not-compiled", diagnostics, reason, notes };
}

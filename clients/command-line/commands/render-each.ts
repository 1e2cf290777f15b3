/** `render --each`: one template, a document for each row of data. */
import type { WantedFonts } from "../../document/fonts/missing-fonts.ts";
import { countInWords } from "../../document/size-in-words.ts";
import { checkLocally } from "../../typescript/local-check.ts";
import { encodeRequest, type OutputOptions } from "../../typescript/render-request.ts";
import { documentFinisher, type FinishDocument, withEInvoiceOutput } from "../e-invoice.ts";
import {
  dataOf,
  type EachDocument,
  type EachProject,
  findUnwritable,
  readEachProject,
  requireOwnFolders,
} from "../each/documents.ts";
import {
  EACH_RETRY,
  type EachOutcome,
  EachRun,
  type EachRunParts,
  type FailedDocument,
  failuresInLines,
  isMade,
  noneSucceeded,
  summarise,
} from "../each/run.ts";
import { CommandError, EXIT_CODES, type ExitCode, exitCodeOf } from "../exit-codes.ts";
import { STANDARD_INPUT } from "../files/folder.ts";
import { fitFiles } from "../fit-files.ts";
import { addWarnings, findMissingFonts, findProjectFonts, requireFonts, textOfImages } from "../fonts/missing-fonts.ts";
import { runInterruptible } from "../interruption.ts";
import { outputOf, STANDARD_OUTPUT } from "../output-options.ts";
import { progressBar, startProgress } from "../progress.ts";
import { requireValidDocuments } from "../project/data-schema.ts";
import { problemDetails } from "../project/problem-details.ts";
import { requestOf } from "../project/request.ts";
import { fitToService } from "../project/service-packages.ts";
import { problemOutcome, reportProblem, writeJson } from "../report.ts";
import { failAsCommand, openService } from "../service.ts";
import { serviceCapabilities } from "../service-cache.ts";
import { say } from "../terminal.ts";
import { type Plan, type PlannedRender, planFor, showPlan } from "./dry-run.ts";
import { checkCommand, DEFAULT_JOBS, type RenderFlags } from "./flags.ts";

export async function renderEach(source: string, flags: RenderFlags, signal: AbortSignal): Promise<ExitCode> {
  const { each, output: template } = flags;
  if (each === undefined) throw new Error("--each is missing");
  if (template === undefined || template === STANDARD_OUTPUT) {
    throw new CommandError("--each needs a pattern for file names: --output 'letters/{name}.pdf'.");
  }
  const output = outputOf(withEInvoiceOutput(flags));
  const finish = await documentFinisher(flags);
  const read = await readEachProject({ ...flags, source, each, template }, "render");
  const { documents } = read;
  const project = await fitFiles(read.project, flags, flags.dryRun ? null : signal);
  await requireValidDocuments(project, each, documents, "sent");
  requireOwnFolders(template, { ...read, project });
  const unwritable = await findUnwritable({ ...read, project }, flags.overwrite === true);
  const first = documents[0];
  if (flags.dryRun && first !== undefined) {
    return planEach({ project, data: dataOf(first), output, place: first.path }, documents, flags, signal);
  }
  const wanted = findProjectFonts(project);
  const prepared = { ...read, project, output, wanted, finish, unwritable };
  return runInterruptible(() => sendAll(prepared, { ...flags, source, each, output: template }, signal));
}

/** `--dry-run`: the plan of the first document, and what the rules say of all. */
async function planEach(
  planned: PlannedRender,
  documents: readonly EachDocument[],
  flags: RenderFlags,
  signal: AbortSignal,
): Promise<ExitCode> {
  const plan = await planFor(planned, flags, signal);
  const { failures, fatal } = await judgeDocuments(plan, documents, planned.output, flags, signal);
  showPlan(plan, flags, documents.length - 1, failures.length === 0 ? {} : { failed: failures.length });
  if (!flags.json && failures.length > 0) {
    say(
      [...failuresInLines(failures, fatal), `${failures.length} of ${documents.length} documents would fail.`].join(
        "\n",
      ),
    );
  }
  return fatal?.exitCode ?? (failures.length === 0 ? EXIT_CODES.success : EXIT_CODES.incomplete);
}

/**
 * What the published rules refuse, as the run does before it sends each document; and why the run would end before its
 * last one, if it would.
 */
async function judgeDocuments(
  { sent: { project }, constraints }: Plan,
  documents: readonly EachDocument[],
  output: OutputOptions,
  { overwrite, json }: RenderFlags,
  signal: AbortSignal,
): Promise<{ readonly failures: readonly FailedDocument[]; readonly fatal: CommandError | null }> {
  const failures: FailedDocument[] = [];
  const progress = startProgress(progressBar(0, documents.length));
  try {
    for (const [index, document] of documents.entries()) {
      signal.throwIfAborted();
      progress.say(progressBar(index, documents.length));
      // What is there is neither made nor judged.
      if (!overwrite && isMade(document.path)) continue;
      const data = dataOf(document);
      const request = requestOf(project, data, output);
      const check = checkLocally(encodeRequest(request), constraints);
      if (check.verdict !== "refused") continue;
      const { problem } = check;
      const details = problemDetails(problem, { project, data, request });
      if (json) writeJson({ ...problemOutcome(problem, true, details), line: document.number, file: document.path });
      failures.push({ document, reason: `${problem.code}: ${problem.detail}`, problem, isAnswered: true, details });
      const fatal = failures.length === index + 1 ? noneSucceeded(failures.length, exitCodeOf(problem)) : null;
      if (fatal !== null) return { failures, fatal };
    }
  } finally {
    progress.stop();
  }
  return { failures, fatal: null };
}

interface PreparedDocuments extends EachProject {
  readonly output: OutputOptions;
  readonly wanted: WantedFonts;
  readonly finish: FinishDocument | null;
  readonly unwritable: EachRunParts["unwritable"];
}

async function sendAll(
  { project, documents, reading, output, wanted, finish, unwritable }: PreparedDocuments,
  flags: EachFlags,
  signal: AbortSignal,
): Promise<ExitCode> {
  const progress = startProgress("Fetching the constraints");
  try {
    const service = await openService(flags, { retry: EACH_RETRY }, progress.log);
    const asked = await service.client.constraints({ signal }).catch(failAsCommand(service.url));
    if (!asked.ok) {
      progress.stop();
      const rejected = { problem: asked.problem, checkedLocally: false };
      return reportProblem(rejected, service.detailsOf(asked.problem), flags.json ? process.stdout : null);
    }
    const capabilities = await serviceCapabilities(service.url, signal);
    const fitted = fitToService(project, capabilities);
    const rows = documents.map((document) => dataOf(document).text);
    const text = flags.strict ? null : textOfImages(project, rows, output);
    const fonts = addWarnings(fitted.warnings, findMissingFonts(wanted, capabilities, text));
    const required = flags.strict ? requireFonts(fonts, service.url) : null;
    const notes = [...project.warnings, ...project.notes, ...fonts.notes];
    if (!flags.json) {
      for (const note of notes) progress.log(`note: ${note}`);
      for (const warning of fonts.warnings) progress.log(`warning: ${warning}`);
    }
    const run = new EachRun({
      service,
      project: fitted.project,
      output,
      documents,
      unwritable,
      jobs: flags.jobs ?? DEFAULT_JOBS,
      overwrite: flags.overwrite === true,
      json: flags.json === true,
      timeoutSeconds: flags.timeout ?? null,
      finish,
      strict: flags.strict === true,
      fonts: { wanted, required },
      progress,
      signal,
    });
    const outcome = await run.perform();
    progress.stop();
    const ofDocuments = [...run.fontWarnings].map(
      ([warning, count]) => `In ${countInWords(count, "document")}: ${warning}`,
    );
    const said = {
      warnings: [...fonts.warnings, ...ofDocuments],
      notes: [...notes, ...run.fontNotes, ...(outcome.equal === null ? [] : [outcome.equal])],
      reading,
    };
    if (!flags.json) {
      for (const warning of ofDocuments) say(`warning: ${warning}`);
      for (const note of run.fontNotes) say(`note: ${note}`);
    }
    reportOutcome(outcome, documents, said, flags);
    return outcome.exitCode;
  } finally {
    progress.stop();
  }
}

interface EachFlags extends RenderFlags {
  readonly source: string;
  readonly each: string;
  readonly output: string;
}

function reportOutcome(
  outcome: EachOutcome,
  documents: readonly EachDocument[],
  said: { readonly warnings: readonly string[]; readonly notes: readonly string[]; readonly reading: string | null },
  flags: EachFlags,
): void {
  const { made, present, left, failures, fatal } = outcome;
  if (flags.json) {
    const counts = { documents: documents.length, made, present, failed: failures.length, left };
    const { warnings, notes, reading } = said;
    writeJson({
      outcome: "summary",
      ...counts,
      ...(warnings.length > 0 && { warnings }),
      ...(notes.length > 0 && { notes }),
      ...(reading !== null && { reading }),
    });
    if (fatal !== null) say(fatal.message);
    return;
  }
  summarise(outcome, documents.length, said.reading);
  const notCompiled = failures.find(({ problem }) => problem?.code === "template_compile_failed");
  if (notCompiled === undefined || flags.each === STANDARD_INPUT) return;
  say(
    `To see the error: ${checkCommand(flags.source, { ...withEInvoiceOutput(flags), line: notCompiled.document.number })}`,
  );
}

/** Judges the documents of `--each` by the published rules, as the run does before it sends each of them. */
import type { PublishedConstraints } from "../../../rules/published-rules.ts";
import { checkLocally } from "../../typescript/local-check.ts";
import { encodeRequest, type OutputOptions } from "../../typescript/render-request.ts";
import { type CommandError, EXIT_CODES, type ExitCode, exitCodeOf } from "../exit-codes.ts";
import { type Progress, progressBar } from "../progress.ts";
import { problemDetails } from "../project/problem-details.ts";
import type { Project } from "../project/project.ts";
import { requestOf } from "../project/request.ts";
import { problemOutcome, writeJson } from "../report.ts";
import { dataOf, type EachDocument } from "./documents.ts";
import { type FailedDocument, isThere, noneSucceeded } from "./run.ts";

export interface DocumentsToJudge {
  readonly project: Project;
  readonly output: OutputOptions;
  readonly documents: readonly EachDocument[];
  readonly overwrite: boolean;
  readonly json: boolean;
}

export interface JudgedDocuments {
  readonly exitCode: ExitCode;
  readonly failures: readonly FailedDocument[];
  /** Why the run would end before its last document; null if it would not. */
  readonly fatal: CommandError | null;
}

export async function judgeDocuments(
  { project, output, documents, overwrite, json }: DocumentsToJudge,
  constraints: PublishedConstraints,
  progress: Progress,
  signal: AbortSignal,
): Promise<JudgedDocuments> {
  const failures: FailedDocument[] = [];
  for (const [index, document] of documents.entries()) {
    signal.throwIfAborted();
    progress.say(progressBar(index, documents.length));
    // What is there is neither made nor judged.
    if (!overwrite && (await isThere(document.path))) continue;
    const data = dataOf(document);
    const request = requestOf(project, data, output);
    const check = checkLocally(encodeRequest(request), constraints);
    if (check.verdict !== "refused") continue;
    const { problem } = check;
    const details = problemDetails(problem, { project, data, request });
    if (json) writeJson({ ...problemOutcome(problem, true, details), line: document.number, file: document.path });
    failures.push({ document, reason: `${problem.code}: ${problem.detail}`, problem, details });
    const fatal = failures.length === index + 1 ? noneSucceeded(failures.length, exitCodeOf(problem)) : null;
    if (fatal !== null) return { exitCode: fatal.exitCode, failures, fatal };
  }
  return { exitCode: failures.length === 0 ? EXIT_CODES.success : EXIT_CODES.incomplete, failures, fatal: null };
}

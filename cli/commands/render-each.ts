/**
 * `render --each`: one template, a document for each line of data.
 *
 * A document that exists is complete (output-file.ts), so a run that was interrupted continues where it stopped.
 */
import { stat } from "node:fs/promises";
import type { ServiceClient, ServiceProblem } from "../../client/client.ts";
import { ServiceUnreachableError } from "../../client/client.ts";
import type { OutputOptions } from "../../client/render-request.ts";
import { type EachDocument, readDocuments } from "../each/documents.ts";
import { Pace } from "../each/pace.ts";
import { CommandError, EXIT_CODES, type ExitCode, exitCodeOf } from "../exit-codes.ts";
import { findMissingFonts, requireFonts } from "../missing-fonts.ts";
import { writeWhole } from "../output-file.ts";
import { outputOf, STANDARD_OUTPUT } from "../output-options.ts";
import { requireValidDocuments } from "../project/data-schema.ts";
import { projectFolder } from "../project/folder.ts";
import { collectProject, type Project } from "../project/project.ts";
import { requestOf } from "../project/request.ts";
import { problemInWords, problemOutcome, writeJson, writeProblem } from "../report.ts";
import { asCommandError, openService } from "../service.ts";
import { type Progress, printableLine, progressBar, say, startProgress } from "../terminal.ts";
import { DEFAULT_JOBS, type RenderFlags } from "./render-flags.ts";

/** How often one document is sent to a busy service. */
const MAX_BUSY_ATTEMPTS = 50;
/** How often one document is sent to a service that cannot be reached. */
const MAX_UNREACHABLE_ATTEMPTS = 4;
const UNREACHABLE_WAIT_SECONDS = 2;
/** After these, the template is to blame, not the data. */
const MAX_FAILURES_BEFORE_A_SUCCESS = 10;
const MAX_LISTED_FAILURES = 20;

/** Problems that the next document would have too. */
const FATAL_CODES: ReadonlySet<string> = new Set(["forbidden", "not_found", "method_not_allowed"]);

/** Renders all documents. @returns the exit code */
export async function renderEach(source: string, flags: RenderFlags, signal: AbortSignal): Promise<ExitCode> {
  const { each, output: template } = flags;
  if (each === undefined) throw new Error("--each is missing");
  if (flags.data !== undefined) throw new CommandError("--each provides the data: omit --data.");
  if (template === undefined || template === STANDARD_OUTPUT) {
    throw new CommandError("--each needs a pattern for file names: --output 'letters/{name}.pdf'.");
  }
  const output = outputOf(flags);
  const documents = await readDocuments(each, await projectFolder(source), template);
  const leaveOut = [each, ...documents.map(({ path }) => path)];
  const project = await collectProject(source, { patterns: flags.files ?? [], leaveOut });
  await requireValidDocuments(project, each, documents);
  const service = await openService(flags, { retry: false });
  const rows = documents.map(({ data }) => data);
  const fonts = await findMissingFonts(project, rows, service.url, signal);
  if (flags.strict) requireFonts(fonts, service.url);
  for (const warning of fonts.warnings) say(`warning: ${warning}`);
  const progress = startProgress("Fetching the constraints");
  try {
    const asked = await service.client.constraints({ signal }).catch((error: unknown) => {
      throw asCommandError(error, service.url);
    });
    if (!asked.ok) {
      progress.stop();
      if (flags.json) writeJson(problemOutcome(asked.problem, false));
      else writeProblem(asked.problem, false);
      return exitCodeOf(asked.problem);
    }
    const run = new EachRun({ ...service, project, output, flags, documents, progress, signal });
    return await run.perform();
  } finally {
    progress.stop();
  }
}

interface RunParts {
  readonly url: string;
  readonly client: ServiceClient;
  readonly project: Project;
  readonly output: OutputOptions;
  readonly flags: RenderFlags;
  readonly documents: readonly EachDocument[];
  readonly progress: Progress;
  readonly signal: AbortSignal;
}

interface Failure {
  readonly document: EachDocument;
  readonly reason: string;
}

class EachRun {
  readonly #parts: RunParts;
  readonly #pace: Pace;
  readonly #stopping = new AbortController();
  readonly #signal: AbortSignal;
  readonly #failures: Failure[] = [];
  #made = 0;
  #present = 0;
  /** Why the run ended before its last document; null if it did not. */
  #fatal: CommandError | null = null;

  constructor(parts: RunParts) {
    this.#parts = parts;
    this.#pace = new Pace(parts.flags.jobs ?? DEFAULT_JOBS);
    this.#signal = AbortSignal.any([parts.signal, this.#stopping.signal]);
  }

  async perform(): Promise<ExitCode> {
    const { documents, flags, signal, progress } = this.#parts;
    const onAbort = () => this.#pace.stop();
    signal.addEventListener("abort", onAbort, { once: true });
    for (const document of documents) {
      if (!flags.overwrite && (await isThere(document.path))) this.#present++;
      else this.#pace.add(() => this.#attempt(document, 1));
    }
    if (signal.aborted) this.#pace.stop();
    this.#showProgress();
    await this.#pace.idle();
    signal.removeEventListener("abort", onAbort);
    progress.stop();
    this.#summarise();
    if (signal.aborted) return EXIT_CODES.interrupted;
    if (this.#fatal !== null) return this.#fatal.exitCode;
    return this.#failures.length === 0 ? EXIT_CODES.success : EXIT_CODES.incomplete;
  }

  async #attempt(document: EachDocument, attempt: number): Promise<void> {
    const { client, project, output, flags, url } = this.#parts;
    if (this.#signal.aborted) return;
    try {
      const data = { text: document.data, name: `line ${document.line}` };
      const result = await client.render(requestOf(project, data, output), { signal: this.#signal });
      if (!result.ok) return this.#rejected(document, attempt, result.problem, result.checkedLocally);
      const bytes = await writeWhole(document.path, result.body);
      this.#made++;
      this.#pace.succeeded();
      const { contentType, requestId } = result;
      if (flags.json) {
        writeJson({ outcome: "rendered", line: document.line, file: document.path, bytes, contentType, requestId });
      }
    } catch (error) {
      if (this.#signal.aborted) return;
      // A connection that breaks while the document comes is a TypeError of fetch.
      const isLost = error instanceof ServiceUnreachableError || error instanceof TypeError;
      if (isLost && attempt < MAX_UNREACHABLE_ATTEMPTS) {
        this.#pace.refused(UNREACHABLE_WAIT_SECONDS * attempt);
        this.#pace.add(() => this.#attempt(document, attempt + 1), true);
        return;
      }
      const known = isLost
        ? new CommandError(`${url} cannot be reached.`, EXIT_CODES.unreachable)
        : asCommandError(error, url);
      if (!(known instanceof CommandError)) throw error;
      this.#stop(known);
    }
    this.#showProgress();
  }

  #rejected(document: EachDocument, attempt: number, problem: ServiceProblem, checkedLocally: boolean): void {
    if (problem.origin === "capacity" && attempt < MAX_BUSY_ATTEMPTS) {
      this.#pace.refused(problem.context.retry_after);
      this.#pace.add(() => this.#attempt(document, attempt + 1), true);
      this.#showProgress();
      return;
    }
    if (FATAL_CODES.has(problem.code)) {
      this.#stop(new CommandError(problemInWords(problem, checkedLocally), exitCodeOf(problem)));
      return;
    }
    this.#failures.push({ document, reason: `${problem.code}: ${problem.detail}` });
    const { flags } = this.#parts;
    if (flags.json) {
      writeJson({ ...problemOutcome(problem, checkedLocally), line: document.line, file: document.path });
    }
    if (this.#made + this.#present === 0 && this.#failures.length >= MAX_FAILURES_BEFORE_A_SUCCESS) {
      const reason = `The first ${this.#failures.length} documents all failed, so the others were not sent.`;
      this.#stop(new CommandError(reason, exitCodeOf(problem)));
    }
    this.#showProgress();
  }

  #stop(reason: CommandError): void {
    this.#fatal ??= reason;
    this.#stopping.abort();
    this.#pace.stop();
  }

  #showProgress(): void {
    const { documents, progress } = this.#parts;
    const done = this.#made + this.#present + this.#failures.length;
    const failed = this.#failures.length > 0 ? `, ${this.#failures.length} failed` : "";
    progress.say(`${progressBar(done, documents.length)}${failed}, ${this.#pace.limit} at once`);
  }

  #summarise(): void {
    const { documents, flags, signal } = this.#parts;
    const made = this.#made;
    const present = this.#present;
    const failed = this.#failures.length;
    const left = documents.length - made - present - failed;
    if (flags.json) {
      writeJson({ outcome: "summary", documents: documents.length, made, present, failed, left });
      if (this.#fatal !== null) say(this.#fatal.message);
      return;
    }
    const lines = this.#failures
      .toSorted((one, other) => one.document.line - other.document.line)
      .slice(0, MAX_LISTED_FAILURES)
      .map(({ document, reason }) => printableLine(`line ${document.line}, ${document.path}: ${reason}`));
    if (failed > MAX_LISTED_FAILURES) lines.push(`… and ${failed - MAX_LISTED_FAILURES} more.`);
    if (this.#fatal !== null) lines.push(this.#fatal.message);
    const counts = [
      `${made} of ${documents.length} documents rendered`,
      ...(present > 0 ? [`${present} already existed`] : []),
      ...(failed > 0 ? [`${failed} failed`] : []),
      ...(left > 0 ? [`${left} not rendered`] : []),
    ];
    lines.push(`${counts.join(", ")}.`);
    if (present > 0 && !signal.aborted) lines.push("Use --overwrite to render the existing ones again.");
    if (left > 0) lines.push("Run the same command again to continue.");
    say(lines.join("\n"));
  }
}

async function isThere(path: string): Promise<boolean> {
  const found = await stat(path).catch(() => null);
  return found?.isFile() === true && found.size > 0;
}

/**
 * Renders the documents of `render --each`, as many at once as the service accepts. A document that exists is complete
 * (output-file.ts), so a run that was interrupted continues where it stopped.
 */
import {
  type RejectedRender,
  type RetryOptions,
  type ServiceProblem,
  ServiceUnreachableError,
  UnexpectedResponseError,
} from "../../typescript/client.ts";
import type { OutputOptions, RenderRequest } from "../../typescript/render-request.ts";
import { askedWaitSeconds, backoffSeconds, type Failure, wait, worthOf } from "../../typescript/retry.ts";
import { type FinishDocument, InvalidEInvoiceError } from "../e-invoice.ts";
import { CommandError, EXIT_CODES, type ExitCode, exitCodeOf } from "../exit-codes.ts";
import { statOf } from "../files/disk.ts";
import { deliverExamined, type ExaminedRender, MissingFontsError, requireUnseenFonts } from "../fonts/missing-fonts.ts";
import { writeNamed } from "../output-file.ts";
import { type Progress, progressBar } from "../progress.ts";
import { problemDetails } from "../project/problem-details.ts";
import type { Project } from "../project/project.ts";
import { requestOf } from "../project/request.ts";
import { failedOutcome, problemInWords, problemOutcome, writeJson } from "../report.ts";
import { asCommandError, type Service } from "../service.ts";
import { printableLine, say } from "../terminal.ts";
import { whyNotAnswered } from "../unreachable.ts";
import { dataOf, type EachDocument } from "./documents.ts";
import { EqualDocuments } from "./equal-documents.ts";
import { Pace } from "./pace.ts";

const MAX_BUSY_ATTEMPTS = 50;
/** If the service asks for no wait: all attempts of a document must not follow at once. */
const MIN_BUSY_WAIT_SECONDS = 1;
/** A shorter wait is shown in a terminal alone. */
const MIN_SAID_WAIT_SECONDS = 20;
/** One document's connection is tried again by the client, while the others go on. All wait for a service that is busy. */
export const EACH_RETRY: RetryOptions = { maxAttempts: 4, maxBusyAttempts: 1 };
/** The pause before the documents that got a 503 are sent once more. */
const UNAVAILABLE_WAIT_SECONDS = 2;
/** If the first this many documents fail, the template or the service is to blame, not the data. */
const MAX_FAILURES_BEFORE_A_SUCCESS = 10;
/** If this many documents in a row get no answer of the service, although each was tried again, the others would get none. */
const MAX_UNANSWERED_IN_A_ROW = 20;
/** The same if nothing at all has come for minutes. */
const MAX_SILENT_IN_A_ROW = 3;
const MAX_LISTED_FAILURES = 20;
const MAX_FONT_WARNINGS = 20;

/** Problems that the next document would have too. */
const FATAL_CODES: ReadonlySet<string> = new Set(["forbidden", "not_found", "method_not_allowed"]);

export interface EachRunParts {
  readonly service: Service;
  readonly project: Project;
  readonly output: OutputOptions;
  readonly documents: readonly EachDocument[];
  /** Those whose file cannot be written, with the reason: they fail without being sent. */
  readonly unwritable: ReadonlyMap<EachDocument, CommandError>;
  readonly jobs: number;
  readonly overwrite: boolean;
  readonly json: boolean;
  /** The time limit for each request; null for none. */
  readonly timeoutSeconds: number | null;
  readonly finish: FinishDocument | null;
  /** Whether documents that are the same although their rows differ make the run fail. */
  readonly strict: boolean;
  readonly fonts: ExaminedRender;
  readonly progress: Progress;
  readonly signal: AbortSignal;
}

export interface FailedDocument {
  readonly document: EachDocument;
  readonly reason: string;
  readonly problem: ServiceProblem | null;
  /** Whether the service, or this program, says what is wrong with the document. */
  readonly isAnswered: boolean;
  /** What this program can add to the problem, one line each. */
  readonly details: readonly string[];
}

export interface EachOutcome {
  readonly exitCode: ExitCode;
  readonly made: number;
  readonly present: number;
  /** How many were not tried. */
  readonly left: number;
  /** In the order of the rows. */
  readonly failures: readonly FailedDocument[];
  /** A sentence about documents that are the same although their rows differ; null without such. */
  readonly equal: string | null;
  /** Why the run ended before its last document; null if it did not. */
  readonly fatal: CommandError | null;
}

interface DocumentAttempt {
  readonly document: EachDocument;
  /** From one. */
  readonly attempt: number;
  /** Whether a 503 counts as a failure now. */
  readonly isLast: boolean;
  readonly request: RenderRequest;
}

export class EachRun {
  readonly #parts: EachRunParts;
  readonly #pace: Pace;
  readonly #stopping = new AbortController();
  readonly #signal: AbortSignal;
  readonly #failures: FailedDocument[] = [];
  /** Documents that got a 503. They are sent once more at the end. */
  readonly #unavailable: EachDocument[] = [];
  readonly #equal = new EqualDocuments();
  /** What documents lack, each with the number of documents. */
  readonly fontWarnings = new Map<string, number>();
  readonly fontNotes = new Set<string>();
  #made = 0;
  #present = 0;
  /** Since the last document that was made. */
  #unanswered = 0;
  #silent = 0;
  #fatal: CommandError | null = null;

  constructor(parts: EachRunParts) {
    this.#parts = parts;
    this.#pace = new Pace(parts.jobs);
    this.#signal = AbortSignal.any([parts.signal, this.#stopping.signal]);
  }

  async perform(): Promise<EachOutcome> {
    const { documents, unwritable, overwrite, signal } = this.#parts;
    const onAbort = () => this.#pace.stop();
    signal.addEventListener("abort", onAbort, { once: true });
    const pending: EachDocument[] = [];
    for (const document of documents) {
      if (!overwrite && isMade(document.path)) this.#present++;
      else if (!unwritable.has(document)) pending.push(document);
    }
    for (const document of pending) this.#pace.add(() => this.#attempt(document, 1, false));
    this.#showProgress();
    await this.#pace.waitForAll();
    await this.#tryUnavailableAgain();
    for (const [document, error] of unwritable) this.#recordError(document, error);
    signal.removeEventListener("abort", onAbort);
    return this.#outcome();
  }

  async #tryUnavailableAgain(): Promise<void> {
    const again = this.#unavailable.splice(0);
    if (again.length === 0 || this.#signal.aborted) return;
    await wait(UNAVAILABLE_WAIT_SECONDS, this.#signal).catch(() => {});
    for (const document of again) this.#pace.add(() => this.#attempt(document, 1, true));
    await this.#pace.waitForAll();
  }

  async #attempt(document: EachDocument, attempt: number, isLast: boolean): Promise<void> {
    const { service, project, output, json, timeoutSeconds, finish, fonts } = this.#parts;
    if (this.#signal.aborted) return;
    const timeout = timeoutSeconds === null ? null : AbortSignal.timeout(Math.ceil(timeoutSeconds * 1000));
    const signal = timeout === null ? this.#signal : AbortSignal.any([this.#signal, timeout]);
    try {
      const request = requestOf(project, dataOf(document), output);
      const known = await requireUnseenFonts(request, fonts, service.client, signal);
      const result = typeof known === "boolean" ? await service.client.render(request, { signal }) : known;
      if (!result.ok) return this.#handleProblem({ document, attempt, isLast, request }, result);
      const body = finish === null ? result.body : await finish(result, this.fontNotes);
      const { bytes, ...seen } = await deliverExamined(body, { request, fonts, isKnown: known === true }, (file) =>
        writeNamed(document.path, file),
      );
      this.#noteFonts(seen);
      await this.#equal.add(document.path, bytes, document.data);
      this.#made++;
      this.#unanswered = 0;
      this.#silent = 0;
      this.#pace.recordSuccess();
      const { contentType, requestId } = result;
      if (json) {
        writeJson({ outcome: "rendered", line: document.number, file: document.path, bytes, contentType, requestId });
      }
    } catch (error) {
      if (this.#signal.aborted) return;
      if (timeout !== null && error === timeout.reason) {
        return this.#recordUnanswered(document, `there was no answer within ${timeoutSeconds} s (--timeout).`);
      }
      if (error instanceof InvalidEInvoiceError || error instanceof MissingFontsError)
        return this.#recordError(document, error);
      if (error instanceof ServiceUnreachableError || error instanceof UnexpectedResponseError) {
        return this.#handleNoAnswer({ document, attempt, isLast }, error);
      }
      this.#stop(asFatal(error));
    }
    this.#showProgress();
  }

  /** Something in front of the service, or nothing, has answered: for this document, or for all. */
  #handleNoAnswer(
    { document, attempt, isLast }: Omit<DocumentAttempt, "request">,
    error: ServiceUnreachableError | UnexpectedResponseError,
  ): void {
    const { service } = this.#parts;
    if (error instanceof ServiceUnreachableError) {
      if (this.#waitIfBusy({ document, attempt, isLast }, error)) return;
      this.#silent += error.reason === "no_answer" ? 1 : 0;
      // The next document would wait for minutes, too.
      if (this.#silent >= (this.#made === 0 ? 1 : MAX_SILENT_IN_A_ROW)) {
        this.#stop(asFatal(asCommandError(error, service.url)));
        return;
      }
    }
    this.#recordUnanswered(document, whyNotAnswered(error, service.url));
  }

  #recordUnanswered(document: EachDocument, reason: string): void {
    this.#recordError(document, new CommandError(reason, EXIT_CODES.unreachable));
    if (++this.#unanswered < MAX_UNANSWERED_IN_A_ROW) return;
    const words = `The last ${this.#unanswered} documents got no answer of the service, so the rest were not sent.`;
    this.#stop(new CommandError(words, EXIT_CODES.unreachable));
  }

  /** Has all wait, and the document tried again, if the failure is that of someone busy. @returns whether it is */
  #waitIfBusy({ document, attempt, isLast }: Omit<DocumentAttempt, "request">, failure: Failure): boolean {
    if (worthOf(failure) !== "busy" || attempt >= MAX_BUSY_ATTEMPTS) return false;
    const who = failure instanceof Error ? "A gateway in front of the service" : "The service";
    const asked = askedWaitSeconds(failure) ?? backoffSeconds(attempt);
    this.#wait(Math.max(asked, MIN_BUSY_WAIT_SECONDS), `${who} is busy`);
    this.#pace.add(() => this.#attempt(document, attempt + 1, isLast));
    return true;
  }

  #noteFonts({ warnings, notes }: { readonly warnings: readonly string[]; readonly notes: readonly string[] }): void {
    for (const warning of warnings) {
      const count = this.fontWarnings.get(warning) ?? 0;
      if (count > 0 || this.fontWarnings.size < MAX_FONT_WARNINGS) this.fontWarnings.set(warning, count + 1);
    }
    for (const note of notes) this.fontNotes.add(note);
  }

  #handleProblem(
    { document, attempt, isLast, request }: DocumentAttempt,
    { problem, checkedLocally }: RejectedRender,
  ): void {
    if (this.#waitIfBusy({ document, attempt, isLast }, problem)) return;
    if (problem.code === "service_unavailable" && !isLast) {
      this.#unavailable.push(document);
      if (this.#made === 0 && this.#unavailable.length >= MAX_FAILURES_BEFORE_A_SUCCESS) {
        const words = `The service answered the first ${this.#unavailable.length} documents with 503, so the rest were not sent.`;
        this.#stop(new CommandError(words, exitCodeOf(problem)));
      }
      return;
    }
    if (FATAL_CODES.has(problem.code)) {
      const more = this.#parts.service.detailsOf(problem);
      this.#stop(new CommandError(problemInWords(problem, checkedLocally, more), exitCodeOf(problem)));
      return;
    }
    const details = problemDetails(problem, { project: this.#parts.project, data: dataOf(document), request });
    const reason = `${problem.code}: ${problem.detail}`;
    const outcome = problemOutcome(problem, checkedLocally, details);
    this.#recordFailure({ document, reason, problem, isAnswered: true, details }, exitCodeOf(problem), outcome);
  }

  /** Before any other request; a long wait is said once, also where no progress is shown. */
  #wait(seconds: number, why: string): void {
    const isLonger = this.#pace.recordRefusal(seconds);
    const waiting = `${why}: waiting ${Math.ceil(seconds)} s`;
    if (isLonger && seconds >= MIN_SAID_WAIT_SECONDS && !this.#parts.json) this.#parts.progress.log(`${waiting}.`);
    this.#showProgress(waiting);
  }

  #recordError(document: EachDocument, error: CommandError): void {
    const isAnswered = error.exitCode !== EXIT_CODES.unreachable;
    const failure = { document, reason: error.message, problem: null, isAnswered, details: [] };
    this.#recordFailure(failure, error.exitCode, failedOutcome(error));
  }

  #recordFailure(failure: FailedDocument, exitCode: ExitCode, outcome: object): void {
    const { number: line, path: file } = failure.document;
    if (this.#parts.json) writeJson({ ...outcome, line, file });
    this.#failures.push(failure);
    // Existing documents show that the template works, but not that the service does.
    const successes = failure.problem?.origin === "service" ? this.#made : this.#made + this.#present;
    const answered = this.#failures.filter(({ isAnswered }) => isAnswered).length;
    const fatal = successes === 0 && failure.isAnswered ? noneSucceeded(answered, exitCode) : null;
    if (fatal !== null) this.#stop(fatal);
    this.#showProgress();
  }

  #stop(reason: CommandError): void {
    this.#fatal ??= reason;
    this.#stopping.abort();
    this.#pace.stop();
  }

  #showProgress(waiting?: string): void {
    const { documents, progress } = this.#parts;
    const failed = this.#failures.length;
    const bar = progressBar(this.#made + this.#present + failed, documents.length);
    progress.say(`${bar}${failed > 0 ? `, ${failed} failed` : ""}, ${waiting ?? `${this.#pace.limit} at once`}`);
  }

  #outcome(): EachOutcome {
    const { documents, signal, strict } = this.#parts;
    const equal = this.#equal.inWords();
    const failures = this.#failures.toSorted((one, other) => one.document.number - other.document.number);
    const complete = strict && equal !== null ? EXIT_CODES.template : EXIT_CODES.success;
    const isUnreachable = this.#made === 0 && failures.every(({ isAnswered }) => !isAnswered);
    const failed = isUnreachable ? EXIT_CODES.unreachable : EXIT_CODES.incomplete;
    const ended = this.#fatal?.exitCode ?? (failures.length === 0 ? complete : failed);
    return {
      exitCode: signal.aborted ? EXIT_CODES.interrupted : ended,
      made: this.#made,
      present: this.#present,
      left: documents.length - this.#made - this.#present - failures.length,
      failures,
      equal,
      fatal: this.#fatal,
    };
  }
}

/** The documents that failed, what is known about their files, and why the run ended early. */
export function failuresInLines(failures: readonly FailedDocument[], fatal: CommandError | null): string[] {
  const lines = failures
    .slice(0, MAX_LISTED_FAILURES)
    .flatMap(({ document, reason }) => `${document.place}, ${document.path}: ${reason}`.split("\n"))
    .map((line) => printableLine(line));
  if (failures.length > MAX_LISTED_FAILURES) lines.push(`… and ${failures.length - MAX_LISTED_FAILURES} more.`);
  // The details are about files, which are the same in all documents.
  const details = failures.find((failure) => failure.details.length > 0)?.details ?? [];
  lines.push(...details.map((line) => printableLine(`  ${line}`)));
  if (fatal !== null) lines.push(fatal.message);
  return lines;
}

/** @param reading how the rows were read, if that needs to be said */
export function summarise(
  { made, present, left, failures, equal, fatal, exitCode }: EachOutcome,
  total: number,
  reading: string | null,
): void {
  const lines = failuresInLines(failures, fatal);
  if (equal !== null) lines.push(printableLine(`note: ${equal}`));
  if (reading !== null) lines.push(printableLine(reading));
  const counts = [
    `${made} of ${total} documents rendered`,
    ...(present > 0 ? [`${present} already existed`] : []),
    ...(failures.length > 0 ? [`${failures.length} failed`] : []),
    ...(left > 0 ? [`${left} not rendered`] : []),
  ];
  lines.push(`${counts.join(", ")}.`);
  if (present > 0 && exitCode !== EXIT_CODES.interrupted) {
    lines.push("Use --overwrite to render the existing ones again.");
  }
  const isOfTemplate = failures.every(({ problem }) => problem?.origin === "template" || problem?.origin === "request");
  if (made + present === 0 && failures.length > 0 && isOfTemplate) {
    lines.push("Once the cause is corrected, the same command renders them.");
  } else if (left > 0) lines.push("Run the same command again to continue.");
  else if (failures.length > 0) lines.push("Run the same command again to make those that failed.");
  say(lines.join("\n"));
}

/** An error that nobody expects ends the run, too, and leaves its trace below the summary. */
function asFatal(error: unknown): CommandError {
  if (error instanceof CommandError) return error;
  return new CommandError(String(error instanceof Error ? error.stack : error), EXIT_CODES.failure);
}

/** Why a run ends whose first documents all failed; null if it goes on. */
export function noneSucceeded(failures: number, exitCode: ExitCode): CommandError | null {
  if (failures < MAX_FAILURES_BEFORE_A_SUCCESS) return null;
  return new CommandError(`The first ${failures} documents all failed, so the rest were not sent.`, exitCode);
}

/** Whether a document is there, and not empty. */
export function isMade(path: string): boolean {
  const found = statOf(path);
  return found?.isFile() === true && found.size > 0;
}

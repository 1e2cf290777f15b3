/** `render`: sends a project to the service and writes the document that comes back. */
import { resolve } from "node:path";
import type { Command } from "@commander-js/extra-typings";
import type { WantedFonts } from "../../document/fonts/missing-fonts.ts";
import { sizeInWords } from "../../document/size-in-words.ts";
import type { RetryEvent, RetryOptions, ServiceProblem } from "../../typescript/client.ts";
import { documentFinisher, type FinishDocument, withEInvoiceOutput } from "../e-invoice.ts";
import { CommandError, EXIT_CODES, exitCodeOf } from "../exit-codes.ts";
import { isBelow, projectFolder } from "../files/folder.ts";
import { fitFiles } from "../fit-files.ts";
import {
  addWarnings,
  deliverExamined,
  findMissingFonts,
  findProjectFonts,
  requireFonts,
  requireUnseenFonts,
  textOfImages,
} from "../fonts/missing-fonts.ts";
import { runInterruptible } from "../interruption.ts";
import {
  requireFilePlace,
  requireOutputPlace,
  writeNamed,
  writeOutput,
  writeToStandardOutput,
} from "../output-file.ts";
import { extensionOf, outputOf, STANDARD_OUTPUT } from "../output-options.ts";
import { startProgress } from "../progress.ts";
import { requireValidData } from "../project/data-schema.ts";
import { problemDetails, type SentProject, sizeInLines } from "../project/problem-details.ts";
import { projectName } from "../project/project.ts";
import { readData, requestOf } from "../project/request.ts";
import { completeFlags } from "../project/saved-options.ts";
import { fitRequest, importsPackages } from "../project/service-packages.ts";
import { openDocumentProject } from "../project/template-findings.ts";
import { reportProblem, retryInWords, writeJson } from "../report.ts";
import { asCommandError, failAsCommand, failureInWords, openService } from "../service.ts";
import { serviceCapabilities } from "../service-cache.ts";
import { printableLine, say } from "../terminal.ts";
import { planRender } from "./dry-run.ts";
import { checkCommand, defineRenderCommand, type RenderFlags, withOutput } from "./flags.ts";

/** At least half a second lies between two: more than the longest `--timeout` has room for. */
const MAX_BUSY_ATTEMPTS = 10_000;

export function addRenderCommand(program: Command, signal: AbortSignal): void {
  defineRenderCommand(program).action(async (source, place, named) => {
    const flags = completeFlags(source, withOutput(named, place));
    requireFontsBelowRoot(source, flags);
    if (flags.each === undefined) {
      process.exitCode = await render(source, flags, signal);
    } else {
      const { renderEach } = await import("./render-each.ts");
      process.exitCode = await renderEach(source, flags, signal);
    }
  });
}

/** The fonts of a document come with it; of those elsewhere, nothing would be sent. */
function requireFontsBelowRoot(source: string, { root, fontPath = [] }: RenderFlags): void {
  const top = root === undefined ? projectFolder(source) : resolve(root);
  for (const folder of fontPath) {
    if (isBelow(top, resolve(folder))) continue;
    throw new CommandError(
      printableLine(
        `--font-path ${folder} is not below ${top}: copy the fonts there, where they are found by themselves, or name a --root that holds them.`,
      ),
    );
  }
}

async function render(source: string, flags: RenderFlags, signal: AbortSignal): Promise<number> {
  for (const name of ["jobs", "overwrite", "line", "delimiter"] as const) {
    if (flags[name] !== undefined) throw new CommandError(`--${name} needs --each.`);
  }
  const outputFlags = withEInvoiceOutput(flags);
  const output = outputOf(outputFlags);
  const finish = await documentFinisher(flags);
  const place = flags.output ?? `${projectName(source)}.${extensionOf(output)}`;
  if (flags.output === undefined) await requireFilePlace(place);
  else if (place !== STANDARD_OUTPUT) await requireOutputPlace(place);
  const opened = openDocumentProject(source, flags, "render", place);
  const project = await fitFiles(opened, flags, flags.dryRun ? null : signal);
  const data = await readData(project, flags.data ?? null);
  const request = requestOf(project, data, output);
  await requireValidData(project, data, "sent");
  if (flags.dryRun) return planRender({ project, data, request, place }, flags, signal);
  const wanted = findProjectFonts(project);
  const prepared = { project, data, request, place, wanted, finish };
  const problem = await runInterruptible(() => send(prepared, flags, signal));
  if (problem === null) return EXIT_CODES.success;
  if (problem.code === "template_compile_failed" && !flags.json) {
    say(`  To see the error: ${checkCommand(source, outputFlags)}`);
  }
  return exitCodeOf(problem);
}

interface PreparedRender extends SentProject {
  readonly place: string;
  readonly wanted: WantedFonts;
  readonly finish: FinishDocument | null;
}

/** Writes the document and reports. @returns the problem if there is none */
async function send(planned: PreparedRender, flags: RenderFlags, signal: AbortSignal): Promise<ServiceProblem | null> {
  const { project, data, place, wanted, finish } = planned;
  const timeout = flags.timeout === undefined ? null : AbortSignal.timeout(Math.ceil(flags.timeout * 1000));
  const within = timeout === null ? signal : AbortSignal.any([signal, timeout]);
  const notes = [...project.warnings, ...project.notes, ...(data?.notes ?? [])];

  let lastFailure = "";
  const progress = startProgress(`Rendering ${project.sourceName}`);
  try {
    if (!flags.json) for (const note of notes) progress.log(`note: ${note}`);
    const service = await openService(flags, { retry: retryWithin(flags.timeout) }, progress.log);
    const capabilities = serviceCapabilities(service.url, within);
    // A project without packages does not wait for what the service has.
    const fitted = fitRequest(planned, importsPackages(project) ? await capabilities : null);
    const text = flags.strict ? null : textOfImages(project, [data?.text ?? ""], planned.request.output);
    const asked = capabilities.then((known) => addWarnings(fitted.warnings, findMissingFonts(wanted, known, text)));
    const examined = { wanted, required: flags.strict ? requireFonts(await asked, service.url) : null };
    const { request } = fitted.sent;
    const known = await requireUnseenFonts(request, examined, service.client, within).catch(failAsCommand(service.url));
    const onRetry = (event: RetryEvent) => {
      lastFailure = ` ${failureInWords(event.reason, service.url)}`;
      progress.say(retryInWords(event));
    };
    const render = () =>
      service.client.render(request, { signal: within, onRetry }).catch((error: unknown) => {
        throw asCommandError(error, service.url, () => sizeInLines(fitted.sent, ""));
      });
    const result = typeof known === "boolean" ? await render() : known;
    if (result.ok) {
      progress.say(`Receiving ${place}`);
      const invoiceNotes = new Set<string>();
      const { bytes, ...seen } = await Promise.resolve(finish === null ? result.body : finish(result, invoiceNotes))
        .then((body) =>
          deliverExamined(body, { request, fonts: examined, isKnown: known === true }, (file) =>
            deliver(file, place, flags.output !== undefined),
          ),
        )
        .catch(failAsCommand(service.url));
      const fonts = await asked;
      const warnings = [...fonts.warnings, ...seen.warnings];
      const laterNotes = [...fonts.notes, ...seen.notes, ...invoiceNotes];
      progress.stop();
      const { contentType, requestId } = result;
      reportRendered(
        { file: place, bytes, contentType, requestId, warnings },
        { before: notes, later: laterNotes },
        flags,
      );
      return null;
    }
    progress.stop();
    const { problem } = result;
    if (!flags.json) for (const warning of fitted.warnings) say(`warning: ${warning}`);
    const details = [...problemDetails(problem, fitted.sent), ...service.detailsOf(problem)];
    reportProblem(result, details, flags.json ? reportStream(place) : null);
    return problem;
  } catch (error) {
    if (timeout === null || error !== timeout.reason) throw error;
    const message = `The document did not arrive within ${flags.timeout} s (--timeout).${lastFailure}`;
    throw new CommandError(message, EXIT_CODES.unreachable);
  } finally {
    progress.stop();
  }
}

/** A service that is busy is asked again as long as the user waits; one that cannot be reached, as often as without a limit. */
function retryWithin(seconds: number | undefined): RetryOptions {
  return seconds === undefined ? {} : { maxBusyAttempts: MAX_BUSY_ATTEMPTS, maxTotalSeconds: seconds };
}

interface RenderedReport {
  readonly file: string;
  readonly bytes: number;
  readonly contentType: string;
  readonly requestId: string | null;
  readonly warnings: readonly string[];
}

/** @param notes those that people have already seen, and later ones */
function reportRendered(
  rendered: RenderedReport,
  notes: { readonly before: readonly string[]; readonly later: readonly string[] },
  { json }: RenderFlags,
): void {
  const { file, bytes, warnings } = rendered;
  if (json) {
    writeJson({ outcome: "rendered", ...rendered, notes: [...notes.before, ...notes.later] }, reportStream(file));
    return;
  }
  for (const warning of warnings) say(`warning: ${warning}`);
  for (const note of notes.later) say(`note: ${note}`);
  if (file !== STANDARD_OUTPUT) say(printableLine(`${file}: ${sizeInWords(bytes)}`));
}

/** Standard output, unless the document itself goes there. */
function reportStream(place: string): NodeJS.WriteStream {
  return place === STANDARD_OUTPUT ? process.stderr : process.stdout;
}

function deliver(body: AsyncIterable<Uint8Array> | Uint8Array, place: string, isNamed: boolean): Promise<number> {
  if (place === STANDARD_OUTPUT) return writeToStandardOutput(body);
  return isNamed ? writeNamed(place, body) : writeOutput(place, body);
}

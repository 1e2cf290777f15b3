/** Sends one document of `render`, and writes and reports what comes back. */
import { sizeInWords } from "../../document/size-in-words.ts";
import type { RetryEvent, RetryOptions, ServiceProblem } from "../../typescript/client.ts";
import type { FinishDocument } from "../e-invoice.ts";
import { CommandError, EXIT_CODES } from "../exit-codes.ts";
import {
  addWarnings,
  deliverExamined,
  findMissingFonts,
  findProjectFonts,
  requireFonts,
  requireUnseenFonts,
  textOfImages,
} from "../fonts/missing-fonts.ts";
import { writeNamed, writeOutput, writeToStandardOutput } from "../output-file.ts";
import { STANDARD_OUTPUT } from "../output-options.ts";
import { startProgress } from "../progress.ts";
import { problemDetails, sizeInLines } from "../project/problem-details.ts";
import { requestOf } from "../project/request.ts";
import { fitToService, importsPackages } from "../project/service-packages.ts";
import { reportProblem, retryInWords, writeJson } from "../report.ts";
import { asCommandError, failAsCommand, failureInWords, openService } from "../service.ts";
import { serviceCapabilities } from "../service-cache.ts";
import { printableLine, say } from "../terminal.ts";
import type { PlannedRender } from "./dry-run.ts";
import type { RenderFlags } from "./flags.ts";

interface PreparedRender extends PlannedRender {
  readonly finish: FinishDocument | null;
}

/** Writes the document and reports. @returns the problem if there is none */
export async function send(
  { project, data, output, place, finish }: PreparedRender,
  flags: RenderFlags,
  signal: AbortSignal,
): Promise<ServiceProblem | null> {
  const wanted = findProjectFonts(project);
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
    const fitted = fitToService(project, importsPackages(project) ? await capabilities : null);
    const request = requestOf(fitted.project, data, output);
    const sent = { project: fitted.project, data, request };
    const text = flags.strict ? null : textOfImages(project, [data?.text ?? ""], output);
    const asked = capabilities.then((known) => addWarnings(fitted.warnings, findMissingFonts(wanted, known, text)));
    const examined = { wanted, required: flags.strict ? requireFonts(await asked, service.url) : null };
    const known = await requireUnseenFonts(request, examined, service.client, within).catch(failAsCommand(service.url));
    const onRetry = (event: RetryEvent) => {
      lastFailure = ` ${failureInWords(event.reason, service.url)}`;
      progress.say(retryInWords(event));
    };
    const render = () =>
      service.client.render(request, { signal: within, onRetry }).catch((error: unknown) => {
        throw asCommandError(error, service.url, () => sizeInLines(sent, ""));
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
    const details = [...problemDetails(problem, sent), ...service.detailsOf(problem)];
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

/** At least half a second lies between two: more than the longest `--timeout` has room for. */
const MAX_BUSY_ATTEMPTS = 10_000;

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

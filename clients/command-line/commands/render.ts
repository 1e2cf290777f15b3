/** `render`: sends a project to the service and writes the document that comes back. */
import type { Command } from "@commander-js/extra-typings";
import type { ServiceProblem } from "../../typescript/client.ts";
import type { WantedFonts } from "../../typescript/missing-fonts.ts";
import { sizeInWords } from "../../typescript/size-in-words.ts";
import {
  documentFinisher,
  E_INVOICE_OPTION,
  type FinishDocument,
  PROFILE_OPTION,
  withEInvoiceOutput,
} from "../e-invoice.ts";
import { CommandError, EXIT_CODES, exitCodeOf } from "../exit-codes.ts";
import { interruptible } from "../interruption.ts";
import { findMissingFonts, fontsWantedBy, requireFonts } from "../missing-fonts.ts";
import * as options from "../options.ts";
import { writeNamed, writeOutput, writeToStandardOutput } from "../output-file.ts";
import { extensionOf, outputOf, STANDARD_OUTPUT } from "../output-options.ts";
import { startProgress } from "../progress.ts";
import { requireValidData } from "../project/data-schema.ts";
import { problemDetails, type SentProject, sizeInLines } from "../project/problem-details.ts";
import { collectProject, projectName } from "../project/project.ts";
import { readData, requestOf } from "../project/request.ts";
import { completeFlags } from "../project/saved-options.ts";
import { reportProblem, retryInWords, writeJson } from "../report.ts";
import {
  asCommandError,
  failureInWords,
  isTooLargeForGateway,
  openService,
  throwIfPermanent,
  tooLargeForGateway,
} from "../service.ts";
import { printableLine, say } from "../terminal.ts";
import { showRequest } from "./dry-run.ts";
import { checkCommand, DEFAULT_JOBS, type RenderFlags } from "./flags.ts";

const MAX_TIMEOUT_SECONDS = 3600;

export function addRenderCommand(program: Command, signal: AbortSignal): void {
  program
    .command("render")
    .summary("render a Typst source, or a folder with a main.typ")
    .description(
      "Sends a Typst source with the files that it reads to the service and writes the document. In a folder, main.typ is the source, data.json is the data, and all other files are sent unless the ignore files exclude them.",
    )
    .argument("<source>", "a Typst source, or a folder")
    .option(
      "-o, --output <file>",
      "where to write the document; - is standard output; by default a file named after the source",
    )
    .addOption(options.DATA_OPTION)
    .addOption(options.FILES_OPTION)
    .addOption(options.FORMAT_OPTION)
    .addOption(options.PAGES_OPTION)
    .addOption(options.PAGE_OPTION)
    .addOption(options.PPI_OPTION)
    .addOption(options.ARCHIVE_OPTION)
    .addOption(options.STANDARDS_OPTION)
    .addOption(options.PDF_VERSION_OPTION)
    .option("--filename <name>", "the file name that the service suggests for the download")
    .addOption(E_INVOICE_OPTION)
    .addOption(PROFILE_OPTION)
    .addOption(options.EACH_OPTION)
    .addOption(options.LINE_OPTION)
    .option(
      "--jobs <number>",
      `with --each: requests at the same time; by default ${DEFAULT_JOBS}`,
      options.wholeNumber(1, 64),
    )
    .option("--overwrite", "with --each: render documents again that already exist")
    .option(
      "--timeout <seconds>",
      "how long each document may take, tries included; with --each, each try",
      options.secondsUpTo(MAX_TIMEOUT_SECONDS),
    )
    .option("--dry-run", "list what would be sent, and send nothing")
    .addOption(options.VERBOSE_OPTION)
    .addOption(options.STRICT_OPTION)
    .addOption(options.URL_OPTION)
    .addOption(options.TOKEN_FILE_OPTION)
    .addOption(options.JSON_OPTION)
    .action(async (source, named) => {
      const flags = await completeFlags(source, named);
      if (flags.each === undefined) {
        process.exitCode = await render(source, flags, signal);
      } else {
        const { renderEach } = await import("./render-each.ts");
        process.exitCode = await renderEach(source, flags, signal);
      }
    });
}

async function render(source: string, flags: RenderFlags, signal: AbortSignal): Promise<number> {
  for (const name of ["jobs", "overwrite", "line"] as const) {
    if (flags[name] !== undefined) throw new CommandError(`--${name} needs --each.`);
  }
  const outputFlags = withEInvoiceOutput(flags);
  const output = outputOf(outputFlags);
  const finish = await documentFinisher(flags);
  const place = flags.output ?? `${await projectName(source)}.${extensionOf(output)}`;
  const project = await collectProject(source, {
    patterns: flags.files ?? [],
    leaveOut: [place, ...(flags.data === undefined ? [] : [flags.data])].filter((path) => path !== STANDARD_OUTPUT),
    namesData: flags.data !== undefined,
  });
  const data = await readData(project, flags.data ?? null);
  const request = requestOf(project, data, output);
  if (flags.dryRun) return showRequest({ project, data, request, place }, flags);
  await requireValidData(project, data, "sent");
  const wanted = fontsWantedBy(project);
  const prepared = { project, data, request, place, wanted, finish };
  const problem = await interruptible(() => send(prepared, flags, signal));
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
async function send(prepared: PreparedRender, flags: RenderFlags, signal: AbortSignal): Promise<ServiceProblem | null> {
  const { project, data, request, place, wanted, finish } = prepared;
  const timeout = flags.timeout === undefined ? null : AbortSignal.timeout(Math.ceil(flags.timeout * 1000));
  const within = timeout === null ? signal : AbortSignal.any([signal, timeout]);
  const notes = [...project.warnings, ...project.notes, ...(data?.notes ?? [])];

  let lastFailure = "";
  const progress = startProgress(`Rendering ${project.sourceName}`);
  try {
    if (!flags.json) for (const note of notes) progress.log(`note: ${note}`);
    const service = await openService(flags, {}, progress.log);
    const asked = findMissingFonts(wanted, service.url, within);
    if (flags.strict) requireFonts(await asked, service.url);
    const result = await service.client
      .render(request, {
        signal: within,
        onRetry: (event) => {
          throwIfPermanent(event.reason);
          lastFailure = ` ${failureInWords(event.reason, service.url)}`;
          progress.say(retryInWords(event));
        },
      })
      .catch((error: unknown) => {
        if (!isTooLargeForGateway(error)) throw asCommandError(error, service.url);
        throw tooLargeForGateway(service.url, sizeInLines(prepared, ""));
      });
    if (result.ok) {
      progress.say(`Receiving ${place}`);
      const bytes = await Promise.resolve(finish === null ? result.body : finish(result))
        .then((body) => deliver(body, place, flags.output !== undefined))
        .catch((error: unknown) => {
          throw asCommandError(error, service.url);
        });
      const fonts = await asked;
      const { warnings } = fonts;
      progress.stop();
      if (flags.json) {
        const { contentType, requestId } = result;
        const said = { warnings, notes: [...notes, ...fonts.notes] };
        writeJson({ outcome: "rendered", file: place, bytes, contentType, requestId, ...said }, reportStream(place));
        return null;
      }
      for (const warning of warnings) say(`warning: ${warning}`);
      for (const note of fonts.notes) say(`note: ${note}`);
      if (place !== STANDARD_OUTPUT) say(printableLine(`${place}: ${sizeInWords(bytes)}`));
      return null;
    }
    progress.stop();
    const { problem } = result;
    const details = [...problemDetails(problem, prepared), ...service.detailsOf(problem)];
    reportProblem(result, details, flags.json ? reportStream(place) : null);
    return problem;
  } catch (error) {
    if (!timeout?.aborted || signal.aborted) throw error;
    const message = `The document did not arrive within ${flags.timeout} s (--timeout).${lastFailure}`;
    throw new CommandError(message, EXIT_CODES.unreachable);
  } finally {
    progress.stop();
  }
}

/** Standard output, unless the document itself goes there. */
function reportStream(place: string): NodeJS.WriteStream {
  return place === STANDARD_OUTPUT ? process.stderr : process.stdout;
}

function deliver(body: ReadableStream<Uint8Array>, place: string, isNamed: boolean): Promise<number> {
  if (place === STANDARD_OUTPUT) return writeToStandardOutput(body);
  return isNamed ? writeNamed(place, body) : writeOutput(place, body);
}

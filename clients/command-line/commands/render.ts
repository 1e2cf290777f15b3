/**
 * `render`: sends a project to the service and writes the document that comes back.
 */
import { type Command, InvalidArgumentError } from "@commander-js/extra-typings";
import type { WantedFonts } from "../../typescript/missing-fonts.ts";
import type { RenderRequest } from "../../typescript/render-request.ts";
import { sizeInWords } from "../../typescript/size-in-words.ts";
import {
  documentFinisher,
  E_INVOICE_OPTION,
  type FinishDocument,
  PROFILE_OPTION,
  withEInvoiceOutput,
} from "../e-invoice.ts";
import { CommandError, EXIT_CODES, type ExitCode, exitCodeOf } from "../exit-codes.ts";
import { interruptible } from "../interruption.ts";
import { type FontFindings, findMissingFonts, fontsWantedBy, requireFonts } from "../missing-fonts.ts";
import {
  ARCHIVE_OPTION,
  DATA_OPTION,
  EACH_OPTION,
  FILES_OPTION,
  FORMAT_OPTION,
  JSON_OPTION,
  LINE_OPTION,
  PAGE_OPTION,
  PAGES_OPTION,
  PDF_VERSION_OPTION,
  PPI_OPTION,
  STANDARDS_OPTION,
  STRICT_OPTION,
  TOKEN_FILE_OPTION,
  URL_OPTION,
  VERBOSE_OPTION,
  wholeNumber,
} from "../options.ts";
import { writeNamedOutput, writeOutput, writeToStandardOutput } from "../output-file.ts";
import { extensionOf, outputOf, STANDARD_OUTPUT } from "../output-options.ts";
import { startProgress } from "../progress.ts";
import { requireValidData } from "../project/data-schema.ts";
import { problemDetails } from "../project/problem-details.ts";
import { collectProject, type Project, projectName } from "../project/project.ts";
import { type DataText, readData, requestOf } from "../project/request.ts";
import { sizeInLines } from "../project/request-size.ts";
import { completeFlags } from "../project/saved-options.ts";
import { problemOutcome, retryInWords, writeJson, writeProblem } from "../report.ts";
import {
  asCommandError,
  failureInWords,
  isTooLargeForGateway,
  openService,
  throwIfPermanent,
  tooLargeForGateway,
} from "../service.ts";
import { printableLine, say } from "../terminal.ts";
import { checkCommand } from "./check-command.ts";
import { showRequest } from "./dry-run.ts";
import { DEFAULT_JOBS, type RenderFlags } from "./flags.ts";

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
    .addOption(DATA_OPTION)
    .addOption(FILES_OPTION)
    .addOption(FORMAT_OPTION)
    .addOption(PAGES_OPTION)
    .addOption(PAGE_OPTION)
    .addOption(PPI_OPTION)
    .addOption(ARCHIVE_OPTION)
    .addOption(STANDARDS_OPTION)
    .addOption(PDF_VERSION_OPTION)
    .option("--filename <name>", "the file name that the service suggests for the download")
    .addOption(E_INVOICE_OPTION)
    .addOption(PROFILE_OPTION)
    .addOption(EACH_OPTION)
    .addOption(LINE_OPTION)
    .option("--jobs <number>", `with --each: requests at the same time; by default ${DEFAULT_JOBS}`, wholeNumber(1, 64))
    .option("--overwrite", "with --each: render documents again that already exist")
    .option(
      "--timeout <seconds>",
      "how long each document may take, tries included; with --each, each try",
      readSeconds,
    )
    .option("--dry-run", "list what would be sent, and send nothing")
    .addOption(VERBOSE_OPTION)
    .addOption(STRICT_OPTION)
    .addOption(URL_OPTION)
    .addOption(TOKEN_FILE_OPTION)
    .addOption(JSON_OPTION)
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
  const { exitCode, isNotCompiled } = await interruptible(() => send(prepared, flags, signal));
  if (isNotCompiled && flags.json !== true) say(`  To see the error: ${checkCommand(source, outputFlags)}`);
  return exitCode;
}

interface PreparedRender {
  readonly project: Project;
  readonly data: DataText | null;
  readonly request: RenderRequest;
  readonly place: string;
  readonly wanted: WantedFonts;
  readonly finish: FinishDocument | null;
}

interface EndedRender {
  readonly exitCode: ExitCode;
  /** Whether Typst has refused the template. */
  readonly isNotCompiled: boolean;
}

async function send(
  { project, data, request, place, wanted, finish }: PreparedRender,
  flags: RenderFlags,
  signal: AbortSignal,
): Promise<EndedRender> {
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
        throw tooLargeForGateway(service.url, sizeInLines({ project, data, request }, ""));
      });
    if (result.ok) {
      progress.say(`Receiving ${place}`);
      const write = async () =>
        deliver(finish === null ? result.body : await finish(result), place, flags.output !== undefined);
      const bytes = await write().catch((error: unknown) => {
        throw asCommandError(error, service.url);
      });
      progress.stop();
      reportRendered({ ...result, bytes, place, notes, fonts: await asked }, flags);
      return { exitCode: EXIT_CODES.success, isNotCompiled: false };
    }
    progress.stop();
    const { problem, checkedLocally } = result;
    const details = [...problemDetails(problem, { project, data, request }), ...service.detailsOf(problem)];
    if (flags.json) writeJson(problemOutcome(problem, checkedLocally, details), reportStream(place));
    else writeProblem(problem, checkedLocally, details);
    return { exitCode: exitCodeOf(problem), isNotCompiled: problem.code === "template_compile_failed" };
  } catch (error) {
    if (!timeout?.aborted || signal.aborted) throw error;
    const message = `The document did not arrive within ${flags.timeout} s (--timeout).${lastFailure}`;
    throw new CommandError(message, EXIT_CODES.unreachable);
  } finally {
    progress.stop();
  }
}

interface Rendered {
  readonly place: string;
  readonly bytes: number;
  readonly contentType: string;
  readonly requestId: string | null;
  readonly notes: readonly string[];
  readonly fonts: FontFindings;
}

function reportRendered({ place, bytes, contentType, requestId, notes, fonts }: Rendered, flags: RenderFlags): void {
  const { warnings } = fonts;
  if (flags.json) {
    const all = [...notes, ...fonts.notes];
    const outcome = { outcome: "rendered", file: place, bytes, contentType, requestId, warnings, notes: all } as const;
    writeJson(outcome, reportStream(place));
    return;
  }
  for (const warning of warnings) say(`warning: ${warning}`);
  for (const note of fonts.notes) say(`note: ${note}`);
  if (place !== STANDARD_OUTPUT) say(printableLine(`${place}: ${sizeInWords(bytes)}`));
}

/** Standard output, unless the document itself goes there. */
function reportStream(place: string): NodeJS.WriteStream {
  return place === STANDARD_OUTPUT ? process.stderr : process.stdout;
}

function deliver(body: ReadableStream<Uint8Array>, place: string, isNamed: boolean): Promise<number> {
  if (place === STANDARD_OUTPUT) return writeToStandardOutput(body);
  return isNamed ? writeNamedOutput(place, body) : writeOutput(place, body);
}

function readSeconds(value: string): number {
  const seconds = Number(value);
  if (seconds > 0 && seconds <= MAX_TIMEOUT_SECONDS) return seconds;
  throw new InvalidArgumentError(`It must be a number of seconds, up to ${MAX_TIMEOUT_SECONDS}.`);
}

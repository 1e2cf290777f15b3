/**
 * `render`: sends a project to the service and writes the document that comes back.
 */
import { type Command, InvalidArgumentError } from "@commander-js/extra-typings";
import { documentFinisher, E_INVOICE_OPTION, PROFILE_OPTION, withEInvoiceOutput } from "../e-invoice.ts";
import { CommandError, EXIT_CODES, exitCodeOf } from "../exit-codes.ts";
import { findMissingFonts, requireFonts } from "../missing-fonts.ts";
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
import { writeOutput, writeToStandardOutput } from "../output-file.ts";
import { extensionOf, outputOf, STANDARD_OUTPUT } from "../output-options.ts";
import { requireValidData } from "../project/data-schema.ts";
import { problemDetails } from "../project/problem-details.ts";
import { collectProject, projectName } from "../project/project.ts";
import { readData, requestOf } from "../project/request.ts";
import { sizeInLines } from "../project/request-size.ts";
import { problemOutcome, retryInWords, writeJson, writeProblem } from "../report.ts";
import {
  asCommandError,
  failureInWords,
  isTooLargeForGateway,
  openService,
  throwIfPermanent,
  tooLargeForGateway,
} from "../service.ts";
import { confirm, printableLine, say, sizeInWords, startProgress } from "../terminal.ts";
import { checkCommand } from "./check-command.ts";
import { showRequest } from "./dry-run.ts";
import { DEFAULT_JOBS, type RenderFlags } from "./render-flags.ts";

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
    .action(async (source, flags) => {
      if (flags.each === undefined) {
        process.exitCode = await render(source, flags, signal);
      } else {
        const { renderEach } = await import("./render-each.ts");
        process.exitCode = await renderEach(source, flags, signal);
      }
    });
}

/** Renders one document. @returns the exit code */
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
  const json = place === STANDARD_OUTPUT ? process.stderr : process.stdout;
  const timeout = flags.timeout === undefined ? null : AbortSignal.timeout(Math.ceil(flags.timeout * 1000));
  const within = timeout === null ? signal : AbortSignal.any([signal, timeout]);
  const notes = [...project.warnings, ...project.notes, ...(data?.notes ?? [])];

  let lastFailure = "";
  const progress = startProgress(`Rendering ${project.sourceName}`);
  try {
    if (!flags.json) for (const note of notes) progress.log(`note: ${note}`);
    const service = await openService(flags, {}, progress.log);
    const asked = findMissingFonts(project, data === null ? [] : [data.text], service.url, within);
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
        throw tooLargeForGateway(service.url, sizeInLines(project, data, request, ""));
      });
    if (result.ok) {
      progress.say(`Receiving ${place}`);
      const note = (line: string) => (flags.json ? void notes.push(line) : progress.log(`note: ${line}`));
      const write = async () => deliver(finish === null ? result.body : await finish(result.body, note), place);
      const size = await write().catch((error: unknown) => {
        throw error instanceof TypeError
          ? new CommandError(
              "The connection broke before the whole document had arrived. Try again.",
              EXIT_CODES.unreachable,
            )
          : error;
      });
      progress.stop();
      const { warnings } = await asked;
      if (!flags.json) for (const warning of warnings) say(`warning: ${warning}`);
      const { contentType, requestId } = result;
      const rendered = {
        outcome: "rendered",
        file: place,
        bytes: size,
        contentType,
        requestId,
        warnings,
        notes,
      } as const;
      if (flags.json) writeJson(rendered, json);
      else if (place !== STANDARD_OUTPUT) say(printableLine(`${place}: ${sizeInWords(size)}`));
      return EXIT_CODES.success;
    }
    progress.stop();
    const { problem, checkedLocally } = result;
    const details = [...problemDetails(problem, project, data, request), ...service.detailsOf(problem)];
    if (flags.json) writeJson(problemOutcome(problem, checkedLocally, details), json);
    else writeProblem(problem, checkedLocally, details);
    if (problem.code === "template_compile_failed" && !flags.json) await offerCheck(source, outputFlags, signal);
    return exitCodeOf(problem);
  } catch (error) {
    if (!timeout?.aborted || signal.aborted) throw error;
    const message = `The document did not arrive within ${flags.timeout} s (--timeout).${lastFailure}`;
    throw new CommandError(message, EXIT_CODES.unreachable);
  } finally {
    progress.stop();
  }
}

function deliver(body: ReadableStream<Uint8Array>, place: string): Promise<number> {
  return place === STANDARD_OUTPUT ? writeToStandardOutput(body) : writeOutput(place, body);
}

/** Offers a way to see Typst's own message, which the service never passes on. */
async function offerCheck(source: string, flags: RenderFlags, signal: AbortSignal): Promise<void> {
  if (flags.data !== STANDARD_OUTPUT && (await confirm("Compile it on this machine to see the error?"))) {
    const { checkProject } = await import("./check.ts");
    await checkProject(source, flags, signal);
    return;
  }
  say(`  To see the error: ${checkCommand(source, flags)}`);
}

function readSeconds(value: string): number {
  const seconds = Number(value);
  if (seconds > 0 && seconds <= MAX_TIMEOUT_SECONDS) return seconds;
  throw new InvalidArgumentError(`It must be a number of seconds, up to ${MAX_TIMEOUT_SECONDS}.`);
}

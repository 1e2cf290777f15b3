/**
 * `render`: sends a project to the service and writes the document that comes back.
 */
import { basename, extname } from "node:path";
import type { Command } from "@commander-js/extra-typings";
import { CommandError, EXIT_CODES, exitCodeOf } from "../exit-codes.ts";
import { findMissingFonts, requireFonts } from "../missing-fonts.ts";
import {
  ARCHIVE_OPTION,
  DATA_OPTION,
  FILES_OPTION,
  FORMAT_OPTION,
  JSON_OPTION,
  PAGE_OPTION,
  PAGES_OPTION,
  PDF_VERSION_OPTION,
  PPI_OPTION,
  STANDARDS_OPTION,
  STRICT_OPTION,
  TOKEN_FILE_OPTION,
  URL_OPTION,
  wholeNumber,
} from "../options.ts";
import { writeToStandardOutput, writeWhole } from "../output-file.ts";
import { extensionOf, outputOf, STANDARD_OUTPUT } from "../output-options.ts";
import { requireValidData } from "../project/data-schema.ts";
import { collectProject, type Project } from "../project/project.ts";
import { readData, requestOf } from "../project/request.ts";
import { problemOutcome, retryInWords, writeJson, writeProblem } from "../report.ts";
import { asCommandError, openService } from "../service.ts";
import { confirm, printableLine, say, sizeInWords, startProgress } from "../terminal.ts";
import { checkProject } from "./check.ts";
import { renderEach } from "./render-each.ts";
import { DEFAULT_JOBS, type RenderFlags } from "./render-flags.ts";

export function addRenderCommand(program: Command, signal: AbortSignal): void {
  program
    .command("render")
    .summary("render a Typst source, or a folder with a main.typ")
    .description(
      "Sends a Typst source with the files that it reads to the service and writes the document. In a folder, main.typ is the source, data.json is the data, and all other files are sent unless the ignore files exclude them.",
    )
    .argument("<source>", "a Typst source, or a folder")
    .option("-o, --output <file>", "where the document goes; - is standard output; by default the name of the source")
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
    .option(
      "--each <file>",
      "JSON Lines: renders a document for each line, which is its data; see --output 'letters/{name}.pdf'",
    )
    .option("--jobs <number>", `with --each: requests at the same time; by default ${DEFAULT_JOBS}`, wholeNumber(1, 64))
    .option("--overwrite", "with --each: render documents again that already exist")
    .addOption(STRICT_OPTION)
    .addOption(URL_OPTION)
    .addOption(TOKEN_FILE_OPTION)
    .addOption(JSON_OPTION)
    .action(async (source, flags) => {
      const exitCode =
        flags.each === undefined ? await render(source, flags, signal) : await renderEach(source, flags, signal);
      process.exitCode = exitCode;
    });
}

/** Renders one document. @returns the exit code */
async function render(source: string, flags: RenderFlags, signal: AbortSignal): Promise<number> {
  for (const name of ["jobs", "overwrite"] as const) {
    if (flags[name] !== undefined) throw new CommandError(`--${name} needs --each.`);
  }
  const output = outputOf(flags);
  const project = await collectProject(source, { patterns: flags.files ?? [], leaveOut: leftOut(flags) });
  const place = flags.output ?? `${nameOf(project)}.${extensionOf(output)}`;
  const data = await readData(project, flags.data ?? null);
  await requireValidData(project, data, "sent");
  const service = await openService(flags);
  const json = place === STANDARD_OUTPUT ? process.stderr : process.stdout;

  const progress = startProgress(`Rendering ${project.sourceName}`);
  try {
    if (!flags.json) for (const warning of project.warnings) progress.log(`note: ${warning}`);
    const fonts = findMissingFonts(project, data === null ? [] : [data.text], service.url, signal);
    if (flags.strict) requireFonts(await fonts, service.url);
    const result = await service.client
      .render(requestOf(project, data, output), {
        signal,
        onRetry: (event) => progress.say(retryInWords(event)),
      })
      .catch((error: unknown) => {
        throw asCommandError(error, service.url);
      });
    if (result.ok) {
      progress.say(`Receiving ${place}`);
      const size = await deliver(result.body, place).catch((error: unknown) => {
        throw error instanceof TypeError ? new CommandError("The connection broke.", EXIT_CODES.unreachable) : error;
      });
      progress.stop();
      const { warnings } = await fonts;
      const { contentType, requestId } = result;
      if (!flags.json) for (const warning of warnings) say(`warning: ${warning}`);
      if (flags.json)
        writeJson({ outcome: "rendered", file: place, bytes: size, contentType, requestId, warnings }, json);
      else if (place !== STANDARD_OUTPUT) say(printableLine(`${place}: ${sizeInWords(size)}`));
      return EXIT_CODES.success;
    }
    progress.stop();
    const { problem, checkedLocally } = result;
    if (flags.json) writeJson(problemOutcome(problem, checkedLocally), json);
    else writeProblem(problem, checkedLocally);
    if (problem.code === "template_compile_failed" && !flags.json) await offerCheck(source, flags, signal);
    return exitCodeOf(problem);
  } finally {
    progress.stop();
  }
}

/** The document itself, and what it would carry to the service the next time. */
function leftOut({ output }: RenderFlags): string[] {
  return output === undefined || output === STANDARD_OUTPUT ? [] : [output];
}

function nameOf({ sourceName }: Project): string {
  return basename(sourceName, extname(sourceName));
}

async function deliver(body: ReadableStream<Uint8Array>, place: string): Promise<number> {
  if (place !== STANDARD_OUTPUT) return writeWhole(place, body);
  let size = 0;
  await writeToStandardOutput(
    (async function* counted() {
      for await (const chunk of body) {
        size += chunk.length;
        yield chunk;
      }
    })(),
  );
  return size;
}

/** The way to Typst's own words, which the service never passes on. */
async function offerCheck(source: string, flags: RenderFlags, signal: AbortSignal): Promise<void> {
  if (flags.data !== STANDARD_OUTPUT && (await confirm("Compile it on this machine to see the error?"))) {
    await checkProject(source, flags, signal);
    return;
  }
  say(printableLine(`  To see the error: ${checkCommand(source, flags)}`));
}

function checkCommand(source: string, { data, files = [], output }: RenderFlags): string {
  const parts = ["document-rendering", "check", source];
  if (data !== undefined) parts.push("--data", data);
  for (const pattern of files) parts.push("--files", pattern);
  const extension = output === undefined ? "" : extname(output);
  if (extension !== "" && extension !== ".pdf") parts.push("--format", extension.slice(1));
  return parts.map((part) => (/^[\w./:=@%+-]+$/.test(part) ? part : `'${part.replaceAll("'", "'\\''")}'`)).join(" ");
}

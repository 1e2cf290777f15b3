/**
 * `check`: compiles a project on this machine under the service's conditions and shows what Typst says. The service
 * never passes that on, because it must not reveal anything of a template to those who see only its answers.
 */
import { createHash } from "node:crypto";
import { basename, extname, join, resolve } from "node:path";
import type { Command } from "@commander-js/extra-typings";
import type { Output } from "../../../rules/output-options.ts";
import { cacheFolder } from "../../../typst/cache-folder.mjs";
import { CommandError, EXIT_CODES, type ExitCode, exitCodeOf } from "../exit-codes.ts";
import type { Compiled } from "../local/compile.ts";
import { colouredDiagnostics } from "../local/diagnostics.ts";
import { renderLocally } from "../local/local-render.ts";
import { memberHints } from "../local/member-hints.ts";
import { askedOnce, compareWithService, type MissingInWords } from "../local/missing-here.ts";
import { operatorFolders } from "../local/operator-folders.ts";
import { findTypst } from "../local/typst.ts";
import { fontsWantedBy } from "../missing-fonts.ts";
import {
  ARCHIVE_OPTION,
  DATA_OPTION,
  EACH_OPTION,
  FILES_OPTION,
  FONT_PATH_OPTION,
  FORMAT_OPTION,
  JSON_OPTION,
  LINE_OPTION,
  PACKAGE_PATH_OPTION,
  PAGE_OPTION,
  PAGES_OPTION,
  PDF_VERSION_OPTION,
  PPI_OPTION,
  STANDARDS_OPTION,
  STRICT_OPTION,
  TYPST_OPTION,
  URL_OPTION,
} from "../options.ts";
import { writeNamedOutput, writeWhole } from "../output-file.ts";
import { outputOf, STANDARD_OUTPUT } from "../output-options.ts";
import { requireValidData } from "../project/data-schema.ts";
import { leftOutDetails, problemDetails } from "../project/problem-details.ts";
import { collectProject, type Project } from "../project/project.ts";
import { readData } from "../project/request.ts";
import { completeFlags } from "../project/saved-options.ts";
import { problemOutcome, writeJson, writeProblem } from "../report.ts";
import { printable, printableLine, say } from "../terminal.ts";
import type { CheckFlags } from "./flags.ts";

export function addCheckCommand(program: Command, signal: AbortSignal): void {
  program
    .command("check")
    .summary("compile on this machine as the service would, and show what Typst says")
    .description(
      "Compiles a project on this machine with the service's Typst, under its prelude, options and fonts, and shows Typst's own diagnostics with the lines of your files. Nothing is sent. There is no sandbox: check only what you would open.",
    )
    .argument("<source>", "a Typst source, or a folder")
    .option("-o, --output <file>", "where the document goes; by default it is discarded")
    .addOption(DATA_OPTION)
    .addOption(EACH_OPTION)
    .addOption(LINE_OPTION)
    .addOption(FILES_OPTION)
    .addOption(FORMAT_OPTION)
    .addOption(PAGES_OPTION)
    .addOption(PAGE_OPTION)
    .addOption(PPI_OPTION)
    .addOption(ARCHIVE_OPTION)
    .addOption(STANDARDS_OPTION)
    .addOption(PDF_VERSION_OPTION)
    .option("-w, --watch", "check again whenever a file of the project changes")
    .option("--open", "open the document, or its first page, in the system's viewer")
    .addOption(STRICT_OPTION)
    .addOption(TYPST_OPTION)
    .addOption(FONT_PATH_OPTION)
    .addOption(PACKAGE_PATH_OPTION)
    .addOption(URL_OPTION)
    .addOption(JSON_OPTION)
    .action(async (source, flags) => {
      if (flags.line !== undefined && flags.each === undefined) throw new CommandError("--line needs --each.");
      if (flags.each !== undefined) {
        const { checkEach } = await import("./check-each.ts");
        process.exitCode = await checkEach(source, await completeFlags(source, flags), signal);
      } else if (flags.watch) process.exitCode = await watch(source, flags, signal);
      else process.exitCode = (await checkProject(source, flags, signal)).exitCode;
    });
}

export interface Checked {
  readonly exitCode: ExitCode;
  /** Where the first page is; null if it was not kept. */
  readonly page: string | null;
}

/**
 * Checks a project once and reports.
 *
 * @throws CommandError when the project cannot be read, or there is no Typst
 */
export async function checkProject(source: string, named: CheckFlags, signal: AbortSignal): Promise<Checked> {
  const flags = await completeFlags(source, named);
  const output = outputOf(flags);
  const leaveOut = [flags.output ?? [], flags.data ?? []].flat().filter((path) => path !== STANDARD_OUTPUT);
  const namesData = flags.data !== undefined;
  const project = await collectProject(source, { patterns: flags.files ?? [], leaveOut, namesData });
  const data = await readData(project, flags.data ?? null);
  await requireValidData(project, data, "compiled");
  const local = { typstPath: await findTypst(flags.typst), url: flags.url, ...operatorFolders(flags) };
  const rendered = await renderLocally(project, data, { options: output, local }, signal);
  if (rendered.kind === "refused") {
    const { problem, request } = rendered;
    const details = problemDetails(problem, { project, data, request });
    if (flags.json) writeJson(problemOutcome(problem, true, details));
    else writeProblem(problem, true, details);
    return { exitCode: exitCodeOf(problem), page: null };
  }
  const { compiled, limits } = rendered;
  const capabilities = askedOnce(flags.url, signal);
  const missing = await compareWithService(
    { compiled, project, data, wanted: fontsWantedBy(project), local: { ...local, limits }, capabilities },
    signal,
  );
  const page = await keepPages(compiled, project, rendered.output, flags);
  if (flags.open && !flags.watch && page !== null) await openPage(resolve(page));
  const notes = [
    ...project.notes,
    ...(data?.notes ?? []),
    ...memberHints(compiled.diagnostics, data),
    ...(compiled.ok ? [] : leftOutDetails(project)),
  ];
  const found: Found = { compiled, project, notes, missing };
  const report = reportOf(found, flags);
  writeReport(found, report, flags);
  const isFine = compiled.ok && !(flags.strict && missing.warnings.length > 0);
  return { exitCode: isFine ? EXIT_CODES.success : EXIT_CODES.template, page };
}

/** Writes the pages where the caller wants them, or where a viewer can open them. @returns the path of the first */
async function keepPages(
  compiled: Compiled,
  project: Project,
  output: Output,
  flags: CheckFlags,
): Promise<string | null> {
  const [first] = compiled.pages;
  if (first === undefined || (flags.output === undefined && !flags.open)) return null;
  if (compiled.pages.length > 1 || extname(flags.output ?? "") === ".zip") {
    if (flags.output !== undefined)
      throw new CommandError("check does not write ZIP files: omit --output, or use render.");
  }
  if (flags.output === STANDARD_OUTPUT) throw new CommandError("check does not write to standard output: use render.");
  const name = basename(project.sourceName, extname(project.sourceName));
  const folder = join(
    cacheFolder(),
    "preview",
    createHash("sha256").update(project.sourcePath).digest("hex").slice(0, 16),
  );
  const paths = compiled.pages.map((_, index) => {
    const number = compiled.pages.length > 1 ? `-${String(index + 1).padStart(2, "0")}` : "";
    return flags.output ?? join(folder, `${name}${number}.${output.format}`);
  });
  const write = flags.output === undefined ? writeWhole : writeNamedOutput;
  for (const [index, bytes] of compiled.pages.entries()) await write(paths[index] ?? "", bytes);
  return paths[0] ?? null;
}

/** What a check has found, as text: Typst's report, with the notes and warnings of this program. */
function reportOf(found: Found, { strict }: CheckFlags): string {
  const { compiled, project, notes, missing } = found;
  const { ok, text, reason } = compiled;
  const isPackage = !ok && /package/.test(text) && /@[a-z]+\//.test(project.source.toString("utf8"));
  return [
    ...[...(!ok || text !== "" ? project.warnings : []), ...notes].map((note) => `note: ${note}`),
    ...(text === "" ? [] : [text]),
    ...(reason === null ? [] : [`error: ${reason}`]),
    ...(isPackage
      ? ["note: The service downloads no packages. It has only those that its operator installed: see --package-path."]
      : []),
    ...missing.warnings.map((warning) => `${strict ? "error" : "warning"}: ${warning}`),
    ...missing.notes.map((note) => `note: ${note}`),
  ].join("\n");
}

interface Found {
  readonly compiled: Compiled;
  readonly project: Project;
  readonly notes: readonly string[];
  readonly missing: MissingInWords;
}

function writeReport({ compiled, project, notes, missing }: Found, report: string, flags: CheckFlags): void {
  const { ok, diagnostics, reason } = compiled;
  const { warnings } = missing;
  if (flags.json) {
    const all = [...project.warnings, ...notes, ...missing.notes];
    writeJson({ outcome: ok ? "compiled" : "not-compiled", diagnostics, reason, notes: all, warnings });
    return;
  }
  if (report !== "") process.stderr.write(`${colouredDiagnostics(printable(report), process.stderr)}\n`);
  const hasWarnings = diagnostics.length + warnings.length > 0;
  if (ok) say(printableLine(`${project.sourceName} compiles${hasWarnings ? ", with warnings" : ""}.`));
}

async function openPage(place: string): Promise<void> {
  const { default: open } = await import("open");
  const viewer = await open(place);
  // A missing viewer is no reason to stop.
  viewer.on("error", () => say(printableLine(`No viewer could open ${place}.`)));
}

async function watch(source: string, flags: CheckFlags, signal: AbortSignal): Promise<ExitCode> {
  if (flags.data === STANDARD_OUTPUT) throw new CommandError("--watch cannot read data from standard input.");
  const { watchProject } = await import("../watch.ts");
  let isOpen = false;
  await watchProject(
    {
      source,
      further: flags.data === undefined ? [] : [flags.data],
      except: [cacheFolder(), ...(flags.output === undefined ? [] : [flags.output])],
    },
    signal,
    async () => {
      try {
        const { page } = await checkProject(source, flags, signal);
        // Viewers reload a file that changes. A new window each time would be in the way.
        if (flags.open && page !== null && !isOpen) {
          isOpen = true;
          await openPage(resolve(page));
        }
      } catch (error) {
        // A file may be half saved, or have a mistake in it: the next change starts another check.
        if (!(error instanceof CommandError)) throw error;
        say(error.message);
      }
    },
  );
  return EXIT_CODES.interrupted;
}

/**
 * `check`: compiles a project on this machine under the service's conditions and shows what Typst says. The service
 * never passes that on, because it must not reveal anything of a template to those who see only its answers.
 */
import { createHash } from "node:crypto";
import { basename, extname, join, resolve } from "node:path";
import type { Command } from "@commander-js/extra-typings";
import type { Output } from "../../../rules/output-options.ts";
import { cacheFolder } from "../../../typst/cache-folder.mjs";
import { CommandError, EXIT_CODES, type ExitCode } from "../exit-codes.ts";
import { isStream } from "../files/folder.ts";
import { fitFiles } from "../fit-files.ts";
import { findProjectFonts } from "../fonts/missing-fonts.ts";
import { keptFolder } from "../kept-folder.ts";
import { type Compiled, renderLocally } from "../local/compile.ts";
import { sayDiagnostics } from "../local/diagnostics.ts";
import { noteHeavyImages } from "../local/heavy-documents.ts";
import { compareWithService, type MissingInWords, makeCapabilitiesReader } from "../local/missing-here.ts";
import { describeNotSent } from "../local/not-sent.ts";
import { localSettings } from "../local/operator-folders.ts";
import { describeRawLinks } from "../local/raw-links.ts";
import { requireOutputPlace, writeNamed, writeWhole } from "../output-file.ts";
import { outputOf, STANDARD_OUTPUT } from "../output-options.ts";
import { requireValidData } from "../project/data-schema.ts";
import { problemDetails } from "../project/problem-details.ts";
import { filesOfProject, type Project } from "../project/project.ts";
import { readData } from "../project/request.ts";
import { completeFlags } from "../project/saved-options.ts";
import { openDocumentProject } from "../project/template-findings.ts";
import { reportProblem, writeJson } from "../report.ts";
import { printableLine, say } from "../terminal.ts";
import { type CheckFlags, defineCheckCommand, withOutput } from "./flags.ts";

export function addCheckCommand(program: Command, signal: AbortSignal): void {
  defineCheckCommand(program).action(async (source, place, named) => {
    const flags = withOutput(named, place);
    for (const name of ["line", "delimiter"] as const) {
      if (flags[name] !== undefined && flags.each === undefined) throw new CommandError(`--${name} needs --each.`);
    }
    if (flags.each !== undefined) {
      const { checkEach } = await import("./check-each.ts");
      process.exitCode = await checkEach(source, completeFlags(source, flags), signal);
    } else if (flags.watch) process.exitCode = await watch(source, flags, signal);
    else process.exitCode = (await checkProject(source, flags, signal)).exitCode;
  });
}

/** @returns also the path of the first page, if it was kept. @throws CommandError when there is no project or no Typst */
async function checkProject(
  source: string,
  named: CheckFlags,
  signal: AbortSignal,
  watchAlso: (paths: readonly string[]) => void = () => {},
) {
  const flags = completeFlags(source, named);
  const output = outputOf(flags);
  if (flags.output === STANDARD_OUTPUT) throw new CommandError("check does not write to standard output: use render.");
  if (flags.output !== undefined) await requireOutputPlace(flags.output);
  // Typst says its version while the project is read.
  const settings = localSettings(flags);
  settings.catch(() => {});
  const project = await fitFiles(openDocumentProject(source, flags, "check", flags.output), flags, null);
  watchAlso(filesOfProject(project));
  const data = await readData(project, flags.data ?? null);
  await requireValidData(project, data, "compiled");
  const local = await settings;
  const rendered = await renderLocally(project, data, { options: output, local }, signal);
  if (rendered.kind === "refused") {
    const { problem, request, failed } = rendered;
    const details = problemDetails(problem, { project, data, request });
    const json = flags.json ? process.stdout : null;
    const exitCode = reportProblem({ problem, checkedLocally: true }, details, json);
    if (failed !== null && flags.json) writeJson({ outcome: "not-compiled", ...failed });
    else if (failed !== null) sayDiagnostics(failed.text);
    return { exitCode, page: null };
  }
  const { compiled } = rendered;
  const capabilities = makeCapabilitiesReader(flags.url, signal);
  const checked = { project, wanted: findProjectFonts(project), data, local, capabilities };
  const missing = await compareWithService(rendered, checked, signal);
  const page = await keepPages(compiled, project, rendered.output, flags);
  if (flags.open && !flags.watch && page !== null) await openPage(resolve(page));
  const notSent = describeNotSent(project, compiled);
  const notes = [...project.notes, ...(data?.notes ?? []), ...notSent];
  if (rendered.output.format === "pdf") {
    const [pdf] = compiled.files;
    const rawLinks = pdf === undefined ? [] : describeRawLinks(pdf);
    if (compiled.ok || compiled.isTooMuch) notes.push(...noteHeavyImages(pdf, project.files));
    notes.push(...rawLinks.map(printableLine));
  }
  report(compiled, project, { ...missing, before: notes }, flags);
  const isMissing = compiled.ok && flags.strict && missing.warnings.length > 0;
  return { exitCode: isMissing ? EXIT_CODES.template : compiled.exitCode, page };
}

/** @returns the path of the first page */
async function keepPages(
  { files }: Compiled,
  project: Project,
  output: Output,
  flags: CheckFlags,
): Promise<string | null> {
  const place = flags.output;
  if (files.length === 0 || (place === undefined && !flags.open)) return null;
  if (place !== undefined) {
    const [page, ...others] = files;
    if (page === undefined || others.length > 0 || extname(place) === ".zip") {
      throw new CommandError("check does not write ZIP files: omit --output, or use render.");
    }
    await writeNamed(place, page);
    return place;
  }
  const digest = createHash("sha256").update(project.sourcePath).digest("hex").slice(0, 16);
  const folder = await keptFolder(join("preview", digest));
  const name = join(folder, basename(project.sourceName, extname(project.sourceName)));
  const paths = files.map((_, index) => {
    const number = files.length > 1 ? `-${String(index + 1).padStart(2, "0")}` : "";
    return `${name}${number}.${output.format}`;
  });
  for (const [index, bytes] of files.entries()) await writeWhole(paths[index] ?? "", bytes);
  return paths[0] ?? null;
}

/** @param before notes that come before Typst's report */
function report(
  compiled: Compiled,
  project: Project,
  { before, notes, warnings }: MissingInWords & { readonly before: readonly string[] },
  { json, strict }: CheckFlags,
): void {
  const { ok, text, diagnostics, reason } = compiled;
  if (json) {
    const all = [...project.warnings, ...before, ...notes];
    writeJson({ outcome: ok ? "compiled" : "not-compiled", diagnostics, reason, notes: all, warnings });
    return;
  }
  const lines = [
    ...[...(!ok || text !== "" ? project.warnings : []), ...before].map((note) => `note: ${note}`),
    ...(text === "" ? [] : [text]),
    ...(reason === null ? [] : [`error: ${reason}`]),
    ...warnings.map((warning) => `${strict ? "error" : "warning"}: ${warning}`),
    ...notes.map((note) => `note: ${note}`),
  ];
  if (lines.length > 0) sayDiagnostics(lines.join("\n"));
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
  if (flags.data !== undefined && isStream(flags.data)) {
    throw new CommandError(
      "--watch reads the data again after each change: name a file, not a pipe or standard input.",
    );
  }
  const { watchProject } = await import("../watch.ts");
  let isOpen = false;
  const check = async (watchAlso: (paths: readonly string[]) => void) => {
    try {
      const { page } = await checkProject(source, flags, signal, watchAlso);
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
  };
  const except = [cacheFolder(), ...(flags.output === undefined ? [] : [flags.output])];
  await watchProject({ source, further: flags.data === undefined ? [] : [flags.data], except }, signal, check);
  return EXIT_CODES.interrupted;
}

/**
 * `test`: compiles or renders each case of a template and compares its pages with the expected ones. It shows what a
 * change of the template, another Typst, another font or another release of the service does to the documents.
 */
import { createHash } from "node:crypto";
import { join, resolve } from "node:path";
import { type Command, InvalidArgumentError } from "@commander-js/extra-typings";
import { LIMIT_SETTINGS } from "../../../rules/limits.ts";
import { PPI } from "../../../rules/output-options.ts";
import { anyTypstProblem } from "../../../typst/typst-release.mjs";
import { archiveEntries } from "../../document/archive-entries.ts";
import { countInWords } from "../../document/size-in-words.ts";
import { UnexpectedResponseError } from "../../typescript/client.ts";
import {
  MIN_PPI,
  type PageOptions,
  readCases,
  readExpected,
  readPageOptions,
  type TemplateCase,
  writeExpected,
} from "../cases/case-files.ts";
import { type CaseResult, htmlReport, junitReport } from "../cases/test-report.ts";
import { CommandError, EXIT_CODES, type ExitCode } from "../exit-codes.ts";
import { STANDARD_INPUT } from "../files/folder.ts";
import { fitFiles } from "../fit-files.ts";
import { runInterruptible } from "../interruption.ts";
import { keptFolder } from "../kept-folder.ts";
import { renderLocally } from "../local/compile.ts";
import { localSettings } from "../local/operator-folders.ts";
import * as options from "../options.ts";
import { requireOutputPlace, writeNamed } from "../output-file.ts";
import { startProgress } from "../progress.ts";
import { requireValidData } from "../project/data-schema.ts";
import { collectProject, type Project } from "../project/project.ts";
import { type DataText, readData, requestOf } from "../project/request.ts";
import { fitToService, importsPackages } from "../project/service-packages.ts";
import { handOver } from "../project/template-findings.ts";
import { problemInWords, writeJson } from "../report.ts";
import { failAsCommand, openService, type Service } from "../service.ts";
import { serviceCapabilities } from "../service-cache.ts";
import { printable, printableLine, say } from "../terminal.ts";

type TestFlags = ReturnType<ReturnType<typeof defineTestCommand>["opts"]>;

/** Typst draws a filled rule of half a point at any place from here on; at 72, every other one vanishes. */
const DEFAULT_PPI = 144;
/** Instead of a case, for a template none of whose cases could run. */
const ALL_CASES = "(all)";
/** The most that any deployment puts into an archive. */
const MAX_PAGES = LIMIT_SETTINGS.max_output_files.max;

function defineTestCommand(program: Command) {
  return program
    .command("test")
    .summary("compare the pages of a template's cases with the expected ones")
    .description(
      "Compiles the template with each cases/NAME.json beside it and compares the pages with cases/NAME.expected/1.png and so on. With --url a service renders them. A report shows each page that differs before, after, and the difference.",
    )
    .argument("<source...>", "Typst sources, or folders")
    .option("--update", "make the resulting pages the expected ones")
    .option("--url <url>", "render the cases by this service instead of on this machine")
    .addOption(options.TOKEN_FILE_OPTION)
    .addOption(options.FILES_OPTION)
    .addOption(options.ROOT_OPTION)
    .addOption(options.INPUT_OPTION)
    .addOption(options.DATA_AS_INPUT_OPTION)
    .addOption(options.PAGES_OPTION)
    .option(
      "--ppi <number>",
      `resolution of the pages; by default that of the expected pages, or ${DEFAULT_PPI}`,
      options.wholeNumber(MIN_PPI, PPI.max_ppi),
    )
    .addOption(options.TYPST_OPTION)
    .addOption(options.FONT_PATH_OPTION)
    .addOption(options.PACKAGE_PATH_OPTION)
    .option("--tolerance <share>", "how much the colour of a pixel may differ, from 0 to 1", readTolerance, 0)
    .option("--report <file>", "write the HTML report; by default into the user's cache folder, if a case fails")
    .option("--junit <file>", "write the results as JUnit XML")
    .addOption(options.JSON_OPTION);
}

export function addTestCommand(program: Command, signal: AbortSignal): void {
  defineTestCommand(program).action(async (sources, flags) => {
    for (const place of [flags.report, flags.junit]) if (place !== undefined) await requireOutputPlace(place);
    const results: CaseResult[] = [];
    let ended: CommandError | null = null;
    for (const source of sources) {
      try {
        await testTemplate(source, flags, signal, results);
      } catch (error) {
        if (!(error instanceof CommandError)) throw error;
        ended ??= error;
        const failed = { template: source, name: ALL_CASES, failure: error.message };
        results.push({ ...failed, differences: [], pages: 0, seconds: 0 });
        // The next template would wait as long.
        if (error.exitCode === EXIT_CODES.unreachable) break;
      }
    }
    if (ended !== null && results.every(({ name }) => name === ALL_CASES)) {
      await writeReports(results, flags.report, flags.junit);
      throw ended;
    }
    process.exitCode = await report(sources, results, flags);
  });
}

function readTolerance(value: string): number {
  if (/^(?:0(?:\.[0-9]+)?|1)$/.test(value)) return Number(value);
  throw new InvalidArgumentError("It must be a number from 0 to 1.");
}

/** @throws CommandError that says why there are no pages */
type Renderer = (data: DataText, pageOptions: PageOptions) => Promise<readonly Buffer[]>;

/** Adds each result at once: those before an error count. @throws CommandError when the cases cannot run */
async function testTemplate(
  source: string,
  flags: TestFlags,
  signal: AbortSignal,
  results: CaseResult[],
): Promise<void> {
  const use = { command: "test", leaveOut: [], givenBy: "the cases", isStrict: true } as const;
  const cases = await readCases(collectProject(source, flags, { ...use, data: [STANDARD_INPUT] }));
  // The cases may name files that the template reads.
  const data = cases.flatMap(({ dataPath }) => dataPath ?? []);
  const collected = collectProject(source, flags, { ...use, data });
  const project = await fitFiles(handOver(collected, flags, { ...use, data }), { url: flags.url }, null);
  // Of the other notes, the cases themselves show what is wrong.
  if (!flags.json) for (const note of project.notes.slice(collected.notes.length)) say(`note: ${note}`);
  const render =
    flags.url === undefined
      ? await localRenderer(project, flags, signal)
      : await remoteRenderer(project, await openService(flags), signal);
  const progress = startProgress("");
  try {
    for (const [index, one] of cases.entries()) {
      progress.say(`${one.name}: ${index + 1} of ${cases.length}`);
      results.push(await runCase(one, project, render, flags));
      signal.throwIfAborted();
    }
  } finally {
    progress.stop();
  }
}

async function runCase(one: TemplateCase, project: Project, render: Renderer, flags: TestFlags): Promise<CaseResult> {
  const started = performance.now();
  const endCase = (failure: string | null, pages = 0, differences: CaseResult["differences"] = []): CaseResult => {
    const seconds = (performance.now() - started) / 1000;
    return { template: project.sourceName, name: one.name, failure, differences, pages, seconds };
  };
  if (one.dataPath === null) return endCase(`There are expected pages, but no ${one.name}.json.`);
  try {
    const data = await readData(project, one.dataPath);
    if (data === null) throw new Error("a case has data");
    await requireValidData(project, data, "compiled");
    const present = readPageOptions(one);
    const pageOptions = { ppi: flags.ppi ?? present.ppi, pages: flags.pages ?? present.pages };
    const pages = await render(data, pageOptions);
    if (flags.update) {
      await writeExpected(one, pages, pageOptions);
      return endCase(null, pages.length);
    }
    const expected = readExpected(one);
    if (expected.length === 0) return endCase("It has no expected pages: run the command with --update.");
    const { comparePages } = await import("../cases/compare-pages.ts");
    const differences = comparePages(expected, pages, flags.tolerance);
    const failure = differences.map(({ message }) => message).join("\n");
    return endCase(failure === "" ? null : failure, pages.length, differences);
  } catch (error) {
    // Without Typst or an answer of the service, the next case would fail in the same way.
    if (error instanceof CommandError && error.exitCode !== EXIT_CODES.unreachable) return endCase(error.message);
    throw error;
  }
}

async function localRenderer(project: Project, flags: TestFlags, signal: AbortSignal): Promise<Renderer> {
  const local = await localSettings(flags, anyTypstProblem);
  return async (data, pageOptions) => {
    const rendered = await renderLocally(project, data, { options: archiveOutput(pageOptions), local }, signal);
    if (rendered.kind === "refused") {
      const words = [rendered.problem.detail, rendered.failed?.text ?? ""].join("\n").trim();
      throw new CommandError(words, EXIT_CODES.request);
    }
    const { ok, text, reason, files } = rendered.compiled;
    if (ok) return files;
    throw new CommandError([text, reason ?? ""].join("\n").trim(), EXIT_CODES.template);
  };
}

async function remoteRenderer(all: Project, { client, url }: Service, signal: AbortSignal): Promise<Renderer> {
  const { project, warnings } = fitToService(all, importsPackages(all) ? await serviceCapabilities(url, signal) : null);
  for (const warning of warnings) say(`warning: ${warning}`);
  const render: Renderer = async (data, pageOptions) => {
    const result = await client.render(requestOf(project, data, archiveOutput(pageOptions)), { signal });
    if (!result.ok) throw new CommandError(problemInWords(result.problem, result.checkedLocally), EXIT_CODES.request);
    const bounds = { maxEntries: MAX_PAGES, maxBytes: result.maxBytes };
    const entries = archiveEntries(await result.bytes(), bounds, () => true);
    if (typeof entries === "string") {
      throw new UnexpectedResponseError(`The response is not an archive of pages: it is ${entries}.`, 200);
    }
    return entries.toSorted((left, right) => (left.name < right.name ? -1 : 1)).map(({ bytes }) => Buffer.from(bytes));
  };
  return (data, pageOptions) => runInterruptible(() => render(data, pageOptions)).catch(failAsCommand(url));
}

function archiveOutput({ pages, ppi = DEFAULT_PPI }: PageOptions) {
  return { format: "png", archive: "zip", ppi, pages } as const;
}

async function report(sources: readonly string[], results: readonly CaseResult[], flags: TestFlags): Promise<ExitCode> {
  const failed = results.filter(({ failure }) => failure !== null);
  const reportPath = flags.report ?? (failed.length > 0 ? await defaultReport(sources) : null);
  await writeReports(results, reportPath ?? undefined, flags.junit);
  for (const { template, name, failure, pages, differences } of results) {
    const passed = failure === null;
    if (flags.json) {
      const found = differences.map(({ page, message }) => ({ page, message }));
      writeJson({ outcome: "case", template, case: name, passed, pages, failure, differences: found });
      continue;
    }
    const what = failure ?? `${countInWords(pages, "page")} ${flags.update ? "written" : "as expected"}`;
    const line = `${passed ? "ok  " : "FAIL"} ${printableLine(`${template}: ${name}`)}`;
    say(`${line}: ${printable(what).replaceAll("\n", "\n     ")}`);
  }
  if (flags.json) {
    writeJson({ outcome: "tested", cases: results.length, failed: failed.length, report: reportPath });
  } else {
    say(`${results.length - failed.length} of ${results.length} cases passed.`);
    if (reportPath !== null) say(printableLine(`The report is ${reportPath}.`));
  }
  return failed.length === 0 ? EXIT_CODES.success : EXIT_CODES.failure;
}

async function writeReports(results: readonly CaseResult[], html: string | undefined, junit: string | undefined) {
  if (html !== undefined) await writeNamed(html, Buffer.from(htmlReport(results)));
  if (junit !== undefined) await writeNamed(junit, Buffer.from(junitReport(results)));
}

/** Outside the projects, because what is in their folders is sent. */
async function defaultReport(sources: readonly string[]): Promise<string> {
  const paths = sources.map((source) => resolve(source)).join("\n");
  const name = createHash("sha256").update(paths).digest("hex").slice(0, 16);
  return join(await keptFolder("test-report"), `${name}.html`);
}

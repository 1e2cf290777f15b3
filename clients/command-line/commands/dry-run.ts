/** `render --dry-run`: shows what would be sent, ends as the run itself would before that, and sends nothing. */
import type { PublishedConstraints } from "../../../rules/published-rules.ts";
import { countInWords } from "../../document/size-in-words.ts";
import { checkLocally } from "../../typescript/local-check.ts";
import { encodeRequest, type OutputOptions } from "../../typescript/render-request.ts";
import { dataOf, type EachDocument } from "../each/documents.ts";
import { type FailedDocument, failuresInLines, isThere, noneSucceeded } from "../each/run.ts";
import { type CommandError, EXIT_CODES, type ExitCode, exitCodeOf } from "../exit-codes.ts";
import { addWarnings, findMissingFonts, findProjectFonts, requireFonts } from "../fonts/missing-fonts.ts";
import type { ProjectPackage } from "../packages/packages.ts";
import { progressBar, startProgress } from "../progress.ts";
import { bodyBytes, inBytes, problemDetails, type SentProject, sentFiles } from "../project/problem-details.ts";
import type { Project } from "../project/project.ts";
import { requestOf } from "../project/request.ts";
import { fitRequest } from "../project/service-packages.ts";
import { problemOutcome, reportProblem, writeJson } from "../report.ts";
import { knownConstraints, serviceCapabilities, storedCapabilities } from "../service-cache.ts";
import { locateService } from "../service-location.ts";
import { printableLine, say } from "../terminal.ts";
import type { RenderFlags } from "./flags.ts";

export interface PlannedRender extends SentProject {
  readonly place: string;
  /** With `--each`: the number of further documents. */
  readonly others?: number;
}

interface Plan {
  readonly sent: PlannedRender;
  readonly notSent: readonly ProjectPackage[];
  readonly url: string;
  /** What was not asked for, and what is missing there. */
  readonly notes: readonly string[];
  readonly constraints: PublishedConstraints;
}

/** Shows the plan of one document, and what the rules say of it. */
export async function planRender(planned: PlannedRender, flags: RenderFlags, signal: AbortSignal): Promise<ExitCode> {
  const plan = await planFor(planned, flags, signal);
  const { sent } = plan;
  const check = checkLocally(encodeRequest(sent.request), plan.constraints);
  if (check.verdict !== "refused") {
    showPlan(plan, flags, {});
    return EXIT_CODES.success;
  }
  if (!flags.json) showPlan(plan, flags, {});
  const rejected = { problem: check.problem, checkedLocally: true };
  return reportProblem(rejected, problemDetails(check.problem, sent), flags.json ? process.stdout : null);
}

/** The same with `--each`: the plan of the first document, and what the rules say of all. */
export async function planEach(
  planned: PlannedRender,
  documents: readonly EachDocument[],
  flags: RenderFlags,
  signal: AbortSignal,
): Promise<ExitCode> {
  const { request } = planned;
  const plan = await planFor(planned, flags, signal);
  const { failures, fatal } = await judgeDocuments(plan, documents, request.output ?? {}, flags, signal);
  showPlan(plan, flags, failures.length === 0 ? {} : { failed: failures.length });
  if (!flags.json && failures.length > 0) {
    say(
      [...failuresInLines(failures, fatal), `${failures.length} of ${documents.length} documents would fail.`].join(
        "\n",
      ),
    );
  }
  return fatal?.exitCode ?? (failures.length === 0 ? EXIT_CODES.success : EXIT_CODES.incomplete);
}

/**
 * What the published rules refuse, as the run does before it sends each document; and why the run would end before its
 * last one, if it would.
 */
async function judgeDocuments(
  { sent: { project }, constraints }: Plan,
  documents: readonly EachDocument[],
  output: OutputOptions,
  { overwrite, json }: RenderFlags,
  signal: AbortSignal,
): Promise<{ readonly failures: readonly FailedDocument[]; readonly fatal: CommandError | null }> {
  const failures: FailedDocument[] = [];
  const progress = startProgress(progressBar(0, documents.length));
  try {
    for (const [index, document] of documents.entries()) {
      signal.throwIfAborted();
      progress.say(progressBar(index, documents.length));
      // What is there is neither made nor judged.
      if (!overwrite && (await isThere(document.path))) continue;
      const data = dataOf(document);
      const request = requestOf(project, data, output);
      const check = checkLocally(encodeRequest(request), constraints);
      if (check.verdict !== "refused") continue;
      const { problem } = check;
      const details = problemDetails(problem, { project, data, request });
      if (json) writeJson({ ...problemOutcome(problem, true, details), line: document.number, file: document.path });
      failures.push({ document, reason: `${problem.code}: ${problem.detail}`, problem, isAnswered: true, details });
      const fatal = failures.length === index + 1 ? noneSucceeded(failures.length, exitCodeOf(problem)) : null;
      if (fatal !== null) return { failures, fatal };
    }
  } finally {
    progress.stop();
  }
  return { failures, fatal: null };
}

/** Asks the service only with `--strict`, which compares the fonts. @throws CommandError if they are missing */
async function planFor(planned: PlannedRender, flags: RenderFlags, signal: AbortSignal): Promise<Plan> {
  const { url } = await locateService(flags);
  const capabilities = flags.strict ? await serviceCapabilities(url, signal) : await storedCapabilities(url);
  const { sent, notSent, warnings } = fitRequest(planned, capabilities);
  const fonts = addWarnings(warnings, findMissingFonts(findProjectFonts(planned.project), capabilities));
  if (flags.strict) requireFonts(fonts, url);
  const { constraints, isPublished } = await knownConstraints(url);
  const limits = isPublished
    ? []
    : [`${url} has not been asked for its limits yet, so those of a new deployment apply here. \`constraints\` asks.`];
  return { sent, notSent, url, notes: [...limits, ...fonts.warnings, ...fonts.notes], constraints };
}

function showPlan({ sent: planned, notSent, url, ...plan }: Plan, flags: RenderFlags, more: object): void {
  const { project, data, request, place, others = 0 } = planned;
  const files = sentFiles(planned);
  const bytes = bodyBytes(request);
  const { found, missing } = project.packages;
  const notes = [...project.warnings, ...project.notes, ...(data?.notes ?? []), ...plan.notes];
  if (flags.json) {
    const sent = { files: files.map(({ key, ...file }) => ({ path: key, ...file })), output: request.output };
    const { leftOut, unusedFonts } = project;
    const packages = found.map((one) => ({ name: one.name, folder: one.folder, isSent: !notSent.includes(one) }));
    const told = { packages, missingPackages: missing.map(({ name }) => name), leftOut, unusedFonts, notes };
    writeJson({ outcome: "planned", url, ...sent, bodyBytes: bytes, file: place, others, ...more, ...told });
    return;
  }
  const rows = files.map((file) => ({ ...file, size: inBytes(file.bytes) }));
  const sizeWidth = Math.max(...rows.map(({ size }) => size.length));
  const lines = [
    `To ${url}`,
    ...rows.map(
      ({ part, encoding, size, key }) =>
        `  ${part.padEnd(6)}  ${encoding.padEnd(6)}  ${size.padStart(sizeWidth)}  ${key}`,
    ),
    ...found.map((one) => packageInWords(one, !notSent.includes(one))),
    ...missing.map(
      ({ name, importedBy, advice }) => `${name}, which ${importedBy} imports, does not exist here. ${advice}`,
    ),
    `Body: ${inBytes(bytes)}`,
    `Output: ${JSON.stringify(request.output)}, to ${place}${others > 0 ? `, and ${countInWords(others, "more document")}` : ""}`,
    ...unusedFontsInWords(project),
    ...notes.map((note) => `note: ${note}`),
    "Nothing was sent.",
  ];
  process.stdout.write(`${lines.map(printableLine).join("\n")}\n`);
}

function packageInWords({ name, folder, keys, bytes }: ProjectPackage, isSent: boolean): string {
  const what = `${countInWords(keys.length, "file")}, ${inBytes(bytes)}`;
  return isSent
    ? `Package ${name} from ${folder}: ${what}`
    : `Package ${name} is not sent, because the service has it.`;
}

function unusedFontsInWords({ unusedFonts }: Project): string[] {
  const [first = "", ...others] = unusedFonts;
  if (first === "") return [];
  const more = others.length === 0 ? "" : ` and ${countInWords(others.length, "more font")}`;
  return [
    `Left out, because no source names their family or needs their characters: ${first}${more}. --files sends them.`,
  ];
}

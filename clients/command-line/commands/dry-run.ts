/** `render --dry-run`: shows what would be sent, ends as the run itself would before that, and sends nothing. */
import type { PublishedConstraints } from "../../../rules/published-rules.ts";
import { countInWords } from "../../document/size-in-words.ts";
import { checkLocally } from "../../typescript/local-check.ts";
import { encodeRequest, type OutputOptions } from "../../typescript/render-request.ts";
import { EXIT_CODES, type ExitCode } from "../exit-codes.ts";
import { addWarnings, findMissingFonts, findProjectFonts, requireFonts } from "../fonts/missing-fonts.ts";
import type { ProjectPackage } from "../packages/packages.ts";
import { bodyBytes, inBytes, problemDetails, type SentProject, sentFiles } from "../project/problem-details.ts";
import type { Project } from "../project/project.ts";
import { type DataText, requestOf } from "../project/request.ts";
import { fitToService } from "../project/service-packages.ts";
import { reportProblem, writeJson } from "../report.ts";
import { knownConstraints, serviceCapabilities, storedCapabilities } from "../service-cache.ts";
import { locateService } from "../service-location.ts";
import { printableLine } from "../terminal.ts";
import type { RenderFlags } from "./flags.ts";

export interface PlannedRender {
  readonly project: Project;
  readonly data: DataText | null;
  readonly output: OutputOptions;
  readonly place: string;
}

export interface Plan {
  readonly sent: SentProject;
  readonly place: string;
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
  if (check.verdict !== "refused" || !flags.json) showPlan(plan, flags);
  if (check.verdict !== "refused") return EXIT_CODES.success;
  const rejected = { problem: check.problem, checkedLocally: true };
  return reportProblem(rejected, problemDetails(check.problem, sent), flags.json ? process.stdout : null);
}

/** Asks the service only with `--strict`, which compares the fonts. @throws CommandError if they are missing */
export async function planFor(
  { project: all, data, output, place }: PlannedRender,
  flags: RenderFlags,
  signal: AbortSignal,
): Promise<Plan> {
  const { url } = await locateService(flags);
  const capabilities = flags.strict ? await serviceCapabilities(url, signal) : await storedCapabilities(url);
  const { project, notSent, warnings } = fitToService(all, capabilities);
  const sent = { project, data, request: requestOf(project, data, output) };
  const fonts = addWarnings(warnings, findMissingFonts(findProjectFonts(all), capabilities));
  if (flags.strict) requireFonts(fonts, url);
  const { constraints, isPublished } = await knownConstraints(url);
  const limits = isPublished
    ? []
    : [`${url} has not been asked for its limits yet, so those of a new deployment apply here. \`constraints\` asks.`];
  return { sent, place, notSent, url, notes: [...limits, ...fonts.warnings, ...fonts.notes], constraints };
}

/** @param others with `--each`: the number of further documents. @param more members of the JSON */
export function showPlan(
  { sent, place, notSent, url, ...plan }: Plan,
  flags: RenderFlags,
  others = 0,
  more: object = {},
): void {
  const { project, data, request } = sent;
  const files = sentFiles(sent);
  const bytes = bodyBytes(request);
  const { found, missing } = project.packages;
  const notes = [...project.warnings, ...project.notes, ...(data?.notes ?? []), ...plan.notes];
  if (flags.json) {
    const planned = { files: files.map(({ key, ...file }) => ({ path: key, ...file })), output: request.output };
    const { leftOut, unusedFonts } = project;
    const packages = found.map((one) => ({ name: one.name, folder: one.folder, isSent: !notSent.includes(one) }));
    const told = { packages, missingPackages: missing.map(({ name }) => name), leftOut, unusedFonts, notes };
    writeJson({ outcome: "planned", url, ...planned, bodyBytes: bytes, file: place, others, ...more, ...told });
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

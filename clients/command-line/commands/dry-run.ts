/** `render --dry-run`: shows what would be sent, and sends nothing. */
import { countInWords } from "../../typescript/size-in-words.ts";
import { EXIT_CODES, type ExitCode } from "../exit-codes.ts";
import type { ProjectPackage } from "../project/packages.ts";
import { bodyBytes, inBytes, type SentProject, sentFiles } from "../project/problem-details.ts";
import type { Project } from "../project/project.ts";
import { writeJson } from "../report.ts";
import { storedCapabilities } from "../service-cache.ts";
import { locateService } from "../service-location.ts";
import { fitRequest } from "../service-packages.ts";
import { printableLine } from "../terminal.ts";
import type { RenderFlags } from "./flags.ts";

export interface PlannedRender extends SentProject {
  readonly place: string;
  /** With `--each`: the number of further documents. */
  readonly others?: number;
}

export async function showRequest(planned: PlannedRender, flags: RenderFlags): Promise<ExitCode> {
  const { url } = await locateService(flags);
  const { sent: fitted, notSent } = fitRequest(planned, await storedCapabilities(url));
  const { project, data, request, place, others = 0 } = fitted;
  const files = sentFiles(fitted);
  const bytes = bodyBytes(request);
  const { found, missing } = project.packages;
  const notes = [...project.warnings, ...project.notes, ...(data?.notes ?? [])];
  if (flags.json) {
    const sent = { files: files.map(({ key, ...file }) => ({ path: key, ...file })), output: request.output };
    const { leftOut, unusedFonts } = project;
    const packages = found.map((one) => ({ name: one.name, folder: one.folder, isSent: !notSent.includes(one) }));
    const told = { packages, missingPackages: missing.map(({ name }) => name), leftOut, unusedFonts, notes };
    writeJson({ outcome: "planned", url, ...sent, bodyBytes: bytes, file: place, others, ...told });
    return EXIT_CODES.success;
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
    ...missing.map(({ name, importedBy, advice }) => `${name}, which ${importedBy} imports, is not there. ${advice}`),
    `Body: ${inBytes(bytes)}`,
    `Output: ${JSON.stringify(request.output)}, to ${place}${others > 0 ? `, and ${countInWords(others, "more document")}` : ""}`,
    ...project.leftOut.map((key) => `Left out, because render or check wrote it: ${key}`),
    ...unusedFontsInWords(project),
    ...notes.map((note) => `note: ${note}`),
    "Nothing was sent.",
  ];
  process.stdout.write(`${lines.map(printableLine).join("\n")}\n`);
  return EXIT_CODES.success;
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

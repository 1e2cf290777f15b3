/**
 * The output options of a draft that the playground has saved, for what the command line does not name. They belong to
 * the folder's `main.typ`, as `data.json` does.
 */
import { basename, join } from "node:path";
import { JsonCursor } from "../../../rules/json/cursor.ts";
import { isOutputFormat, type Output, type PdfStandard } from "../../../rules/output-options.ts";
import { readOutput } from "../../../rules/output-reader.ts";
import { ValidationErrorList } from "../../../rules/validation-errors.ts";
import { OPTIONS_PATH, readSavedOptions, SOURCE_PATH } from "../../document/saved-draft.ts";
import { CommandError } from "../exit-codes.ts";
import { isFile, isFolder, statOf } from "../files/disk.ts";
import { projectFolder, readNamed } from "../files/folder.ts";
import { type OutputFlags, placeExtension } from "../output-options.ts";
import { printableLine, say } from "../terminal.ts";

/** The playground writes some hundred bytes. */
const MAX_BYTES = 64 * 1024;

interface NamedFlags extends OutputFlags {
  readonly eInvoice?: string | undefined;
  readonly json?: true | undefined;
}

/** Completes the options of the command line, and says by which. @throws CommandError for an invalid file */
export function completeFlags<Flags extends NamedFlags>(source: string, named: Flags): Flags {
  const saved = savedOutput(source);
  if (saved === null) return named;
  const format = namedFormat(named);
  const isOfFormat = format === "zip" ? saved.format !== "pdf" : format === null || format === saved.format;
  const flags = isOfFormat ? savedFlags(saved, named) : {};
  const taken = Object.entries(flags).filter(([name]) => !(name in named));
  const words = taken.map(([name, value]) => (value === true ? name : `${name} ${value}`)).join(", ");
  if (!named.json && words !== "") say(printableLine(`Options from ${OPTIONS_PATH}: ${words}`));
  if (!named.json && !isOfFormat) say(`The options in ${OPTIONS_PATH} are for ${saved.format}, so they are not used.`);
  return { ...flags, ...named };
}

function savedOutput(source: string): Output | null {
  const folder = projectFolder(source);
  const path = join(folder, OPTIONS_PATH);
  const isOfDraft = isFolder(source) || basename(source) === SOURCE_PATH;
  if (!isOfDraft || !isFile(path)) return null;
  if ((statOf(path)?.size ?? 0) > MAX_BYTES) throw makeUnfitError(`it has more than ${MAX_BYTES} bytes`);
  const saved = readSavedOptions(readNamed(path, OPTIONS_PATH, folder).toString("utf8"));
  if (saved === null) throw makeUnfitError("it is not a JSON object");
  const errors = new ValidationErrorList();
  const output = readOutput(new JsonCursor(new TextEncoder().encode(JSON.stringify(saved))), errors);
  if (output !== null) return output;
  const context = errors.toProblem()?.context ?? {};
  const [first] = ("errors" in context ? context.errors : undefined) ?? [];
  throw makeUnfitError(first?.msg ?? "it is not valid");
}

function makeUnfitError(why: string): CommandError {
  return new CommandError(
    printableLine(`${OPTIONS_PATH} cannot be used: ${why}. Save the draft again, or remove the file.`),
  );
}

/** The format that the command line decides; null if it leaves that open. */
function namedFormat({ eInvoice, format, output }: NamedFlags): string | null {
  if (eInvoice !== undefined) return "pdf";
  const extension = placeExtension(output);
  return format ?? (extension === "zip" || isOutputFormat(extension) ? extension : null);
}

/** What an output says, as options. What contradicts an option that is named is left out. */
function savedFlags(output: Output, named: NamedFlags): OutputFlags {
  const filename = output.filename !== null && { filename: output.filename };
  const pages = output.pages !== null && { pages: output.pages };
  if (output.format === "pdf") {
    const { format, version } = output;
    const standards = named.eInvoice === undefined ? output.standards : listEInvoiceStandards(output.standards);
    const pdfVersion = named.standards === undefined && version !== null && { pdfVersion: version };
    return { format, ...(standards.length > 0 && { standards }), ...pdfVersion, ...pages, ...filename };
  }
  const extension = placeExtension(named.output);
  const isSingle = named.page !== undefined || isOutputFormat(extension);
  const isArchive = output.archive !== null || named.archive || extension === "zip";
  const which = isArchive
    ? !isSingle && { archive: true as const, ...pages }
    : output.page !== null && { page: output.page };
  return { format: output.format, ...(output.format === "png" && { ppi: output.ppi }), ...which, ...filename };
}

/** An e-invoice is PDF/A-3, whatever the draft was. */
function listEInvoiceStandards(standards: readonly PdfStandard[]): readonly PdfStandard[] {
  if (standards.some((standard) => standard.startsWith("a-3"))) return standards;
  return ["a-3b", ...standards.filter((standard) => standard === "ua-1")];
}

/** Which fonts and characters a document of the service lacks: the service renders it without a warning. */
import type { Capabilities } from "../../../protocol/capabilities.ts";
import { DEFAULT_FONT, FAMILIES_OF_TYPST } from "../../../typst/fonts/typst-fonts.ts";
import { suggestFamily } from "../../data-schema/similar-name.ts";
import { type DocumentFonts, describeDocumentFonts } from "../../document/fonts/font-findings.ts";
import {
  describeFontNotes,
  describeImages,
  describeMissingFamilies,
  findWantedFonts,
  readFamilyNames,
  type SuggestFamily,
  type WantedFonts,
} from "../../document/fonts/missing-fonts.ts";
import { type DocumentText, describeUncoveredScripts } from "../../document/fonts/text-scripts.ts";
import type { RejectedRender, ServiceClient } from "../../typescript/client.ts";
import { joinBytes } from "../../typescript/join-bytes.ts";
import type { OutputOptions, RenderRequest } from "../../typescript/render-request.ts";
import { CommandError, EXIT_CODES } from "../exit-codes.ts";
import type { Project } from "../project/project.ts";
import { printableLine } from "../terminal.ts";

export interface FontFindings {
  readonly warnings: readonly string[];
  /** A bold or italic font that nobody has, and fonts that Typst does not tell apart. */
  readonly notes: readonly string[];
  /** Null if the service has not said which fonts it has. */
  readonly capabilities: Capabilities | null;
}

/**
 * Families that only packages name count as missing for nobody: they are for cases that a document may never have. But where
 * all packages are there and name no others than the project or Typst has, nothing is left open.
 */
export function findProjectFonts({ source, files, packages, unusedFamilies, webFonts }: Project): WantedFonts {
  const ofPackages = new Set(packages.found.flatMap(({ keys }) => keys.filter((key) => /\.(?:typ|svg)$/i.test(key))));
  const sent = files.filter(({ key }) => !ofPackages.has(key));
  const text = source.toString("utf8");
  const wanted = findWantedFonts({ source: text, files: sent });
  const all = wanted.mayNameOthers && packages.missing.length === 0 ? readFamilyNames({ source: text, files }) : null;
  const isKnown = (family: string) =>
    wanted.named.has(family) || wanted.brought.has(family) || FAMILIES_OF_TYPST.has(family);
  const isClosed = all?.areAll === true && [...all.named].every(isKnown);
  const mayNameOthers = wanted.mayNameOthers && !isClosed;
  return { ...wanted, mayNameOthers, offered: [...wanted.offered, ...unusedFamilies], webFonts };
}

/** Of the project's families, sent or not, and of the service's. */
export function suggestProjectFamily({ offered }: WantedFonts, fonts: Capabilities["fonts"]): SuggestFamily {
  return suggestFamily([...offered, ...fonts.map(({ family }) => family)]);
}

/** @param text of documents that say nothing of their fonts; null if they do */
export function findMissingFonts(
  wanted: WantedFonts,
  capabilities: Capabilities | null,
  text: DocumentText | null = null,
): FontFindings {
  const ofImages = describeImages(wanted, capabilities?.fonts ?? null);
  const notes = describeFontNotes(wanted, capabilities?.fonts ?? null).map(printableLine);
  if (capabilities === null) return { warnings: ofImages.map(printableLine), notes, capabilities };
  const { fonts, scripts } = capabilities;
  const uncovered = text === null ? [] : describeUncoveredScripts(text, scripts);
  return {
    warnings: [
      ...describeMissingFamilies(wanted.families, wanted, fonts, suggestProjectFamily(wanted, fonts)),
      ...ofImages,
      ...uncovered,
    ].map(printableLine),
    notes,
    capabilities,
  };
}

/** The text of images, which say nothing of their fonts; null for PDFs. With `--strict`, another render tells all. */
export function textOfImages({ source, files }: Project, data: readonly string[], output: OutputOptions | undefined) {
  if ((output?.format ?? "pdf") === "pdf") return null;
  return { source: source.toString("utf8"), files, data: data.join("\n") };
}

/** With those of packages, which `--strict` refuses as well. */
export function addWarnings(warnings: readonly string[], fonts: FontFindings): FontFindings {
  return { ...fonts, warnings: [...warnings, ...fonts.warnings] };
}

/** For `--strict`. @throws CommandError when something is missing, or the service does not say which fonts it has */
export function requireFonts({ warnings, capabilities }: FontFindings, url: string): Capabilities {
  if (capabilities === null) {
    const message = `${url} does not say which fonts it has, so --strict cannot compare them: nothing was sent.`;
    throw new CommandError(message, EXIT_CODES.unreachable);
  }
  if (warnings.length > 0) throw new MissingFontsError(warnings, "sent");
  return capabilities;
}

export class MissingFontsError extends CommandError {
  constructor(warnings: readonly string[], end: "sent" | "written") {
    super(`${warnings.join("\n")}\nNothing was ${end}, because of --strict.`, EXIT_CODES.template);
  }
}

/** A render whose fonts matter. */
export interface ExaminedRender {
  readonly wanted: WantedFonts;
  /** The service's, with `--strict`, else null. */
  readonly required: Capabilities | null;
}

/**
 * For `--strict`, before a render: finds by another render what neither the templates nor the document will tell.
 *
 * @returns whether that is known now; if the service refuses that one, the render itself tells why, or else
 * `deliverExamined` does; a rejection if the service may take it later
 * @throws MissingFontsError when something is missing
 */
export async function requireUnseenFonts(
  request: RenderRequest,
  { wanted, required }: ExaminedRender,
  client: ServiceClient,
  signal: AbortSignal,
): Promise<boolean | RejectedRender> {
  if (required === null || (!wanted.mayNameOthers && isPdf(request))) return true;
  const { renderForFonts } = await import("./render-for-fonts.ts");
  const seen = await renderForFonts(request, client, signal);
  if (seen === null) return false;
  if (!seen.ok) return seen;
  const missing = [
    ...describeMissingFamilies(seen.requested, wanted, required.fonts, suggestProjectFamily(wanted, required.fonts)),
    ...describeDocumentFonts(seen.document, wanted.named),
  ];
  if (missing.length > 0) throw new MissingFontsError(missing.map(printableLine), "written");
  return true;
}

const NOT_KNOWN =
  "Which fonts the document asks for is not known: it names families in packages, or computes them. The command check names those that are missing.";

export interface DeliveredDocument {
  /** Their number, as `deliver` has returned it. */
  readonly bytes: number;
  readonly warnings: readonly string[];
  readonly notes: readonly string[];
}

/**
 * Delivers a document, and reads what a PDF shows of missing fonts: with `--strict` before, else meanwhile.
 *
 * @param isKnown whether `requireUnseenFonts` has found out all that it can
 * @throws MissingFontsError with `--strict` when something is missing
 */
export async function deliverExamined(
  body: AsyncIterable<Uint8Array>,
  { request, fonts, isKnown }: { request: RenderRequest; fonts: ExaminedRender; isKnown: boolean },
  deliver: (body: AsyncIterable<Uint8Array> | Uint8Array) => Promise<number>,
): Promise<DeliveredDocument> {
  const { wanted, required } = fonts;
  // A dry run reads no document.
  const { readDocumentFonts } = await import("../../document/fonts/document-fonts.ts");
  if (required === null) {
    const kept: Uint8Array[] = [];
    const bytes = await deliver(isPdf(request) ? keep(body, kept) : body);
    const document = isPdf(request) ? readDocumentFonts(joinBytes(kept)) : null;
    const mayLack = document === null || document.fonts.some(({ name }) => DEFAULT_FONT.postScriptName.test(name));
    const isOpen = wanted.mayNameOthers && mayLack && !wanted.named.has(DEFAULT_FONT.family.toLowerCase());
    return { bytes, warnings: describeFonts(document, wanted), notes: isOpen ? [NOT_KNOWN] : [] };
  }
  if (!isPdf(request)) {
    if (!isKnown) throw new MissingFontsError([NOT_KNOWN], "written");
    return { bytes: await deliver(body), warnings: [], notes: [] };
  }
  const whole: Uint8Array[] = [];
  for await (const chunk of body) whole.push(chunk);
  const document = readDocumentFonts(joinBytes(whole));
  const unknown = isKnown && document !== null ? [] : [NOT_KNOWN];
  const missing = [...describeFonts(document, wanted), ...unknown];
  if (missing.length > 0) throw new MissingFontsError(missing, "written");
  return { bytes: await deliver(joinBytes(whole)), warnings: [], notes: [] };
}

async function* keep(body: AsyncIterable<Uint8Array>, kept: Uint8Array[]): AsyncGenerator<Uint8Array> {
  for await (const chunk of body) {
    kept.push(chunk);
    yield chunk;
  }
}

function describeFonts(document: DocumentFonts | null, { named }: WantedFonts): string[] {
  return document === null ? [] : describeDocumentFonts(document, named).map(printableLine);
}

function isPdf({ output }: RenderRequest): boolean {
  return (output?.format ?? "pdf") === "pdf";
}

/**
 * For `--strict`: asks the service for a PDF of the document that says which font families its texts ask for, those of
 * packages and computed ones too. A rule around the document notes the families of each text, and attaches them.
 */
import { readDocumentFonts } from "../../document/fonts/document-fonts.ts";
import type { DocumentFonts } from "../../document/fonts/font-findings.ts";
import { PdfFile } from "../../e-invoice/pdf-file.ts";
import { PdfString, PdfSyntaxError, type PdfValue } from "../../e-invoice/pdf-syntax.ts";
import type { RejectedRender, ServiceClient } from "../../typescript/client.ts";
import type { OutputOptions, RenderRequest } from "../../typescript/render-request.ts";
import { parseJson } from "../../typescript/transport.ts";

const ATTACHMENT = "document-rendering-fonts.json";
const LABEL = "<document-rendering-fonts>";
const RULE = `#show selector.or(text, math.equation): it => it + [#metadata(text.font)${LABEL}]\n`;
const ATTACH = `\n#context pdf.attach("${ATTACHMENT}", bytes(json.encode(query(${LABEL}).map(it => it.value).dedup())))\n`;
const MAX_ATTACHMENT_BYTES = 4 * 1024 ** 2;

export interface SeenFonts {
  readonly ok: true;
  /** In lower case, as Typst compares them. */
  readonly requested: readonly string[];
  readonly document: DocumentFonts;
}

/**
 * @returns null if nothing can be known of the document: the service refuses this render, or it says nothing; a rejection if
 * that is for another time
 */
export async function renderForFonts(
  request: RenderRequest,
  client: ServiceClient,
  signal: AbortSignal,
): Promise<SeenFonts | RejectedRender | null> {
  const output: OutputOptions = { format: "pdf", pages: pagesOf(request.output) };
  const result = await client.render({ ...request, source: RULE + request.source + ATTACH, output }, { signal });
  if (!result.ok) return /^(?:capacity|service)$/.test(result.problem.origin) ? result : null;
  const bytes = await result.bytes();
  const document = readDocumentFonts(bytes);
  const requested = readAttachment(bytes);
  return document === null || requested === null ? null : { ok: true, document, requested: familiesIn(requested) };
}

/** Those that the output shows. */
function pagesOf(output: OutputOptions | undefined): string | null | undefined {
  const isOneImage = (output?.format === "png" || output?.format === "svg") && output.archive !== "zip";
  return isOneImage ? String(output.page ?? 1) : output?.pages;
}

/** The JSON that the rule has attached; null if there is none. */
function readAttachment(bytes: Uint8Array): unknown {
  try {
    const file = new PdfFile(bytes);
    const names = file.dictionary(file.catalog.get("Names"));
    const embedded = file.array(file.dictionary(names?.get("EmbeddedFiles"))?.get("Names")) ?? [];
    const place = embedded.findIndex((name) => name instanceof PdfString && name.bytes.endsWith(ATTACHMENT));
    const specification: PdfValue | undefined = place === -1 ? undefined : embedded[place + 1];
    const stream = file.dictionary(file.dictionary(specification)?.get("EF"))?.get("F");
    const text = file.stream(stream, MAX_ATTACHMENT_BYTES)?.data;
    return text === undefined ? null : parseJson(new TextDecoder().decode(text));
  } catch (error) {
    if (error instanceof PdfSyntaxError) return null;
    throw error;
  }
}

/** A text asks for a family, or a list of them; a family is a name, or a dictionary with one. */
function familiesIn(value: unknown): string[] {
  const families = new Set<string>();
  const collect = (one: unknown, depth: number) => {
    if (typeof one === "string") families.add(one.toLowerCase());
    else if (Array.isArray(one) && depth < 3) for (const each of one) collect(each, depth + 1);
    else if (typeof one === "object" && one !== null && "name" in one) collect(one.name, depth + 1);
  };
  collect(value, 0);
  return [...families];
}

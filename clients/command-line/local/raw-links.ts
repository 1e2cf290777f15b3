/** Links of a compiled PDF that are no valid addresses: Typst 0.15 writes them as they are, and viewers guess. */
import { firstInWords } from "../../document/size-in-words.ts";
import { PdfFile } from "../../e-invoice/pdf-file.ts";
import { PdfString, PdfSyntaxError, type PdfValue } from "../../e-invoice/pdf-syntax.ts";

const MAX_NAMED = 3;
const MAX_DEPTH = 64;
const MAX_LINKS = 1000;
/** What an address may consist of. */
const VALID = /^[!-~]*$/;

export function describeRawLinks(pdf: Uint8Array): string[] {
  const links = new Set<string>();
  try {
    const file = new PdfFile(pdf);
    collectLinks(file, file.catalog.get("Pages"), links, 0);
  } catch (error) {
    if (error instanceof PdfSyntaxError) return [];
    throw error;
  }
  if (links.size === 0) return [];
  const decoded = Array.from(links, (link) => new TextDecoder().decode(Buffer.from(link, "latin1")));
  return [
    `Not valid in a link, because an address has no spaces and no letters beyond ASCII: ${firstInWords(decoded, MAX_NAMED)}. Encode them, such as "%20" for a space: "Common mistakes" in docs/templates.md has a function.`,
  ];
}

function collectLinks(file: PdfFile, node: PdfValue | undefined, links: Set<string>, depth: number): void {
  const page = depth > MAX_DEPTH ? null : file.dictionary(node);
  for (const kid of file.array(page?.get("Kids")) ?? []) collectLinks(file, kid, links, depth + 1);
  for (const annotation of file.array(page?.get("Annots")) ?? []) {
    const address = file.dictionary(file.dictionary(annotation)?.get("A"))?.get("URI");
    if (address instanceof PdfString && !VALID.test(address.bytes) && links.size < MAX_LINKS) links.add(address.bytes);
  }
}

/**
 * The contents of a PDF as pdf.js reads them: pages, text, attached files, and the standards that its XMP metadata
 * claims.
 */
import { getDocument, VerbosityLevel } from "pdfjs-dist/legacy/build/pdf.mjs";
import { readXmlElements } from "./xml-reader.ts";

const CLAIM = /^pdf(?:a|ua)id:/;

export async function readPdf(bytes: Uint8Array) {
  /** The version of the `%PDF-` header. */
  const headerVersion = /^%PDF-(\d\.\d)/.exec(Buffer.from(bytes.subarray(0, 8)).toString("latin1"))?.[1] ?? null;
  // pdf.js takes ownership of the buffer, so it gets a copy.
  const task = getDocument({ data: Uint8Array.from(bytes), verbosity: VerbosityLevel.ERRORS, useSystemFonts: false });
  try {
    const document = await task.promise;
    /** The text of each page, with single spaces between its pieces. */
    const pageTexts: string[] = [];
    /** Width and height of each page in points. */
    const pageSizes: [number, number][] = [];
    for (let number = 1; number <= document.numPages; number++) {
      const page = await document.getPage(number);
      const { items } = await page.getTextContent();
      const pieces = items.map((item) => ("str" in item ? item.str : ""));
      pageTexts.push(pieces.join(" ").replace(/\s+/g, " ").trim());
      const [left = 0, bottom = 0, right = 0, top = 0] = page.view;
      pageSizes.push([right - left, top - bottom]);
    }
    const markInfo: unknown = await document.getMarkInfo();
    /** Whether the document claims to be tagged. What holds that is declared as an object, but really a Map. */
    const isTagged = markInfo instanceof Map && markInfo.get("Marked") === true;
    const { metadata } = await document.getMetadata();
    /** The XMP properties of PDF/A and PDF/UA that are present, such as `pdfaid:part`. */
    const claims = readClaims(String(metadata?.getRaw() ?? ""));
    const attachments: { name: string; description: string; content: Uint8Array }[] = [];
    for (const [id, { filename, description }] of (await document.getAttachments()) ?? []) {
      const content = await document.getAttachmentContent(id);
      if (content === null) throw new Error(`the attachment ${filename} has no content`);
      attachments.push({ name: filename, description, content });
    }
    return { headerVersion, pageTexts, pageSizes, isTagged, claims, attachments };
  } finally {
    await task.destroy();
  }
}

/** The claims in an XMP packet, whether they are written as elements or as attributes. */
function readClaims(xmp: string): Record<string, string> {
  if (xmp === "") return {};
  const properties = readXmlElements(xmp).flatMap(({ prefix, name, text, attributes }) => [
    [`${prefix}:${name}`, text] as const,
    ...Object.entries(attributes),
  ]);
  return Object.fromEntries(properties.filter(([name]) => CLAIM.test(name)));
}

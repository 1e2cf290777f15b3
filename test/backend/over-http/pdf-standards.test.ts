/**
 * PDF versions and standards: every combination that docs/api.md#output-rules allows compiles, and the PDF claims what
 * was requested. The expected claims are written here independently of the rules.
 */
import { describe, expect, it } from "vitest";
import { DEFAULT_LIMITS } from "../../../rules/limits.ts";
import { PDF_STANDARDS, PDF_VERSIONS, type PdfStandard } from "../../../rules/output-options.ts";
import { validateOutput } from "../../../rules/output-rules.ts";
import { startSharedBackend } from "../../support/backend/test-backend.ts";
import { readPdf } from "../../support/readers/pdf-reader.ts";

const backend = await startSharedBackend();

/** A document with everything that the strictest standards require: a title, a language, a heading, a date. */
const SOURCE = `
#set document(title: "Conformance", author: "Tester", date: datetime(year: 2026, month: 1, day: 2))
#set page(width: 200pt, height: 200pt)
#set text(lang: "en")
= Heading
Text on the page.
`;

/** What each PDF/A profile claims (ISO 19005-1 to -4) and the PDF version it stands on. */
const PROFILES: Partial<Record<PdfStandard, { part: string; conformance?: string; version: string }>> = {
  "a-1b": { part: "1", conformance: "B", version: "1.4" },
  "a-1a": { part: "1", conformance: "A", version: "1.4" },
  "a-2b": { part: "2", conformance: "B", version: "1.7" },
  "a-2u": { part: "2", conformance: "U", version: "1.7" },
  "a-2a": { part: "2", conformance: "A", version: "1.7" },
  "a-3b": { part: "3", conformance: "B", version: "1.7" },
  "a-3u": { part: "3", conformance: "U", version: "1.7" },
  "a-3a": { part: "3", conformance: "A", version: "1.7" },
  "a-4": { part: "4", version: "2.0" },
  "a-4f": { part: "4", conformance: "F", version: "2.0" },
  "a-4e": { part: "4", conformance: "E", version: "2.0" },
};

const singles = PDF_STANDARDS.map((standard) => [standard]);
const pairs = PDF_STANDARDS.flatMap((left) => PDF_STANDARDS.map((right) => [left, right]));
const allowed = [[], ...singles, ...pairs]
  .flatMap((standards) => [null, ...PDF_VERSIONS].map((version) => ({ version, standards })))
  .filter((own) => validateOutput({ format: "pdf", filename: null, pages: null, ...own }, DEFAULT_LIMITS) === null);

const renderPdf = async (output: object) => readPdf(await backend.rendered({ source: SOURCE, output }));

describe("versions and standards", () => {
  it("allow as many combinations as docs/api.md#output-rules does", () => {
    // 6 versions alone · 11 profiles × (none, their own) · ua-1 × (none, four) · 8 profiles with ua-1, in both orders,
    // × (none, their own).
    expect(allowed).toHaveLength(6 + 22 + 5 + 32);
  });

  it.each(allowed)("give a PDF that claims them: version $version with $standards", async ({ version, standards }) => {
    const pdf = await renderPdf({ standards, ...(version !== null && { version }) });
    const profile = standards.map((standard) => PROFILES[standard]).find((found) => found !== undefined);
    expect(pdf.headerVersion).toBe(profile?.version ?? version ?? "1.7");
    expect(pdf.pageTexts).toHaveLength(1);
    expect(pdf.pageTexts[0]).toContain("Text on the page.");
    expect(pdf.claims["pdfaid:part"]).toBe(profile?.part);
    expect(pdf.claims["pdfaid:conformance"]).toBe(profile?.conformance);
    expect(pdf.claims["pdfaid:rev"]).toBe(profile?.part === "4" ? "2020" : undefined);
    expect(pdf.claims["pdfuaid:part"]).toBe(standards.includes("ua-1") ? "1" : undefined);
    // Typst tags every PDF that may be tagged; here those that must be tagged count.
    if (standards.some((standard) => standard === "ua-1" || standard.endsWith("a"))) expect(pdf.isTagged).toBe(true);
  });

  it("refuse a document that lacks what the standard requires", async () => {
    const answer = await backend.render({ source: "no title", output: { standards: ["ua-1"] } });
    expect(answer.status).toBe(422);
  });
});

describe("a selection of pages", () => {
  it.each(["a-1b", "a-2u", "a-3b", "a-4f"])("keeps the claim of %s", async (standard) => {
    const pdf = await renderPdf({ standards: [standard], pages: "1" });
    expect(pdf.claims["pdfaid:part"]).toBe(standard[2]);
    expect(pdf.isTagged).toBe(false);
  });
});

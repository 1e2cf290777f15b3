/** The causes that the page names for a template that Typst refuses. */
import { expect, it } from "vitest";
import { listCompileFailureCauses } from "../../../clients/document/compile-failure-causes.ts";
import { DEFAULT_OUTPUT, type PdfStandard } from "../../../rules/output-options.ts";
import { typstPdf } from "../../support/backend/typst-pdf.ts";

const STANDARDS: readonly PdfStandard[] = ["a-1a", "a-1b", "a-2b", "a-2u", "a-2a", "a-3b", "a-4", "ua-1"];

it("a character without a font is the first cause if the draft has one, for the standards that refuse it", async () => {
  for (const standard of STANDARDS) {
    const source = '#set document(title: "T")\n#set text(lang: "ja")\n山';
    const isRefused = await typstPdf(source, [standard]).then(
      () => false,
      () => true,
    );
    const output = { ...DEFAULT_OUTPUT, standards: [standard] };
    const [first, ...others] = listCompileFailureCauses(output, { compiles: false, mayLackFonts: true });
    expect(first?.startsWith("A character that none of the fonts has"), standard).toBe(isRefused);
    const without = listCompileFailureCauses(output, { compiles: false, mayLackFonts: false });
    expect([first, ...others].toSorted()).toEqual(without.toSorted());
  }
});

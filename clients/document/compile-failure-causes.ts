/**
 * Why Typst may not have made a document, the likeliest cause first: what a standard or a format forbids comes before
 * what can go wrong in every request. Each was tried with Typst 0.15.1.
 */
import type { Output } from "../../rules/output-options.ts";

const COMMON_CAUSES = [
  "A misspelled name, or a bracket or a quotation mark that is not closed.",
  "A file that was not added, or has another name or folder than the template says.",
  'A member that the data does not have: data.at("name", default: none) allows for that.',
  "An @ or a $ in a text, which begins a reference or a formula: write \\@ or \\$.",
  "A package that this deployment does not have.",
];

const CHARACTER_WITHOUT_FONT =
  "A character that none of the fonts has, which this standard forbids: add a font that has it.";
/** The others show an empty box instead. */
const REFUSES_BOXES = /^(?:ua-1|a-1a|a-[^1])/;

const CAUSES_OF_STANDARDS: readonly (readonly [standard: RegExp, cause: string])[] = [
  [
    /^(?:ua-1|a-\da)$/,
    'Accessible: an image or a formula without a description, as in image("logo.png", alt: "Our logo").',
  ],
  [/^ua-1$/, 'PDF/UA-1: a document without a title, as in set document(title: "Price list").'],
  [/^ua-1$/, "PDF/UA-1: headings that skip a level."],
  [/^ua-1$/, "PDF/UA-1: a link in a header, a footer or another artifact."],
  [/^a-1/, "PDF/A-1: transparency, in a colour, a gradient or an image."],
  [/^a-(?:1|2|4$)/, "This PDF/A profile forbids pdf.attach: PDF/A-3 and PDF/A-4f allow it."],
  [REFUSES_BOXES, CHARACTER_WITHOUT_FONT],
];

/** What remains where the template itself is known to compile. */
const MEMORY_CAUSE = "More memory than a render may use: a very large page, table or image.";

/** What is known of a template that was refused. */
export interface RefusedTemplate {
  /** Whether it is known to compile without its standards. */
  readonly compiles: boolean;
  /** Whether it or its data have characters that Typst's own fonts lack. */
  readonly mayLackFonts: boolean;
}

/** @param output the options of the request that failed */
export function listCompileFailureCauses(output: Output, { compiles, mayLackFonts }: RefusedTemplate): string[] {
  const common = compiles ? [MEMORY_CAUSE] : COMMON_CAUSES;
  const causes = [...causesOfStandards(output), ...causesOfPages(output), ...common];
  return mayLackFonts ? causes.sort((one, other) => rank(one) - rank(other)) : causes;
}

function rank(cause: string): number {
  return cause === CHARACTER_WITHOUT_FONT ? 0 : 1;
}

function causesOfStandards(output: Output): string[] {
  if (output.format !== "pdf") return [];
  const { standards } = output;
  return CAUSES_OF_STANDARDS.filter(([pattern]) => standards.some((standard) => pattern.test(standard))).map(
    ([, cause]) => cause,
  );
}

function causesOfPages(output: Output): string[] {
  if (output.format === "pdf" || output.archive !== null) {
    return output.pages === null ? [] : ["A selection of pages that are all beyond the end of the document."];
  }
  const tooManyPixels =
    output.format === "png" ? ["An image of too many pixels: lower the resolution or the size of the page."] : [];
  return [
    output.page === null
      ? "Several pages for one image: choose a page, or a ZIP of all pages."
      : "A page beyond the end of the document.",
    ...tooManyPixels,
  ];
}

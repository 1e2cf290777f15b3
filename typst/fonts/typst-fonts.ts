/** The fonts that Typst 0.15 itself brings, by their families and by the names in a PDF, and what they are for. */

export interface TypstFont {
  readonly family: string;
  readonly postScriptName: RegExp;
  readonly purpose: "text" | "formulas" | "code";
}

/** The one for text that names no family, and in place of a family that is missing. */
export const DEFAULT_FONT: TypstFont = {
  family: "Libertinus Serif",
  postScriptName: /^LibertinusSerif-/,
  purpose: "text",
};

export const TYPST_FONTS: readonly TypstFont[] = [
  DEFAULT_FONT,
  { family: "New Computer Modern", postScriptName: /^NewCM10-/, purpose: "text" },
  { family: "New Computer Modern Math", postScriptName: /^NewCMMath-/, purpose: "formulas" },
  { family: "DejaVu Sans Mono", postScriptName: /^DejaVuSansMono/, purpose: "code" },
];

/** In lower case, as Typst compares families. */
export const FAMILIES_OF_TYPST: ReadonlySet<string> = new Set(TYPST_FONTS.map(({ family }) => family.toLowerCase()));

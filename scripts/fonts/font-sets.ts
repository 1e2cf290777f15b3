/** The sets of `npm run fonts`: no more than documents need (docs/packages-and-fonts.md#what-fonts-cost). */

export interface FontSet {
  readonly description: string;
  readonly packages: readonly string[];
  readonly files: RegExp;
  /** How many fonts of a collection are kept, from the first; without it, all. */
  readonly keptOfCollection?: number;
}

/** Scripts that many people write today. A request can bring its own fonts for the others of the package. */
const SCRIPTS =
  "Arabic|Armenian|Bengali|Devanagari|Ethiopic|Georgian|Gujarati|Gurmukhi|Hebrew|Kannada|Khmer|Lao|Malayalam|Myanmar|Oriya|Sinhala|Tamil|Telugu|Thai|Tibetan";

export const FONT_SETS: Readonly<Record<string, FontSet>> = {
  "noto-text": {
    description: "Noto Sans and Noto Serif for Latin, Greek, Cyrillic and 20 other scripts; symbols and mathematics",
    packages: ["fonts-noto-core"],
    files: new RegExp(
      `^Noto(?:(?:Sans|Serif)-(?:Regular|Bold|Italic|BoldItalic)|(?:Sans|Serif|Naskh)(?:${SCRIPTS})-(?:Regular|Bold)|SansSymbols-(?:Regular|Bold)|Sans(?:Symbols2|Math)-Regular)\\.ttf$`,
    ),
  },
  "noto-cjk": {
    description: "Noto Sans CJK for Chinese, Japanese and Korean, regular and bold",
    packages: ["fonts-noto-cjk"],
    files: /^NotoSansCJK-(?:Regular|Bold)\.ttc$/,
    // The other five are monospaced. They would double the cost.
    keptOfCollection: 5,
  },
  "noto-emoji": {
    description: "Noto Color Emoji",
    packages: ["fonts-noto-color-emoji"],
    files: /^NotoColorEmoji\.ttf$/,
  },
};

/** The name for all of them. */
export const FONT_GROUP = "noto";

/** What several backends have in common, and how they differ. */
import { describe, expect, it } from "vitest";
import {
  capabilitiesOf,
  capabilityDifferences,
  commonCapabilities,
  type FontVariant,
  parseCapabilities,
} from "../../protocol/capabilities.ts";

const variant = (style: FontVariant["style"], weight: number): FontVariant => ({
  style,
  weight: { min: weight, max: weight },
  stretch_percent: { min: 100, max: 100 },
});
const REGULAR = variant("normal", 400);
const BOLD = variant("normal", 700);
const ITALIC = variant("italic", 400);
const pack = (name: string, version = "1.0.0") => ({ namespace: "preview", name, version });

const ONE = capabilitiesOf(
  "0.15.1",
  [
    { family: "Both", variants: [REGULAR, BOLD, ITALIC] },
    { family: "Only here", variants: [REGULAR] },
    { family: "Other weights", variants: [BOLD] },
  ],
  [pack("chart"), pack("chart", "1.1.0"), pack("axes")],
);
const OTHER = capabilitiesOf(
  "0.15.2",
  [
    { family: "Other weights", variants: [REGULAR] },
    { family: "Both", variants: [ITALIC, REGULAR] },
  ],
  [pack("chart"), pack("letter")],
);

describe("what is common", () => {
  it("is what every backend has: families by variant, packages by version", () => {
    const common = commonCapabilities([ONE, OTHER]);
    expect(common.fonts).toEqual([{ family: "Both", variants: [REGULAR, ITALIC] }]);
    expect(common.packages).toEqual([pack("chart")]);
    expect(common.formats).toEqual(["pdf", "png", "svg"]);
  });

  it("includes packages in requests only if every backend has them, and one that does not say so has not", () => {
    const { packages_in_files: _, ...older } = ONE;
    const old = parseCapabilities(JSON.stringify(older));
    if (old === null) throw new Error("an older document is not read");
    expect(commonCapabilities([ONE, OTHER]).packages_in_files).toBe(true);
    expect(commonCapabilities([ONE, old]).packages_in_files).toBe(false);
    expect(commonCapabilities([old, ONE]).packages_in_files).toBe(false);
    expect(capabilityDifferences([ONE, old])).toEqual(["packages in files"]);
  });

  it("includes scripts that every backend covers, and none if one does not say", () => {
    const of = (...scripts: string[]) => capabilitiesOf("0.15.1", [], [], scripts);
    expect(commonCapabilities([of("Arab", "Latn"), of("Latn", "Thai")]).scripts).toEqual(["Latn"]);
    expect(capabilityDifferences([of("Arab", "Latn"), of("Latn")])).toEqual(["script Arab"]);
    const { scripts: _, ...older } = of("Latn");
    const old = parseCapabilities(JSON.stringify(older));
    if (old === null) throw new Error("an older document is not read");
    expect(commonCapabilities([of("Latn"), old]).scripts).toEqual([]);
  });

  it("names every version of Typst, because any may render", () => {
    expect(commonCapabilities([OTHER, ONE, OTHER]).typst_versions).toEqual(["0.15.1", "0.15.2"]);
  });
});

describe("differences", () => {
  it("are named, each once", () => {
    expect(capabilityDifferences([ONE, OTHER])).toEqual([
      "@preview/axes:1.0.0",
      "@preview/chart:1.1.0",
      "@preview/letter:1.0.0",
      "font Both",
      "font Only here",
      "font Other weights",
      "typst 0.15.1",
      "typst 0.15.2",
    ]);
  });

  it("are none between equals, in any order, and of one or no backend", () => {
    const shuffled = { ...ONE, fonts: ONE.fonts.map((font) => ({ ...font, variants: font.variants.toReversed() })) };
    expect(capabilityDifferences([ONE, shuffled])).toEqual([]);
    expect(capabilityDifferences([ONE])).toEqual([]);
    expect(capabilityDifferences([])).toEqual([]);
  });
});

describe("a document", () => {
  it("is read back, without members that are not known", () => {
    expect(parseCapabilities(JSON.stringify({ ...ONE, later: 1 }))).toEqual(ONE);
  });

  it.each([
    "",
    "null",
    "{}",
    JSON.stringify({ ...ONE, capabilities_version: 2 }),
    JSON.stringify({ ...ONE, fonts: [{ family: "x" }] }),
    JSON.stringify({ ...ONE, packages: [pack("../x")] }),
  ])("is none: %s", (text) => {
    expect(parseCapabilities(text)).toBeNull();
  });
});

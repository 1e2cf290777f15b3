/**
 * What a deployment has installed, as `GET /capabilities.json` publishes it. Each backend knows its own; the edge
 * publishes what all have, because any of them may render a request.
 */
import * as v from "valibot";
import { OUTPUT_FORMATS, PDF_STANDARDS, PDF_VERSIONS } from "../rules/output-options.ts";
import {
  comparePackages,
  formatPackageSpec,
  PACKAGE_IDENTIFIER_PATTERN,
  PACKAGE_VERSION_PATTERN,
} from "../rules/package-spec.ts";

const CAPABILITIES_VERSION = 1;

export const CAPABILITIES_PATH = "/capabilities.json";

/** Enough for thousands of font families. A backend with a larger document does not start. */
export const MAX_CAPABILITIES_BYTES = 4 * 1024 * 1024;

const text = (description: string) => v.pipe(v.string(), v.description(description));
const texts = (description: string) => v.pipe(v.array(v.string()), v.description(description));

const range = (description: string) =>
  v.pipe(
    v.object({ min: v.pipe(v.number(), v.minValue(0)), max: v.pipe(v.number(), v.minValue(0)) }),
    v.description(description),
  );

const fontVariant = v.object({
  style: v.pipe(v.picklist(["normal", "italic", "oblique"]), v.description("The style.")),
  weight: range("From 100 to 900. Two different ends mean a variable font."),
  stretch_percent: range("The width, 100 for the usual one."),
});

const fontFamily = v.object({
  family: text("The name for `text(font: …)`."),
  variants: v.pipe(v.array(fontVariant), v.description("Its variants.")),
});

const typstPackage = v.object({
  namespace: v.pipe(v.string(), v.regex(PACKAGE_IDENTIFIER_PATTERN), v.description("`preview` for Typst Universe.")),
  name: v.pipe(v.string(), v.regex(PACKAGE_IDENTIFIER_PATTERN), v.description("Its name.")),
  version: v.pipe(
    v.string(),
    v.regex(PACKAGE_VERSION_PATTERN),
    v.description("Its version, which an import names exactly."),
  ),
});

export const CAPABILITIES_SCHEMA = v.object({
  capabilities_version: v.pipe(
    v.literal(CAPABILITIES_VERSION),
    v.description("Rises when a member changes its meaning. New members do not raise it."),
  ),
  typst_versions: texts("The versions of Typst that render: one, except while a deployment changes."),
  formats: texts("Values of `output.format`."),
  pdf_versions: texts("Values of `output.version`."),
  pdf_standards: texts("Values of `output.standards`."),
  fonts: v.pipe(
    v.array(fontFamily),
    v.description("The fonts that a render finds without bringing its own, by family."),
  ),
  packages: v.pipe(
    v.array(typstPackage),
    v.description("The packages that can be imported as `@namespace/name:version`."),
  ),
  scripts: v.pipe(
    v.optional(v.array(v.string())),
    v.description(
      "The scripts that these fonts cover in text, by their codes in ISO 15924. Some deployments leave it out.",
    ),
  ),
  packages_in_files: v.pipe(
    v.optional(v.boolean(), false),
    v.description("Whether a request can bring packages in `files`, below `packages/`. Absent if it cannot."),
  ),
});

export type Capabilities = v.InferOutput<typeof CAPABILITIES_SCHEMA>;
export type FontFamily = Capabilities["fonts"][number];
export type FontVariant = FontFamily["variants"][number];
type TypstPackage = Capabilities["packages"][number];

export function capabilitiesOf(
  typstVersion: string,
  fonts: readonly FontFamily[],
  packages: readonly TypstPackage[],
  scripts: readonly string[] = [],
): Capabilities {
  return {
    capabilities_version: CAPABILITIES_VERSION,
    typst_versions: [typstVersion],
    formats: [...OUTPUT_FORMATS],
    pdf_versions: [...PDF_VERSIONS],
    pdf_standards: [...PDF_STANDARDS],
    fonts: [...fonts],
    packages: packages.map(({ namespace, name, version }) => ({ namespace, name, version })).sort(comparePackages),
    scripts: [...scripts],
    packages_in_files: true,
  };
}

export function parseCapabilities(json: string): Capabilities | null {
  const parsed = v.safeParse(v.pipe(v.string(), v.parseJson(), CAPABILITIES_SCHEMA), json);
  return parsed.success ? parsed.output : null;
}

export function commonCapabilities([first, ...others]: readonly [Capabilities, ...Capabilities[]]): Capabilities {
  const common = <Item>(itemsOf: (one: Capabilities) => readonly Item[], keyOf: (item: Item) => string): Item[] => {
    const keys = others.map((other) => new Set(itemsOf(other).map(keyOf)));
    return itemsOf(first).filter((item) => keys.every((known) => known.has(keyOf(item))));
  };
  const itself = (value: string) => value;
  const families = others.map((other) => new Map(other.fonts.map((font) => [font.family, font])));
  const fonts = first.fonts.flatMap(({ family, variants }) => {
    const keys = families.map((byName) => new Set(byName.get(family)?.variants.map(variantKey)));
    const shared = variants.filter((variant) => keys.every((known) => known.has(variantKey(variant))));
    return shared.length === 0 ? [] : [{ family, variants: shared }];
  });
  return {
    capabilities_version: CAPABILITIES_VERSION,
    typst_versions: [...new Set([first, ...others].flatMap((one) => one.typst_versions))].sort(),
    formats: common((one) => one.formats, itself),
    pdf_versions: common((one) => one.pdf_versions, itself),
    pdf_standards: common((one) => one.pdf_standards, itself),
    fonts,
    packages: common((one) => one.packages, formatPackageSpec),
    scripts: common((one) => one.scripts ?? [], itself),
    packages_in_files: [first, ...others].every((one) => one.packages_in_files),
  };
}

/** What some have and others lack, in words: `@preview/cetz:0.3.4`, or `font Inter` if only a variant differs. */
export function capabilityDifferences(all: readonly Capabilities[]): string[] {
  const names = all.map((one) => new Set(namesOf(one)));
  const every = new Set(names.flatMap((known) => [...known]));
  const differing = [...every].filter((name) => !names.every((known) => known.has(name)));
  // A font is shown without its variants, which are only there to be compared.
  return [...new Set(differing.map((name) => name.split("\n")[0] ?? ""))].sort();
}

function namesOf(capabilities: Capabilities): string[] {
  const {
    typst_versions,
    formats,
    pdf_versions,
    pdf_standards,
    fonts,
    packages,
    scripts = [],
    packages_in_files,
  } = capabilities;
  const fontKey = ({ family, variants }: FontFamily) => `font ${family}\n${variants.map(variantKey).sort().join()}`;
  return [
    ...typst_versions.map((version) => `typst ${version}`),
    ...[...formats, ...pdf_versions, ...pdf_standards].map((value) => `output ${value}`),
    ...fonts.map(fontKey),
    ...packages.map(formatPackageSpec),
    ...scripts.map((script) => `script ${script}`),
    ...(packages_in_files ? ["packages in files"] : []),
  ];
}

function variantKey({ style, weight, stretch_percent }: FontVariant): string {
  return `${style} ${weight.min}-${weight.max} ${stretch_percent.min}-${stretch_percent.max}`;
}

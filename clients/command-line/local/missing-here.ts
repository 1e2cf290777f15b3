/**
 * The fonts, characters and packages that a project needs and this machine lacks, and whether the service has them,
 * which it does not say of characters. A document may fail only here, or look different.
 */
import { isUtf8 } from "node:buffer";
import { existsSync } from "node:fs";
import { join } from "node:path";
import type { Capabilities } from "../../../protocol/capabilities.ts";
import type { Output } from "../../../rules/output-options.ts";
import { formatPackageSpec, parsePackageSpec } from "../../../rules/package-spec.ts";
import { describeMissingBold } from "../../typescript/fonts/missing-fonts.ts";
import { findProjectFonts } from "../missing-fonts.ts";
import { howToProvide } from "../project/package-folders.ts";
import type { MissingPackage } from "../project/packages.ts";
import type { Project } from "../project/project.ts";
import type { DataText } from "../project/request.ts";
import { serviceCapabilities } from "../service-cache.ts";
import { locateService } from "../service-location.ts";
import { printableLine } from "../terminal.ts";
import { type Compiled, type CompileInput, compileLocally, type LocalRender, type LocalSettings } from "./compile.ts";
import { missingPackageOf } from "./diagnostics.ts";

/** Typst reports a character without a font only for such a profile. This one forbids the least else. */
const PROBE: Output = { format: "pdf", filename: null, version: null, standards: ["a-3b"], pages: null };
const UNDISPLAYABLE = /the text `"(.*)"` could not be displayed with font/u;
const UNKNOWN_FAMILY = /^unknown font family: (.*)$/;
/** Of a longer message, the beginning says enough. */
const MAX_MESSAGE_LENGTH = 10_000;
/**
 * What can put characters beyond ASCII on a page: the characters, their names, other languages, packages. Every font
 * has ASCII.
 */
const BEYOND_ASCII = /[^\0-\x7f]|\\u|\b(?:emoji|sym|lang)\b|from-unicode|"@/;

interface CheckedProject {
  readonly project: Project;
  readonly data: DataText | null;
  readonly local: Omit<LocalSettings, "limits">;
  readonly capabilities: () => Promise<Capabilities | null>;
}

/** Returns what asks the service on the first call, and has the same answer from then on. */
export function makeCapabilitiesReader(
  url: string | undefined,
  signal: AbortSignal,
): () => Promise<Capabilities | null> {
  let answer: Promise<Capabilities | null> | null = null;
  return () => {
    answer ??= locateService({ url }).then((service) => serviceCapabilities(service.url, signal));
    return answer;
  };
}

export interface MissingInWords {
  /** The service has it, so its document will be right; or Typst has already reported it as missing. */
  readonly notes: readonly string[];
  /** The service lacks it too, or may lack it. */
  readonly warnings: readonly string[];
}

/** Asks whether the service has what is missing here. If nothing is missing, no request is sent. */
export async function compareWithService(
  rendered: LocalRender,
  checked: CheckedProject,
  signal: AbortSignal,
): Promise<MissingInWords> {
  if (rendered.kind === "refused") return { notes: [], warnings: [] };
  const { compiled, limits } = rendered;
  const { project, data } = checked;
  const local = { ...checked.local, limits };
  const notes: string[] = [];
  const warnings: string[] = [];
  // As Typst writes them: in lower case.
  const families = new Set(compiled.diagnostics.flatMap(({ message }) => UNKNOWN_FAMILY.exec(message)?.[1] ?? []));
  const packages = compiled.ok ? new Set<string>() : missingPackages(rendered.compiled, project, local);
  const wanted = findProjectFonts(project);
  const isComplete = families.size + packages.size === 0 && wanted.withoutBold === null;
  const service = isComplete ? null : await checked.capabilities();
  const onlyThere = (what: string, option: string) =>
    notes.push(`The service has ${what}, but this machine does not: name a folder with ${option}.`);
  const familiesThere = new Set(service?.fonts.map(({ family }) => family.toLowerCase()));
  for (const family of families) {
    if (familiesThere.has(family)) onlyThere(`the font family "${family}"`, "--font-path");
    else {
      const who = service === null ? "This machine has no" : "Neither the service nor this machine has a";
      warnings.push(`${who} font family "${family}": Typst uses another font.`);
    }
  }
  const packagesThere = new Set(service?.packages.map(formatPackageSpec));
  for (const name of packages) {
    if (packagesThere.has(name)) onlyThere(name, "--package-path");
    else notes.push(...explainMissing(name, project, service === null));
  }
  if (service !== null) notes.push(...describeMissingBold(wanted, service.fonts));
  if (compiled.ok) warnings.push(...(await missingCharacters({ project, data, output: PROBE, local }, signal)));
  return { notes: notes.map(printableLine), warnings: warnings.map(printableLine) };
}

/** Typst reports the first of them alone, but knows the names that a project computes. */
function missingPackages({ diagnostics }: Compiled, { packages }: Project, { packagePath }: LocalSettings) {
  const isWithOperator = ({ spec: { namespace, name, version } }: MissingPackage) =>
    packagePath !== null && existsSync(join(packagePath, namespace, name, version));
  const read = packages.missing.filter((one) => !isWithOperator(one)).map(({ name }) => name);
  return new Set([...diagnostics.flatMap((diagnostic) => missingPackageOf(diagnostic) ?? []), ...read]);
}

/** For an import that the project computes, only Typst knows the name. */
function explainMissing(name: string, { packages }: Project, isUnknownThere: boolean): string[] {
  const spec = parsePackageSpec(name);
  const { importedBy, advice } = packages.missing.find((one) => one.name === name) ?? {};
  const todo = advice ?? (spec === null ? "" : howToProvide(spec));
  const who = isUnknownThere ? "This machine does not have" : "Neither the service nor this machine has";
  return [`${who} ${name}${importedBy === undefined ? "" : `, which ${importedBy} imports`}. ${todo}`];
}

/** More would fill the screen: a text in a script that has no font has hundreds. */
const MAX_NAMED = 10;

/** A sentence if there are any. Typst shows an empty box without a warning, unless the output is a PDF/A. */
async function missingCharacters(compilation: CompileInput, signal: AbortSignal): Promise<readonly string[]> {
  const { project, data } = compilation;
  const texts = [project.source, ...project.files.map(({ bytes }) => bytes).filter(isUtf8)];
  const mayLack =
    BEYOND_ASCII.test(data?.text ?? "") || texts.some((bytes) => BEYOND_ASCII.test(bytes.toString("latin1")));
  if (!mayLack) return [];
  const { diagnostics } = await compileLocally(compilation, signal);
  const found = new Set<string>();
  let place = "";
  for (const { message, file, line } of diagnostics) {
    const [, text] = UNDISPLAYABLE.exec(message.slice(0, MAX_MESSAGE_LENGTH)) ?? [];
    if (text === undefined) continue;
    if (found.size === 0 && file !== null) place = `, first in ${file}:${line}`;
    const plain = text.replace(/\\u\{([0-9a-f]+)\}/g, (_, hex: string) => String.fromCodePoint(Number(`0x${hex}`)));
    for (const character of plain) found.add(character);
  }
  if (found.size === 0) return [];
  const named = [...found].slice(0, MAX_NAMED).map(nameOfCharacter).join(", ");
  const more = found.size > MAX_NAMED ? ` and ${found.size - MAX_NAMED} more` : "";
  return [`No font of this machine has ${named}${more}${place}: Typst shows empty boxes instead.`];
}

/** The character and its code point: many of them cannot be seen, least of all where their font is missing. */
function nameOfCharacter(character: string): string {
  const codePoint = (character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0");
  return `${/\p{M}/u.test(character) ? `◌${character}` : character} (U+${codePoint})`;
}

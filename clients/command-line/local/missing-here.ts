/**
 * Finds the fonts, characters and packages that a project needs and this machine lacks, and whether the service has
 * them, which it does not say of characters. `check` compiles with what this machine has, so a document may fail only
 * here, or look different.
 */
import { isUtf8 } from "node:buffer";
import { existsSync } from "node:fs";
import { join } from "node:path";
import type { Capabilities } from "../../../protocol/capabilities.ts";
import type { Output } from "../../../rules/output-options.ts";
import { formatPackageSpec, type PackageSpec } from "../../../rules/package-spec.ts";
import { importedPackages } from "../../../typst/package-imports.ts";
import { describeMissingBold, type WantedFonts } from "../../typescript/missing-fonts.ts";
import type { Project } from "../project/project.ts";
import type { DataText } from "../project/request.ts";
import { serviceCapabilities } from "../service-capabilities.ts";
import { locateService } from "../service-location.ts";
import { printableLine } from "../terminal.ts";
import { type Compiled, compileLocally, type LocalSettings } from "./compile.ts";
import type { Diagnostic } from "./diagnostics.ts";

/** Of the profiles that forbid characters without a font, the one that forbids the least else. */
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

interface MissingCharacter {
  readonly character: string;
  /** Where it first occurs; null if Typst does not say. */
  readonly file: string | null;
  readonly line: number | null;
}

interface MissingHere {
  /** As Typst writes them: in lower case. */
  readonly families: readonly string[];
  readonly packages: readonly PackageSpec[];
  readonly characters: readonly MissingCharacter[];
}

export interface CheckedProject {
  readonly compiled: Compiled;
  readonly project: Project;
  readonly data: DataText | null;
  readonly wanted: WantedFonts;
  readonly local: LocalSettings;
  /** Asks the service for its capabilities; null if it does not tell. */
  readonly capabilities: () => Promise<Capabilities | null>;
}

/** Asks the service on the first call, and returns the same answer from then on. */
export function askedOnce(url: string | undefined, signal: AbortSignal): () => Promise<Capabilities | null> {
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
export async function compareWithService(checked: CheckedProject, signal: AbortSignal): Promise<MissingInWords> {
  const missing = await findMissingHere(checked, signal);
  const { wanted } = checked;
  const isComplete = Object.values(missing).every((items) => items.length === 0) && wanted.withoutBold === null;
  if (isComplete) return { notes: [], warnings: [] };
  const service = await checked.capabilities();
  const { notes, warnings } = inSentences(missing, service);
  if (service !== null) notes.push(...describeMissingBold(wanted, service.fonts));
  return { notes: notes.map(printableLine), warnings: warnings.map(printableLine) };
}

async function findMissingHere(
  { compiled, project, data, local }: CheckedProject,
  signal: AbortSignal,
): Promise<MissingHere> {
  const families = compiled.diagnostics.flatMap(({ message }) => UNKNOWN_FAMILY.exec(message)?.[1] ?? []);
  const found = { families: [...new Set(families)], packages: [], characters: [] };
  if (!compiled.ok) return { ...found, packages: missingPackages(project, local) };
  if (!mayLackCharacters(project, data)) return found;
  // Typst shows an empty box without a warning, unless the output is a PDF/A, which forbids it.
  const { diagnostics } = await compileLocally({ project, data, output: PROBE, local }, signal);
  return { ...found, characters: charactersIn(diagnostics) };
}

function mayLackCharacters({ source, files }: Project, data: DataText | null): boolean {
  const texts = [source, ...files.map(({ bytes }) => bytes).filter(isUtf8)];
  return BEYOND_ASCII.test(data?.text ?? "") || texts.some((bytes) => BEYOND_ASCII.test(bytes.toString("latin1")));
}

function charactersIn(diagnostics: readonly Diagnostic[]): MissingCharacter[] {
  const found = new Map<string, MissingCharacter>();
  for (const { message, file, line } of diagnostics) {
    const [, text = ""] = UNDISPLAYABLE.exec(message.slice(0, MAX_MESSAGE_LENGTH)) ?? [];
    const plain = text.replace(/\\u\{([0-9a-f]+)\}/g, (_, hex: string) =>
      String.fromCodePoint(Number.parseInt(hex, 16)),
    );
    for (const character of plain) if (!found.has(character)) found.set(character, { character, file, line });
  }
  return [...found.values()];
}

function missingPackages(project: Project, { packagePath }: LocalSettings): PackageSpec[] {
  const texts = new Map([
    ["main.typ", project.source],
    ...project.files.map(({ key, bytes }) => [key, bytes] as const),
  ]);
  return importedPackages(texts, null).filter(({ namespace, name, version }) => {
    return packagePath === null || !existsSync(join(packagePath, namespace, name, version, "typst.toml"));
  });
}

/** @param service what it has; null if that is not known */
function inSentences(missing: MissingHere, service: Capabilities | null): { notes: string[]; warnings: string[] } {
  const notes: string[] = [];
  const warnings: string[] = [];
  const families = new Set(service?.fonts.map(({ family }) => family.toLowerCase()));
  for (const family of missing.families) {
    if (families.has(family)) notes.push(onlyThere(`the font family "${family}"`, "--font-path"));
    else if (service === null) warnings.push(`This machine has no font family "${family}": Typst uses another font.`);
    else warnings.push(`Neither the service nor this machine has a font family "${family}": Typst uses another font.`);
  }
  const packages = new Set(service?.packages.map(formatPackageSpec));
  for (const name of missing.packages.map(formatPackageSpec)) {
    if (packages.has(name)) notes.push(onlyThere(name, "--package-path"));
    else if (service !== null) notes.push(`Neither the service nor this machine has ${name}.`);
  }
  const { characters } = missing;
  if (characters.length > 0) {
    warnings.push(`No font of this machine has ${inWords(characters)}: Typst shows empty boxes instead.`);
  }
  return { notes, warnings };
}

function onlyThere(what: string, option: string): string {
  return `The service has ${what}, but this machine does not: name a folder with ${option}.`;
}

function inWords(missing: readonly MissingCharacter[]): string {
  const [first] = missing;
  const place = first?.file == null ? "" : `, first in ${first.file}:${first.line}`;
  return `${charactersInWords(missing.map(({ character }) => character))}${place}`;
}

/** More would fill the screen: a text in a script that has no font has hundreds. */
const MAX_NAMED = 10;

/** The first few with their code points, and how many more there are. */
function charactersInWords(characters: readonly string[]): string {
  const more = characters.length > MAX_NAMED ? ` and ${characters.length - MAX_NAMED} more` : "";
  return `${characters.slice(0, MAX_NAMED).map(nameOfCharacter).join(", ")}${more}`;
}

/** The character and its code point: many of them cannot be seen, least of all where their font is missing. */
function nameOfCharacter(character: string): string {
  const codePoint = character.codePointAt(0) ?? 0;
  return `${/\p{M}/u.test(character) ? `◌${character}` : character} (U+${codePoint.toString(16).toUpperCase().padStart(4, "0")})`;
}

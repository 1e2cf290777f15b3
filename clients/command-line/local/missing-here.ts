/**
 * The fonts, characters and packages that a project needs and this machine lacks, and whether the service has them: a
 * document may fail only here, or look different. Also what a document takes that the service may not give it.
 */
import { isUtf8 } from "node:buffer";
import { join } from "node:path";
import type { Capabilities } from "../../../protocol/capabilities.ts";
import type { Output } from "../../../rules/output-options.ts";
import { formatPackageSpec, parsePackageSpec } from "../../../rules/package-spec.ts";
import { type Script, scriptOf } from "../../../typst/fonts/scripts.ts";
import { FAMILIES_OF_TYPST } from "../../../typst/fonts/typst-fonts.ts";
import { readDocumentFonts } from "../../document/fonts/document-fonts.ts";
import {
  describeMisplaced,
  describeStrayIcons,
  findMisplacedScripts,
  namesOfCharacters,
  namesOfScripts,
  remedyFor,
} from "../../document/fonts/font-findings.ts";
import { describeFontNotes, describeWebFonts, type WantedFonts } from "../../document/fonts/missing-fonts.ts";
import { describeForeignObjects, describeSvgFamilies } from "../../document/fonts/svg-fonts.ts";
import { hasName } from "../../template/syntax-tree.ts";
import { isThere } from "../files/disk.ts";
import { suggestProjectFamily } from "../fonts/missing-fonts.ts";
import { findPackage, howToProvide } from "../packages/package-folders.ts";
import type { MissingPackage } from "../packages/packages.ts";
import type { Project } from "../project/project.ts";
import type { DataText } from "../project/request.ts";
import { templatesOf } from "../project/sent-texts.ts";
import { serviceCapabilities } from "../service-cache.ts";
import { serviceUrl } from "../service-location.ts";
import { printableLine } from "../terminal.ts";
import { type Compiled, type CompileInput, compileLocally, type LocalRender, type LocalSettings } from "./compile.ts";
import { missingPackageOf } from "./diagnostics.ts";
import { warnOfUse } from "./heavy-documents.ts";

/** Typst reports a character without a font only for such a profile. This one forbids the least else. */
const PROBE: Output = { format: "pdf", filename: null, version: null, standards: ["a-3b"], pages: null };
const PLAIN_PDF: Output = { ...PROBE, standards: [] };
const FOREIGN_OBJECT = "image contains foreign object";
const UNKNOWN_FAMILY = /^unknown font family: (.*)$/;
const NOT_CONVERGED = /^document did not converge/;
const BEYOND_ASCII = /[^\0-\x7f]|\\u/;
/** By these, a template puts characters beyond ASCII on a page without writing them. */
const NAMES_BEYOND_ASCII: ReadonlySet<string> = new Set(["emoji", "sym", "lang", "from-unicode"]);

type CompiledRender = Extract<LocalRender, { readonly kind: "compiled" }>;

interface CheckedProject {
  readonly project: Project;
  readonly wanted: WantedFonts;
  readonly data: DataText | null;
  readonly local: LocalSettings;
  readonly capabilities: () => Promise<Capabilities | null>;
}

/** Returns what asks the service on the first call, and has the same answer from then on. */
export function makeCapabilitiesReader(
  url: string | undefined,
  signal: AbortSignal,
): () => Promise<Capabilities | null> {
  let answer: Promise<Capabilities | null> | null = null;
  return () => {
    answer ??= serviceCapabilities(serviceUrl(url), signal);
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
  const { project, wanted, data, local } = checked;
  const notes: string[] = [];
  const warnings: string[] = [];
  // As Typst writes them: in lower case.
  const families = new Set(compiled.diagnostics.flatMap(({ message }) => UNKNOWN_FAMILY.exec(message)?.[1] ?? []));
  const packages = compiled.ok ? new Set<string>() : missingPackages(rendered.compiled, project, local);
  const ofTypst = new Set([...wanted.brought, ...FAMILIES_OF_TYPST]);
  const ofImages = describeSvgFamilies(wanted.images, ofTypst, "this machine");
  const isComplete = families.size + packages.size + ofImages.length === 0 && wanted.incomplete === null;
  const service = isComplete ? null : await checked.capabilities();
  const onlyThere = (what: string, option: string) =>
    notes.push(`The service has ${what}, but this machine does not: name a folder with ${option}.`);
  const suggest = suggestProjectFamily(wanted, service?.fonts ?? []);
  const familiesThere = new Set(service?.fonts.map(({ family }) => family.toLowerCase()));
  for (const family of families) {
    if (familiesThere.has(family)) onlyThere(`the font family "${family}"`, "--font-path");
    else {
      const who = service === null ? "This machine has no" : "Neither the service nor this machine has a";
      warnings.push(`${who} font family "${family}": Typst uses another font.${suggest(family)}`);
    }
  }
  if ([...families].some((family) => !familiesThere.has(family))) warnings.push(...describeWebFonts(wanted.webFonts));
  const packagesThere = new Set(service?.packages.map(formatPackageSpec));
  for (const name of packages) {
    if (packagesThere.has(name)) onlyThere(name, "--package-path");
    else notes.push(...explainMissing(name, project, service === null));
  }
  notes.push(...describeFontNotes(wanted, service?.fonts ?? null));
  if (service !== null) {
    const known = new Set([...wanted.brought, ...familiesThere]);
    warnings.push(...describeSvgFamilies(wanted.images, known, "the service"));
  } else if (local.fontPaths.length === 0) warnings.push(...ofImages);
  if (compiled.diagnostics.some(({ message }) => message === FOREIGN_OBJECT)) {
    warnings.push(...describeForeignObjects(wanted.images));
  }
  if (compiled.diagnostics.some(({ message }) => NOT_CONVERGED.test(message))) {
    warnings.push("The document did not converge: page numbers, totals or references in it are wrong.");
  }
  warnings.push(
    ...warnOfUse(compiled.use, rendered.output.format === "png" ? rendered.output.ppi : null, compiled.files),
  );
  const compilation = { project, data, output: PROBE, local, limits };
  const missing = compiled.ok ? await missingText(rendered, compilation, wanted.named, signal) : [];
  for (const { what, scripts } of missing) {
    const there: readonly string[] = (await checked.capabilities())?.scripts ?? [];
    const isThere = scripts?.every((script) => there.includes(script)) ?? false;
    if (isThere) onlyThere(`fonts for ${namesOfScripts(scripts ?? [])}`, "--font-path");
    else warnings.push(what);
  }
  return { notes: notes.map(printableLine), warnings: warnings.map(printableLine) };
}

/** Typst reports the first of them alone, but knows the names that a project computes. */
function missingPackages({ diagnostics }: Compiled, { packages }: Project, { packagePath }: LocalSettings) {
  const isWithOperator = ({ spec: { namespace, name, version } }: MissingPackage) =>
    packagePath !== null && isThere(join(packagePath, namespace, name, version));
  const read = packages.missing.filter((one) => !isWithOperator(one)).map(({ name }) => name);
  return new Set([...diagnostics.flatMap((diagnostic) => missingPackageOf(diagnostic) ?? []), ...read]);
}

/** For an import that the project computes, only Typst knows the name. */
function explainMissing(name: string, { packages, root }: Project, isUnknownThere: boolean): string[] {
  const spec = parsePackageSpec(name);
  const { importedBy, advice } = packages.missing.find((one) => one.name === name) ?? {};
  const place = spec === null || importedBy !== undefined ? null : findPackage(spec, root);
  if (place?.kind === "found") {
    return [
      `${name} is on this machine, in ${place.path}, but is not sent, because the template computes its name: to send it, write "${name}" as one string in the template.`,
    ];
  }
  const todo = advice ?? (spec === null ? "" : howToProvide(spec));
  const who = isUnknownThere ? "This machine does not have" : "Neither the service nor this machine has";
  return [`${who} ${name}${importedBy === undefined ? "" : `, which ${importedBy} imports`}. ${todo}`];
}

interface MissingText {
  /** In a sentence. */
  readonly what: string;
  /** Null if the service does not say whether it has fonts for it. */
  readonly scripts: readonly Script[] | null;
}

/** By the characters themselves, their names, other languages, or packages. Every font has ASCII. */
function mayShowBeyondAscii(project: Project): boolean {
  const { source, files, packages } = project;
  if (packages.found.length + packages.missing.length > 0) return true;
  const texts = files.filter(({ bytes }) => isUtf8(bytes));
  if ([source, ...texts.map(({ bytes }) => bytes)].some((bytes) => BEYOND_ASCII.test(bytes.toString("latin1")))) {
    return true;
  }
  return templatesOf(project).some(({ template }) => hasName(template, NAMES_BEYOND_ASCII));
}

/** Exactly what the document shows: in a font that is none for its script, or in boxes. */
async function missingText(
  rendered: CompiledRender,
  compilation: CompileInput,
  named: ReadonlySet<string>,
  signal: AbortSignal,
) {
  const { project, data } = compilation;
  if (!BEYOND_ASCII.test(data?.text ?? "") && !mayShowBeyondAscii(project)) return [];
  const plain = { ...compilation, output: PLAIN_PDF };
  const { files } = rendered.output.format === "pdf" ? rendered.compiled : await compileLocally(plain, signal);
  const document = readDocumentFonts(files[0] ?? Buffer.alloc(0));
  const found: MissingText[] = (document === null ? [] : findMisplacedScripts(document, named)).map((misplaced) => ({
    what: describeMisplaced(misplaced),
    scripts: misplaced.scripts,
  }));
  if (document !== null) found.push(...describeStrayIcons(document).map((what) => ({ what, scripts: null })));
  if (document?.boxes === 0) return found;
  const { undisplayable } = await compileLocally(compilation, signal);
  if (undisplayable === null) return found;
  const { characters, place } = undisplayable;
  const scripts = [...new Set(Array.from(characters, scriptOf))];
  const where = place === null ? "" : `, first in ${place}`;
  const what = `No font of this machine has ${namesOfCharacters(characters)}${where}: Typst shows empty boxes instead. ${remedyFor(characters)}`;
  const known = scripts.filter((script) => script !== null);
  return [...found, { what, scripts: known.length === scripts.length ? known : null }];
}

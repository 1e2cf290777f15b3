/**
 * What the command line says of a template before it sends it: that it reads what the caller does not pass, or does not
 * read what the caller passes. Typst would silently make a document of it.
 */
import { didYouMean, similarName } from "../../data-schema/similar-name.ts";
import { countInWords, firstSentences } from "../../document/size-in-words.ts";
import { findDataMistakes, knownData } from "../../template/data-mistakes.ts";
import { dataNamesBoundIn, ownDataBinding, usesData } from "../../template/data-use.ts";
import { findLostContent } from "../../template/lost-content.ts";
import { lineAt, parseTemplate, type Template, textOf } from "../../template/syntax-tree.ts";
import {
  findDataFile,
  findInputsUse,
  findOldTypeNames,
  findStandardInputs,
  inputNames,
  readsDataFile,
  type TemplateFinding,
} from "../../template/template-findings.ts";
import { CommandError, EXIT_CODES } from "../exit-codes.ts";
import { keyOf, STANDARD_INPUT } from "../files/folder.ts";
import { printableLine } from "../terminal.ts";
import { type InputReader, type Inputs, inputReaders, isEmpty, withInputs } from "./inputs.ts";
import { collectProject, type Project, type ProjectFlags, type ProjectUse, shownPath } from "./project.ts";
import { ownTemplates, type ProjectTemplate, templatesOf } from "./sent-texts.ts";
import { describeTabsInFiles } from "./tabs.ts";

interface DataUse extends ProjectUse {
  /** What has named the data: an option, or the cases of a test; null for a project's own, and for none. */
  readonly givenBy: "--data" | "--each" | "the cases" | null;
  /** Whether a document with other data than the caller's is an error. */
  readonly isStrict: boolean;
}

const NO_VALUES: Inputs["values"] = new Map();
/** The first few are enough to find the rest. */
const MAX_NAMED = 10;

/** The project of a command, ready to be sent or compiled. @throws CommandError as `collectProject` and `handOver` do */
export function openProject(source: string, flags: ProjectFlags, use: DataUse): Project {
  return handOver(collectProject(source, flags, use), flags, use);
}

/** The project of one document. @param place where the document goes, if it is known */
export function openDocumentProject(
  source: string,
  flags: ProjectFlags & { readonly data?: string | undefined; readonly strict?: true | undefined },
  command: "render" | "check",
  place: string | undefined,
): Project {
  const data = flags.data === undefined ? [] : [flags.data];
  const leaveOut = [place ?? [], data].flat().filter((path) => path !== STANDARD_INPUT);
  const givenBy = flags.data === undefined ? null : "--data";
  return openProject(source, flags, { command, leaveOut, data, givenBy, isStrict: flags.strict === true });
}

/**
 * The project with its inputs, and with notes on what it does with them and with the data.
 *
 * @throws CommandError if the template does not use the data, and that is an error
 */
export function handOver(
  project: Project,
  { input, dataAsInput }: ProjectFlags,
  { command, givenBy, isStrict }: DataUse,
): Project {
  const inputs: Inputs = { values: input ?? NO_VALUES, dataKey: dataAsInput ?? null };
  const readers = inputReaders(project);
  const isHanded = inputs.dataKey !== null && readers.some((reader) => !reader.isOfPackage);
  const unused = givenBy === null || isHanded ? null : describeUnusedData(project, readers, givenBy);
  if (unused !== null && isStrict) {
    const doing = command === "render" ? "sent" : "compiled";
    throw new CommandError(printableLine(`${unused} Nothing was ${doing}.`), EXIT_CODES.template);
  }
  const notes = [
    ...(unused === null ? describeInputs(project, readers, inputs) : [unused]),
    ...describeOldTypeNames(project),
    ...describeFindings(project, findLostContent),
    ...describeTabsInFiles(project),
  ];
  return withInputs({ ...project, notes: [...project.notes, ...notes.map(printableLine)] }, inputs);
}

const READS_INPUTS = "reads sys.inputs";

/** A sentence, if the source makes no use of the data. */
function describeUnusedData(
  project: Project,
  readers: readonly InputReader[],
  option: NonNullable<DataUse["givenBy"]>,
): string | null {
  const { sourceKey, sourceName, source } = project;
  const templates = new Map(ownTemplates(project).map(({ key, template }) => [key, template]));
  const namesIn = (path: string) => {
    const imported = templates.get(keyOf(path, sourceKey) ?? "");
    return imported === undefined ? new Set<string>() : dataNamesBoundIn(imported);
  };
  const main = parseTemplate(source.toString("utf8"));
  if (usesData(main, namesIn)) return null;
  if ([...templates.values()].some(readsDataFile)) return null;
  const hidden = describeOwnData(project, main, option);
  if (hidden !== null) return hidden;
  const reads = [...templates].flatMap(([key, template]) => {
    const found = findDataFile(template);
    return found === null ? [] : [{ key, template, offset: found.offset, what: found.message }];
  });
  const inputs = readers.filter((reader) => !reader.isOfPackage);
  const [read] = [...reads, ...inputs.map((reader) => ({ ...reader, what: READS_INPUTS }))];
  if (read === undefined) {
    // A document without data may have cases to test it by.
    return option === "the cases" ? null : `${sourceName} never uses \`data\`, which is the data of ${option}.`;
  }
  const finding = `${placeOf(project, read)} ${read.what}, not the data of ${option}: that is \`data\`, which ${sourceName} never uses.`;
  const takesInput = read.what === READS_INPUTS && option !== "the cases";
  return takesInput ? `${finding} --data-as-input KEY passes it on as an input.` : finding;
}

const MAX_SHOWN = 60;

/** Of a source that gives the name `data` to something else: which line does, and what to delete. */
function describeOwnData(project: Project, main: Template, option: string): string | null {
  const binding = ownDataBinding(main);
  // Of inputs, there is more to say.
  if (binding === null || findInputsUse(main, binding) !== null) return null;
  const place = placeOf(project, { key: project.sourceKey, template: main, offset: binding.start });
  const file = findDataFile(main, binding);
  const what = file === null ? "gives `data` another meaning" : `${file.message} into a \`data\` of its own`;
  const [written = ""] = textOf(main, binding).split("\n", 1);
  const shown = written.length > MAX_SHOWN ? `${written.slice(0, MAX_SHOWN)}…` : written;
  return `${place} ${what}, not the data of ${option}: delete \`#${shown}\` to use that.`;
}

function describeInputs(project: Project, readers: readonly InputReader[], inputs: Inputs): string[] {
  const own = readers.filter((reader) => !reader.isOfPackage);
  if (isEmpty(inputs)) {
    return own.slice(0, MAX_NAMED).map((reader) => {
      return `${placeOf(project, reader)} reads sys.inputs, which is empty: pass values with --input KEY=VALUE, or use \`data\`.`;
    });
  }
  const unreached = readers.flatMap(({ key, template }) => {
    const found = findStandardInputs(template);
    if (found === null) return [];
    const place = placeOf(project, { key, template, offset: found.offset });
    return [`${place} ${found.message}, which --input does not reach: write sys.inputs.`];
  });
  if (unreached.length > 0) return unreached.slice(0, MAX_NAMED);
  // A package does not see the data.
  if ((inputs.values.size > 0 ? readers : own).length === 0) {
    return ["No source reads sys.inputs: the inputs change nothing. --data passes `data`."];
  }
  const names = readers.map(({ template }) => inputNames(template));
  if (names.includes(null)) return [];
  const known = new Set(names.flatMap((some) => [...(some ?? [])]));
  const given = [...inputs.values.keys(), ...(inputs.dataKey === null ? [] : [inputs.dataKey])];
  return given
    .filter((key) => !known.has(key))
    .map((key) => `No source reads the input ${key}.${didYouMean(similarName(key, known))}`);
}

/** Sentences about values of the data that a template takes for something else. @param numbers as `findDataMistakes` has them */
export function describeDataMistakes(project: Project, json: string, numbers?: ReadonlySet<string>): string[] {
  const data = knownData(json);
  return describeFindings(project, (template) => findDataMistakes(template, data, numbers));
}

/** A line for each finding in the project's own files. */
function describeFindings(
  project: Project,
  find: (template: Template, isSource: boolean) => readonly TemplateFinding[],
): string[] {
  const found = ownTemplates(project).flatMap(({ key, template }) =>
    find(template, key === project.sourceKey).map(({ offset, message }) =>
      printableLine(`${placeOf(project, { key, template, offset })}: ${message}`),
    ),
  );
  return found.slice(0, MAX_NAMED);
}

/** A line for each place in the project, which the caller can mend, and for each package. */
function describeOldTypeNames(project: Project): string[] {
  const { packages } = project;
  const places: string[] = [];
  const counts = new Map<string, number>();
  const foreign = packages.found.filter(({ folder }) => folder !== project.root);
  const packageOf = new Map(foreign.flatMap(({ name, keys }) => keys.map((key) => [key, name] as const)));
  for (const { key, template } of templatesOf(project)) {
    const found = findOldTypeNames(template);
    const name = packageOf.get(key);
    if (found.length === 0) continue;
    if (name !== undefined) counts.set(name, (counts.get(name) ?? 0) + found.length);
    else
      places.push(...found.map(({ offset, message }) => `${placeOf(project, { key, template, offset })}: ${message}.`));
  }
  return [
    ...firstSentences(places, MAX_NAMED, String, (count) => `There are ${count} more comparisons with names of types.`),
    ...[...counts].map(
      ([name, count]) =>
        `${name} compares types with their names in ${countInWords(count, "place")}, which are never equal since Typst 0.14: look for a newer version of the package.`,
    ),
  ];
}

type TemplatePlace = Pick<ProjectTemplate, "key" | "template"> & { readonly offset: number };

function placeOf(project: Project, { key, template, offset }: TemplatePlace): string {
  // A package need not be in the project itself: its files are named as Typst does.
  const [, namespace, name, version, path] = /^packages\/([^/]+)\/([^/]+)\/([^/]+)\/(.*)$/.exec(key) ?? [];
  const shown = path === undefined ? shownPath(project, key) : `@${namespace}/${name}:${version}/${path}`;
  const file = key === project.sourceKey ? project.sourceName : shown;
  return `${file}:${lineAt(template.text, offset)}`;
}

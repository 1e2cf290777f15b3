/**
 * `--input`: what a template reads as `sys.inputs`. The service gives Typst no inputs, and a name that a source binds is
 * not seen by the files that it imports. So each file that reads them gets one line above its first, which binds `sys` to
 * a module of the same members; like Typst's own it can be imported from (`#import sys: inputs`).
 */
import { posix } from "node:path";
import { InvalidArgumentError } from "@commander-js/extra-typings";
import { DATA_FILE_NAME } from "../../../typst/file-layout.ts";
import { findInputsUse } from "../../template/template-findings.ts";
import type { Project } from "./project.ts";
import { type ProjectFile, type ProjectTemplate, packageRoot, templatesOf } from "./sent-texts.ts";

type InputValues = ReadonlyMap<string, string>;

export interface Inputs {
  readonly values: InputValues;
  /** The key under which the JSON text of the data is an input, too; null for none. */
  readonly dataKey: string | null;
}

export function isEmpty({ values, dataKey }: Inputs): boolean {
  return values.size === 0 && dataKey === null;
}

/** As Typst reads `--input key=value`: white space around key and value is dropped, and the last value of a key counts. */
export function addInput(pair: string, previous: InputValues | undefined): InputValues {
  const sign = pair.indexOf("=");
  const key = trim(pair.slice(0, Math.max(sign, 0)));
  if (key === "") throw new InvalidArgumentError("It must be a key and a value with = between them.");
  if (!pair.isWellFormed()) throw new InvalidArgumentError("It is not Unicode text.");
  return new Map([...(previous ?? []), [key, trim(pair.slice(sign + 1))]]);
}

/** `trim` of JavaScript has other white space. */
function trim(text: string): string {
  const characters = [...text];
  const isText = (character: string) => !/\p{White_Space}/u.test(character);
  return characters.slice(Math.max(characters.findIndex(isText), 0), characters.findLastIndex(isText) + 1).join("");
}

/** Binds `sys` for the rest of a file. The module is beside the file's root: that of the project, or of a package. */
const bindingLine = (name: string) => `#import "/${name}" as sys\n`;
const MODULE_NAME = "sys-inputs";

/** The project with what `--input` needs; as it is if no file reads `sys.inputs`. */
export function withInputs(project: Project, inputs: Inputs): Project {
  if (isEmpty(inputs)) return project;
  const readers = inputReaders(project);
  const linesBefore = new Map(project.linesBefore);
  const modules = new Map<string, ProjectFile>();
  const keys = new Set([project.sourceKey, ...project.files.map(({ key }) => key)].map((key) => key.toLowerCase()));
  for (const { key } of readers) {
    const root = packageRoot(key);
    const name = modules.get(root)?.key ?? freeName(root, keys);
    modules.set(root, { key: name, bytes: Buffer.from(moduleText(inputs, root === "")) });
    linesBefore.set(key, bindingLine(posix.relative(root, name)) + (linesBefore.get(key) ?? ""));
  }
  const files = [...project.files, ...modules.values()].sort((a, b) => (a.key < b.key ? -1 : 1));
  return { ...project, files, linesBefore };
}

/** A file of a package may have inputs of its own, and defaults for them. */
export interface InputReader extends ProjectTemplate {
  readonly offset: number;
}

/** The files of a project that read `sys.inputs`, the source first. */
export function inputReaders(project: Project): InputReader[] {
  return templatesOf(project).flatMap((file) => {
    // Most files of packages are not parsed for this.
    const use = file.text.includes("sys") ? findInputsUse(file.template) : null;
    return use === null ? [] : [{ ...file, offset: use.offset }];
  });
}

/** @param taken keys in lower case, to which it is added */
function freeName(folder: string, taken: Set<string>): string {
  for (let number = 1; ; number++) {
    const key = posix.join(folder, `${MODULE_NAME}${number === 1 ? "" : `-${number}`}.typ`);
    if (taken.has(key)) continue;
    taken.add(key);
    return key;
  }
}

/** @param seesData whether the data of the request is below the root of the module */
function moduleText({ values, dataKey }: Inputs, seesData: boolean): string {
  const pairs = [...values].map(([key, value]) => `${typstString(key)}: ${typstString(value)},`);
  if (dataKey !== null && seesData) pairs.unshift(`${typstString(dataKey)}: read("/${DATA_FILE_NAME}"),`);
  // The colon makes it a dictionary, also without a pair.
  return `#let version = sys.version\n#let inputs = (:${pairs.map((pair) => `\n  ${pair}`).join("")}\n)\n`;
}

/** White space, marks without a letter, and what cannot be seen would be hard to read, or not survive an editor. */
const ESCAPED = /(?! )[\p{C}\p{Z}"\\]/gu;

function typstString(text: string): string {
  return `"${text.replace(ESCAPED, (character) => `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`)}"`;
}

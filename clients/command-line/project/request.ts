/** Makes the request of a project. `data` is sent exactly as the caller wrote it: JavaScript would round numbers. */
import { isUtf8 } from "node:buffer";
import { basename } from "node:path";
import {
  binaryFile,
  jsonText,
  type OutputOptions,
  type RenderRequest,
  type RequestFile,
  textFile,
} from "../../typescript/render-request.ts";
import { CommandError } from "../exit-codes.ts";
import { byteOrderMarkNote, readInput, utf8Text } from "../files/folder.ts";
import { printableLine } from "../terminal.ts";
import { describeCutPictures } from "./data-pictures.ts";
import { jsonMistake } from "./json-text.ts";
import { type Project, pathBesideSource } from "./project.ts";
import { sentTexts } from "./sent-texts.ts";
import { describeTabs } from "./tabs.ts";
import { describeDataMistakes } from "./template-findings.ts";

export interface DataText {
  readonly text: string;
  readonly name: string;
  /** What the caller should know about it, one sentence each. */
  readonly notes: readonly string[];
}

/** Files of rows, which `--each` reads, by their names. */
export const CSV_NAME = /\.(?:csv|tsv|tab)$/i;
export const JSON_LINES_NAME = /\.(?:jsonl|ndjson)$/i;

/** @param path the file that the caller names, or `-`; null for the project's own data. @returns null without data */
export async function readData(project: Project, path: string | null): Promise<DataText | null> {
  const { root, dataPath } = project;
  const from = path ?? dataPath;
  if (from === null) return null;
  const name = path ?? pathBesideSource(project, basename(from));
  const { bytes, shown } = await readInput(from, name, root);
  if (CSV_NAME.test(shown) || (JSON_LINES_NAME.test(shown) && jsonMistake(utf8Text(bytes, shown)) !== null)) {
    throw new CommandError(
      `${shown} is not the JSON of one document: for a document of each row, use --each ${shown}.`,
    );
  }
  const text = requireJson(bytes, shown);
  const ofText = [...describeTabs(text, project), ...describeCutPictures(text), ...describeDataMistakes(project, text)];
  return { text, name, notes: [...byteOrderMarkNote(bytes, shown), ...ofText.map(printableLine)] };
}

/** The text without a byte order mark. @param firstLine of it in its file. @throws CommandError with line and column */
export function requireJson(bytes: Buffer, name: string, firstLine = 1): string {
  const text = utf8Text(bytes, name);
  const mistake = jsonMistake(text);
  if (mistake === null) return text;
  throw new CommandError(`${name}:${firstLine + mistake.line - 1}:${mistake.column} is not JSON.`);
}

/** What all requests of a project have, which is encoded once for all rows of `--each`. */
type OwnPart = Required<Pick<RenderRequest, "source" | "files">>;

const ownParts = new WeakMap<Project, OwnPart>();

export function requestOf(project: Project, data: DataText | null, output: OutputOptions): RenderRequest {
  const own = ownParts.get(project) ?? ownPart(project);
  ownParts.set(project, own);
  return { ...own, ...(data !== null && { data: jsonText(data.text) }), output };
}

function ownPart(project: Project): OwnPart {
  const { source, files } = sentTexts(project);
  return {
    source: utf8Text(source, printableLine(project.sourceName)),
    files: Object.fromEntries(files.map(({ key, bytes }) => [key, requestFile(bytes)])),
  };
}

/** A file as text if possible, which is shorter than Base64 unless most of it has to be escaped. */
function requestFile(bytes: Buffer): RequestFile {
  return isUtf8(bytes) && !bytes.includes(0) ? textFile(bytes.toString("utf8")) : binaryFile(bytes);
}

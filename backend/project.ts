/**
 * The temporary project of one render: the caller's files and data, written straight from the request's bytes.
 *
 * Only regular files of our own making: each is created exclusively, in a directory that was empty a moment ago, so
 * there is no link to follow. The source never touches the disk: Typst reads it from its standard input.
 */
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { StringSpan } from "../rules/json-string.ts";
import { type Problem, problem } from "../rules/problem.ts";
import { quote } from "../rules/quote.ts";
import type { RenderFile, RenderRequest } from "../rules/render-request.ts";

/** Where `data` lies in the project. A colon is outside the character class of keys, so no file can take its name. */
export const DATA_FILE_NAME = ":data.json";

const EMPTY_DATA = Buffer.from("{}");

/** Every project's directory begins so. */
const RENDER_DIRECTORY_PREFIX = "render-";

/** What a file system says to keys that pass the rules and still cannot all be written. */
const LAYOUT_ERRORS = new Set(["EEXIST", "ENOTDIR", "EISDIR", "ENAMETOOLONG"]);

export interface Project {
  /** The project's root as Typst sees it. */
  readonly root: string;
  /** An empty directory beside the root, for outputs of several files. */
  readonly outputDirectory: string;
  /** Removes everything. Never throws for what is gone already. */
  remove(): Promise<void>;
}

/** Makes an empty project below `workDirectory`: before its request comes, where a render is started warm. */
export async function createProject(workDirectory: string): Promise<Project> {
  const directory = await mkdtemp(join(workDirectory, RENDER_DIRECTORY_PREFIX));
  const project: Project = {
    root: join(directory, "project"),
    outputDirectory: join(directory, "output"),
    remove: () => rm(directory, { recursive: true, force: true }),
  };
  try {
    await Promise.all([mkdir(project.root), mkdir(project.outputDirectory)]);
    return project;
  } catch (error) {
    await project.remove();
    throw error;
  }
}

/**
 * Writes a request's data and files into an empty project.
 *
 * @returns the problem of a set of files that cannot be laid out, or null.
 * @throws where the machine fails: disk full, directory gone.
 */
export async function fillProject(project: Project, body: Uint8Array, request: RenderRequest): Promise<Problem | null> {
  const data = request.data === null ? EMPTY_DATA : body.subarray(request.data.start, request.data.end);
  await writeFile(join(project.root, DATA_FILE_NAME), data, { flag: "wx" });
  for (const file of request.files) {
    const refusal = await writeProjectFile(project.root, body, file);
    if (refusal !== null) return refusal;
  }
  return null;
}

/** What a project takes on disk: its data and its files. */
export function projectBytes({ data, files }: RenderRequest): number {
  const dataBytes = data === null ? EMPTY_DATA.length : data.end - data.start;
  return files.reduce((sum, { size }) => sum + size, dataBytes);
}

async function writeProjectFile(root: string, body: Uint8Array, file: RenderFile): Promise<Problem | null> {
  const path = join(root, file.key);
  try {
    if (file.key.includes("/")) await mkdir(dirname(path), { recursive: true });
    await writeFile(path, fileBytes(body, file), { flag: "wx" });
    return null;
  } catch (error) {
    if (!isLayoutError(error)) throw error;
    const detail = `The file ${quote(file.key)} cannot be written beside the others.`;
    return problem("invalid_file_data", detail, { key: file.key });
  }
}

function fileBytes(body: Uint8Array, { encoding, content }: RenderFile): Uint8Array {
  const text = stringBytes(body, content);
  return encoding === "text" ? text : Buffer.from(text.toString("latin1"), "base64");
}

/** The UTF-8 bytes of a JSON string: the body's own where it has no escapes. */
export function stringBytes(body: Uint8Array, span: StringSpan): Buffer {
  const bytes = Buffer.from(body.buffer, body.byteOffset + span.start, span.end - span.start);
  if (!span.hasEscapes) return bytes;
  const text: unknown = JSON.parse(`"${bytes.toString("utf8")}"`);
  return Buffer.from(String(text), "utf8");
}

function isLayoutError(error: unknown): boolean {
  return error instanceof Error && "code" in error && LAYOUT_ERRORS.has(String(error.code));
}

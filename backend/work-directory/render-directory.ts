/**
 * The temporary directory of one render: the files and data of its request, never the source. Each is created
 * exclusively, in a directory that was just created or emptied, so there is no link to follow.
 */
import { randomBytes, randomUUID } from "node:crypto";
import { readdirSync, renameSync, unlinkSync, writeFileSync } from "node:fs";
import { link, mkdir, rm, rmdir, unlink, writeFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import type { StringSpan } from "../../rules/json/string.ts";
import { type Problem, problem } from "../../rules/problem.ts";
import { quote } from "../../rules/quote.ts";
import type { ParsedRequest, RenderFile } from "../../rules/render-request.ts";
import { DATA_FILE_NAME, fontLinks } from "../../typst/file-layout.ts";
import {
  countNamedDirectories,
  DirectoryError,
  FEW_DIRECTORIES,
  findTooManyDirectories,
  makeDirectories,
  neededDirectoryBytes,
  removeDirectories,
  removeOutputFiles,
} from "./directory-tree.ts";
import { LoopTurns } from "./loop-turns.ts";

export interface DirectoryUser {
  /** Whether it has ended and certainly nothing of it is left. */
  readonly isGone: boolean;
}

export const RENDER_PREFIX = "render-";
const KEPT_PREFIX = "kept-";
const OUTPUT_PREFIX = "output-";

/** The errors of a file system for keys that are valid but cannot all be written. */
const LAYOUT_ERRORS = new Set(["EEXIST", "ENOTDIR", "EISDIR", "ENAMETOOLONG"]);

/** Up to this size a file is written at once: Node's thread pool would take longer. */
const MAX_BYTES_AT_ONCE = 64 * 1024;
const MAX_FILES_TO_CLEAR = 16;
/** A template that knew the name of its FIFO could read its own source, which it cannot do otherwise. */
const FIFO_NAME_BYTES = 16;
/** The data of a request that brings none. */
const EMPTY_DATA = Buffer.from("{}");

export class RenderDirectory {
  #root: string;
  readonly outputDirectory: string | null;
  #files: string[] = [];
  /** The files of the request, and the second names of its fonts. */
  #paths: readonly string[] = [];
  #users: DirectoryUser[] = [];
  #hasEmptyData = false;
  #isReusable = true;

  private constructor(root: string, outputDirectory: string | null) {
    this.#root = root;
    this.outputDirectory = outputDirectory;
  }

  /** @param makesFiles whether the render writes its output into files */
  static async create(workDirectory: string, makesFiles: boolean): Promise<RenderDirectory> {
    const root = join(workDirectory, `${RENDER_PREFIX}${randomUUID()}`);
    await mkdir(root, { mode: 0o700 });
    if (!makesFiles) return new RenderDirectory(root, null);
    const outputDirectory = join(workDirectory, basename(root).replace(RENDER_PREFIX, OUTPUT_PREFIX));
    const renderDirectory = new RenderDirectory(root, outputDirectory);
    try {
      await mkdir(outputDirectory);
      return renderDirectory;
    } catch (error) {
      await renderDirectory.remove();
      throw error;
    }
  }

  get root(): string {
    return this.#root;
  }

  addUser(user: DirectoryUser): void {
    this.#users.push(user);
  }

  /** A name for a FIFO, which no key of a request can have: it is removed with the files of the request. */
  nameFifo(): string {
    const name = `:${randomBytes(FIFO_NAME_BYTES).toString("hex")}`;
    this.#files.push(name);
    return name;
  }

  /** Writes a request's data and files, until the signal is aborted. @throws if the machine fails: disk full, say. */
  async fill(body: Uint8Array, { data, files }: ParsedRequest, signal: AbortSignal): Promise<Problem | null> {
    const tooMany = findTooManyDirectories(files.map(({ key }) => key));
    if (tooMany !== null) {
      const detail = `The files name more folders than a render may have, first with ${quote(tooMany)}.`;
      return problem("invalid_file_data", detail, { key: tooMany });
    }
    await this.#writeData(data === null ? null : body.subarray(data.start, data.end));
    this.#paths = pathsOf(files);
    this.#isReusable &&= countNamedDirectories(this.#paths) <= FEW_DIRECTORIES;
    try {
      await makeDirectories(this.root, this.#paths, signal);
    } catch (error) {
      if (!(error instanceof DirectoryError)) throw error;
      const file = files.find(({ key }) => key.startsWith(`${error.path}/`));
      return layoutProblem(error, file);
    }
    const turns = new LoopTurns();
    for (const file of files) {
      if (signal.aborted) return null;
      try {
        await this.#write(file.key, fileBytes(body, file));
      } catch (error) {
        return layoutProblem(error, file);
      }
      await turns.giveWay(file.size);
    }
    for (const { file, path } of fontLinks(files)) await this.#link(path, file.key);
    return null;
  }

  /**
   * Removes the files of a request, so that the directory can serve another one: on ext4 a new one costs ten times as
   * much. Not if anything may be left of a process that has it open: that could read the files of the next caller.
   */
  async keep(): Promise<boolean> {
    if (!this.#users.splice(0).every(({ isGone }) => isGone)) return false;
    if (this.outputDirectory !== null || !this.#isReusable || this.#files.length > MAX_FILES_TO_CLEAR) return false;
    try {
      const turns = new LoopTurns();
      for (const file of this.#files.splice(0)) {
        unlinkSync(join(this.root, file));
        await turns.giveWay();
      }
      await removeDirectories(this.root, this.#paths);
      this.#paths = [];
      const expected = this.#hasEmptyData ? [DATA_FILE_NAME] : [];
      if (readdirSync(this.root).join("/") !== expected.join("/")) return false;
      this.#rename(KEPT_PREFIX);
      return true;
    } catch {
      return false;
    }
  }

  /** @returns whether it is still there: cleaners of temporary folders remove what nobody has used for days. */
  reuse(): boolean {
    try {
      this.#rename(RENDER_PREFIX);
      return true;
    } catch {
      return false;
    }
  }

  async remove(): Promise<void> {
    if (!(await this.#removeKnown())) await rm(this.root, { recursive: true, force: true });
    if (this.outputDirectory !== null) await removeOutputFiles(this.outputDirectory);
  }

  /** Name by name: a third of the time of a listing. @returns whether that was everything. */
  async #removeKnown(): Promise<boolean> {
    const files = [...this.#files];
    if (this.#hasEmptyData) files.push(DATA_FILE_NAME);
    await Promise.allSettled(files.map((file) => unlink(join(this.root, file))));
    try {
      await removeDirectories(this.root, this.#paths);
      await rmdir(this.root);
      return true;
    } catch {
      return false;
    }
  }

  #rename(prefix: string): void {
    const root = join(dirname(this.#root), `${prefix}${randomUUID()}`);
    renameSync(this.#root, root);
    this.#root = root;
  }

  async #writeData(data: Uint8Array | null): Promise<void> {
    if (data === null) {
      if (!this.#hasEmptyData) writeFileSync(join(this.root, DATA_FILE_NAME), EMPTY_DATA, { flag: "wx" });
      this.#hasEmptyData = true;
      return;
    }
    if (this.#hasEmptyData) unlinkSync(join(this.root, DATA_FILE_NAME));
    this.#hasEmptyData = false;
    await this.#write(DATA_FILE_NAME, data);
  }

  async #write(path: string, bytes: Uint8Array): Promise<void> {
    this.#files.push(path);
    const options = { flag: "wx" };
    if (bytes.length <= MAX_BYTES_AT_ONCE) {
      writeFileSync(join(this.root, path), bytes, options);
      return;
    }
    this.#isReusable = false;
    await writeFile(join(this.root, path), bytes, options);
  }

  /** Gives a file a second name. A hard link takes no space and, unlike a symbolic one, cannot point elsewhere. */
  async #link(path: string, target: string): Promise<void> {
    this.#files.push(path);
    await link(join(this.root, target), join(this.root, path));
  }
}

/** @throws the error itself if the keys are not the cause. */
function layoutProblem(error: unknown, file: RenderFile | undefined): Problem {
  const isLayoutError = error instanceof Error && "code" in error && LAYOUT_ERRORS.has(String(error.code));
  if (!isLayoutError || file === undefined) throw error;
  const detail = `The file ${quote(file.key)} cannot be written beside the others.`;
  return problem("invalid_file_data", detail, { key: file.key });
}

export function projectBytes({ data, files }: ParsedRequest): number {
  const dataBytes = data === null ? EMPTY_DATA.length : data.end - data.start;
  const filesBytes = files.reduce((sum, { size }) => sum + size, 0);
  return dataBytes + filesBytes + neededDirectoryBytes(pathsOf(files));
}

/** The keys of the files, and the second names of the fonts among them. */
function pathsOf(files: readonly RenderFile[]): string[] {
  return [...files.map(({ key }) => key), ...fontLinks(files).map(({ path }) => path)];
}

function fileBytes(body: Uint8Array, { encoding, content }: RenderFile): Uint8Array {
  const text = stringBytes(body, content);
  return encoding === "text" ? text : Buffer.from(text.toString("latin1"), "base64");
}

/** The UTF-8 bytes of a JSON string. If it has no escapes, they are a view of the body. */
export function stringBytes(body: Uint8Array, span: StringSpan): Buffer {
  const bytes = Buffer.from(body.buffer, body.byteOffset + span.start, span.end - span.start);
  if (!span.hasEscapes) return bytes;
  const text: unknown = JSON.parse(`"${bytes.toString("utf8")}"`);
  return Buffer.from(String(text), "utf8");
}

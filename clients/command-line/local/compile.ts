/**
 * Compiles a project on this machine as the service would: the same program text, command line, fonts, layout and empty
 * environment, all by the backend's own code. Only the sandbox and its limits on memory and processor time are missing,
 * so compile only templates that you would open.
 */
import { mkdir, mkdtemp, readdir, readFile, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { isFont } from "../../../rules/font-names.ts";
import type { Limits } from "../../../rules/limits.ts";
import type { Output } from "../../../rules/output-options.ts";
import { RENDER_TIME_SETTINGS } from "../../../rules/render-time.ts";
import {
  isArchive,
  lowestPage,
  pageProbeArguments,
  type RenderCommand,
  renderArguments,
  type TypstPaths,
  UNCONFINED_ENVIRONMENT,
} from "../../../typst/command-line.ts";
import { DATA_FILE_NAME, fontLinkName } from "../../../typst/file-layout.ts";
import { programText } from "../../../typst/program-text.ts";
import { CommandError, EXIT_CODES } from "../exit-codes.ts";
import { interruptible } from "../interruption.ts";
import { type Project, shownPath } from "../project/project.ts";
import type { DataText } from "../project/request.ts";
import { printableLine } from "../terminal.ts";
import { type Diagnostic, parseDiagnostics, rewriteDiagnostics } from "./diagnostics.ts";

/** The service's own default: it answers 408 when a render takes longer. */
const RENDER_TIMEOUT_SECONDS = RENDER_TIME_SETTINGS.renderTimeoutSeconds.default;
/** Typst's diagnostics are far shorter. The bound keeps a template from filling the memory with them. */
const MAX_DIAGNOSTICS_BYTES = 16 * 1024 ** 2;

export interface LocalSettings {
  readonly typstPath: string;
  /** Folders of fonts that the operator of the service provides, beside Typst's own. */
  readonly fontPaths: readonly string[];
  /** The operator's folder of packages; null if there is none. */
  readonly packagePath: string | null;
  readonly limits: Limits;
}

export interface Compiled {
  /** Whether the service would have answered 200. */
  readonly ok: boolean;
  /** What Typst wrote, with the lines and paths of the caller; empty if it wrote nothing. */
  readonly text: string;
  readonly diagnostics: readonly Diagnostic[];
  /** Why there is no output although Typst itself did not complain; otherwise null. */
  readonly reason: string | null;
  /** The document or image, or each image of an archive; empty if the compilation failed. */
  readonly pages: readonly Buffer[];
}

export interface Compilation {
  readonly project: Project;
  readonly data: DataText | null;
  /** Of a valid request. */
  readonly output: Output;
  readonly local: LocalSettings;
}

/** @throws CommandError when Typst cannot be started */
export function compileLocally(compilation: Compilation, signal: AbortSignal): Promise<Compiled> {
  return interruptible(() => compileInFolder(compilation, signal));
}

async function compileInFolder({ project, data, output, local }: Compilation, signal: AbortSignal): Promise<Compiled> {
  const work = await realpath(await mkdtemp(join(tmpdir(), "document-rendering-")).catch(refuseTemporaryFolder));
  try {
    const makeDirectory = async (name: string) => {
      await mkdir(join(work, name));
      return join(work, name);
    };
    const root = await makeDirectory("root");
    await layOut(project, data, root).catch(refuseTemporaryFolder);
    const paths = {
      root,
      outputDirectory: isArchive(output) ? await makeDirectory("output") : null,
      fontPaths: local.fontPaths,
      // Without one, Typst would use the user's own packages.
      packagePath: local.packagePath ?? (await makeDirectory("packages")),
    };
    const run = new LocalRun({ project, output, local, paths, signal });
    return await run.compile();
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}

/** In words where a copy of the project is made, because the error of a full disk names no place. */
function refuseTemporaryFolder(error: unknown): never {
  const why = error instanceof Error ? error.message : String(error);
  throw new CommandError(
    printableLine(`The folder for temporary files, ${tmpdir()}, cannot be used (${why}). TMPDIR can name another one.`),
    EXIT_CODES.failure,
  );
}

async function layOut(project: Project, data: DataText | null, root: string): Promise<void> {
  await writeFile(join(root, DATA_FILE_NAME), data?.text ?? "{}");
  for (const [index, { key, bytes }] of project.files.entries()) {
    const file = join(root, key);
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, bytes);
    const link = fontLinkName(key, index);
    if (link !== null) await writeFile(join(root, link), bytes);
  }
}

/** The pages of an archive in order: Typst names each file by its number. */
async function archivedPages({ outputDirectory }: TypstPaths): Promise<Buffer[]> {
  if (outputDirectory === null) return [];
  const names = (await readdir(outputDirectory)).sort((left, right) => Number(left) - Number(right));
  return Promise.all(names.map((name) => readFile(join(outputDirectory, name))));
}

interface RunParts extends Omit<Compilation, "data"> {
  readonly paths: TypstPaths;
  readonly signal: AbortSignal;
}

class LocalRun {
  readonly #parts: RunParts;

  constructor(parts: RunParts) {
    this.#parts = parts;
  }

  async compile(): Promise<Compiled> {
    const { output, paths } = this.#parts;
    const settings = this.#commandLineSettings();
    const ended = await this.#start(renderArguments(settings, paths, this.#command()));
    const text = this.#rewritten(ended.stderr);
    const diagnostics = parseDiagnostics(text);
    const failed = (reason: string | null): Compiled => ({ ok: false, text, diagnostics, reason, pages: [] });
    const { max_output_bytes, max_output_files } = settings.limits;
    if (ended.isMaxBuffer) return failed(`The output has more than ${max_output_bytes} bytes.`);
    if (ended.timedOut) return failed(`Typst took longer than ${RENDER_TIMEOUT_SECONDS} seconds.`);
    if (ended.signal !== undefined) return failed(`Typst was killed by the signal ${ended.signal}.`);
    if (ended.exitCode !== 0) return failed(null);
    const missing = await this.#missingPages(ended.stdout);
    if (missing !== null) return failed(missing);
    const pages = isArchive(output) ? await archivedPages(paths) : [Buffer.from(ended.stdout)];
    if (pages.length > max_output_files) return failed(`The document has more than ${max_output_files} pages.`);
    if (pages.length === 0) return failed("The document has none of the selected pages.");
    return { ok: true, text, diagnostics, reason: null, pages };
  }

  /** If a selection matches no page, Typst succeeds, but the service reports an error. */
  async #missingPages(stdout: Uint8Array): Promise<string | null> {
    const { output, paths } = this.#parts;
    if (output.format !== "pdf") {
      const isEmpty = !isArchive(output) && stdout.length === 0;
      return isEmpty ? `The document has no page ${output.page ?? 1}.` : null;
    }
    if (output.pages === null) return null;
    const page = lowestPage(output.pages);
    const probe = await this.#start(pageProbeArguments(this.#commandLineSettings(), paths, this.#command(), page));
    return probe.exitCode === 0 && probe.stdout.length === 0
      ? `The document has none of the pages ${output.pages}.`
      : null;
  }

  #commandLineSettings() {
    return { creationTimestampSeconds: null, limits: this.#parts.local.limits };
  }

  #command(): RenderCommand {
    const { output, project } = this.#parts;
    return { output, bringsFonts: project.files.some(({ key }) => isFont(key)) };
  }

  async #start(typstArguments: readonly string[]) {
    const { project, paths, local, signal } = this.#parts;
    const { execa } = await import("execa");
    const ended = await execa(local.typstPath, typstArguments, {
      cwd: paths.root,
      env: UNCONFINED_ENVIRONMENT,
      extendEnv: false,
      input: Buffer.concat(programText(project.source)),
      encoding: "buffer",
      maxBuffer: { stdout: local.limits.max_output_bytes + 1, stderr: MAX_DIAGNOSTICS_BYTES },
      stripFinalNewline: false,
      timeout: RENDER_TIMEOUT_SECONDS * 1000,
      killSignal: "SIGKILL",
      cancelSignal: signal,
      reject: false,
    });
    signal.throwIfAborted();
    if (ended.exitCode === undefined && ended.signal === undefined && !ended.timedOut) {
      throw new CommandError(`Typst could not be started: ${ended.shortMessage ?? ""}`);
    }
    return ended;
  }

  #rewritten(stderr: Uint8Array): string {
    const { project, paths } = this.#parts;
    return rewriteDiagnostics(Buffer.from(stderr).toString("utf8"), {
      source: project.source,
      sourceName: project.sourceName,
      compiledIn: paths.root,
      root: project.root,
      shownPath: (key) => shownPath(project.root, project.sourceName, key),
    }).trimEnd();
  }
}

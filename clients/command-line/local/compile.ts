/**
 * Compiles a project on this machine as the service would: the same program text, command line, fonts, layout and empty
 * environment, all by the backend's own code. Only the sandbox and its limits on memory and processor time are missing,
 * so compile only templates that you would open.
 */
import { mkdir, mkdtemp, readdir, readFile, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { describeInFull } from "../../../rules/finished-pdf/broken-rule.ts";
import { FinishedPdf } from "../../../rules/finished-pdf/finished-pdf.ts";
import { isFont } from "../../../rules/fonts/font-names.ts";
import { type Limits, publishedLimits } from "../../../rules/limits.ts";
import type { Output } from "../../../rules/output-options.ts";
import { parseRenderRequest } from "../../../rules/render-request.ts";
import { RENDER_TIME_SETTINGS } from "../../../rules/render-time.ts";
import {
  isArchive,
  lowestPage,
  pageProbeArguments,
  renderArguments,
  UNCONFINED_ENVIRONMENT,
} from "../../../typst/command-line.ts";
import { DATA_FILE_NAME, fontLinkName } from "../../../typst/file-layout.ts";
import { completeWhole } from "../../../typst/output-completion.ts";
import { programText } from "../../../typst/program-text.ts";
import type { ServiceProblem } from "../../typescript/client.ts";
import { checkLocally } from "../../typescript/local-check.ts";
import { encodeRequest, type OutputOptions, type RenderRequest } from "../../typescript/render-request.ts";
import { CommandError, EXIT_CODES } from "../exit-codes.ts";
import { runInterruptible } from "../interruption.ts";
import { fitToService, importsPackages } from "../packages/service-packages.ts";
import type { Project } from "../project/project.ts";
import { type DataText, requestOf } from "../project/request.ts";
import { sentTexts } from "../project/sent-texts.ts";
import { knownConstraints, storedCapabilities } from "../service-cache.ts";
import { locateService } from "../service-location.ts";
import { printableLine } from "../terminal.ts";
import { addHints, type Diagnostic, parseDiagnostics, rewriteDiagnostics } from "./diagnostics.ts";
import { joinUndisplayable, type UndisplayableText } from "./undisplayable.ts";

const RENDER_TIMEOUT_SECONDS = RENDER_TIME_SETTINGS.renderTimeoutSeconds.default;
/** Typst's diagnostics are far shorter. The bound keeps a template from filling the memory with them. */
const MAX_DIAGNOSTICS_BYTES = 16 * 1024 ** 2;

export interface LocalSettings {
  readonly typstPath: string;
  /** Folders of fonts that the operator of the service provides, beside Typst's own. */
  readonly fontPaths: readonly string[];
  readonly packagePath: string | null;
  readonly limits: Limits;
}

export interface Compiled {
  /** Whether the service would have answered 200. */
  readonly ok: boolean;
  /** What Typst wrote, with the lines and paths of the caller; empty if it wrote nothing. */
  readonly text: string;
  readonly diagnostics: readonly Diagnostic[];
  /** The characters that keep the output from its standard, because no font has them. */
  readonly undisplayable: UndisplayableText | null;
  /** Why there is no output although Typst itself did not complain; otherwise null. */
  readonly reason: string | null;
  /** The document or image, or each image of an archive, as the service delivers them; empty if the compilation failed. */
  readonly pages: readonly Buffer[];
}

export type LocalRender =
  | { readonly kind: "refused"; readonly problem: ServiceProblem; readonly request: RenderRequest }
  | { readonly kind: "compiled"; readonly compiled: Compiled; readonly output: Output; readonly limits: Limits };

export interface LocalOptions {
  readonly options: OutputOptions;
  readonly local: Omit<LocalSettings, "limits"> & { readonly url: string | undefined };
}

/**
 * Does what the service would do with a request: checks it by the rules, with the limits that the service last published
 * or else the defaults, then runs Typst. It needs no network. @throws CommandError when Typst cannot be started
 */
export async function renderLocally(
  project: Project,
  data: DataText | null,
  { options, local }: LocalOptions,
  signal: AbortSignal,
): Promise<LocalRender> {
  const { url } = await locateService({ url: local.url });
  const { constraints } = await knownConstraints(url);
  // Packages that the service has count for no limit of a request.
  const { project: sent } = fitToService(project, importsPackages(project) ? await storedCapabilities(url) : null);
  const request = requestOf(sent, data, options);
  const body = encodeRequest(request);
  const check = checkLocally(body, constraints);
  if (check.verdict === "refused") return { kind: "refused", problem: check.problem, request };
  const limits = publishedLimits(constraints.limits);
  const parsed = parseRenderRequest(body, limits);
  if (!parsed.ok) throw new Error("a request that was accepted is not valid");
  const { output } = parsed.request;
  const compiled = await compileLocally({ project, data, output, local: { ...local, limits } }, signal);
  return { kind: "compiled", compiled, output, limits };
}

export interface CompileInput {
  readonly project: Project;
  readonly data: DataText | null;
  readonly output: Output;
  readonly local: LocalSettings;
}

/** @throws CommandError when Typst cannot be started */
export function compileLocally(compilation: CompileInput, signal: AbortSignal): Promise<Compiled> {
  return runInterruptible(async () => {
    const work = await realpath(await mkdtemp(join(tmpdir(), "document-rendering-")).catch(refuseTemporaryFolder));
    try {
      return await compileIn(work, compilation, signal);
    } finally {
      await rm(work, { recursive: true, force: true });
    }
  });
}

/** The error of a full disk names no place. */
function refuseTemporaryFolder(error: unknown): never {
  const why = error instanceof Error ? error.message : String(error);
  throw new CommandError(
    printableLine(`The folder for temporary files, ${tmpdir()}, cannot be used (${why}). TMPDIR can name another one.`),
    EXIT_CODES.failure,
  );
}

async function compileIn(work: string, compilation: CompileInput, signal: AbortSignal): Promise<Compiled> {
  const { project, data, output, local } = compilation;
  const makeFolder = async (name: string) => {
    await mkdir(join(work, name));
    return join(work, name);
  };
  const root = await makeFolder("root");
  await layOut(project, data, root).catch(refuseTemporaryFolder);
  const outputDirectory = isArchive(output) ? await makeFolder("output") : null;
  // Without one, Typst would use the user's own packages.
  const packagePath = local.packagePath ?? (await makeFolder("packages"));
  const paths = { root, outputDirectory, fontPaths: local.fontPaths, packagePath };
  const settings = { creationTimestampSeconds: null, limits: local.limits };
  const command = { output, bringsFonts: project.files.some(({ key }) => isFont(key)) };

  const ended = await runTypst(compilation, root, renderArguments(settings, paths, command, "human"), signal);
  const said = rewriteDiagnostics(Buffer.from(ended.stderr).toString("utf8"), project, root);
  const { text, undisplayable } = joinUndisplayable(addHints(said).trimEnd());
  const diagnostics = parseDiagnostics(text);
  const fail = (reason: string | null): Compiled => ({
    ok: false,
    text,
    diagnostics,
    undisplayable,
    reason,
    pages: [],
  });
  const { max_output_bytes, max_output_files } = local.limits;
  if (ended.isMaxBuffer) return fail(`The output has more than ${max_output_bytes} bytes.`);
  if (ended.timedOut) return fail(`Typst took longer than ${RENDER_TIMEOUT_SECONDS} seconds.`);
  if (ended.signal !== undefined) return fail(`Typst was killed by the signal ${ended.signal}.`);
  if (ended.exitCode !== 0) return fail(null);

  // If a selection matches no page, Typst succeeds, but the service reports an error.
  if (output.format === "pdf" && output.pages !== null) {
    const probe = pageProbeArguments(settings, paths, command, lowestPage(output.pages));
    const { exitCode, stdout } = await runTypst(compilation, root, probe, signal);
    if (exitCode === 0 && stdout.length === 0) return fail(`The document has none of the pages ${output.pages}.`);
  }
  const written = outputDirectory === null ? [Buffer.from(ended.stdout)] : await readPages(outputDirectory);
  if (written.length > max_output_files) return fail(`The document has more than ${max_output_files} pages.`);
  if (written.length === 0) return fail("The document has none of the selected pages.");
  if (output.format !== "pdf" && written[0]?.length === 0) return fail(`The document has no page ${output.page ?? 1}.`);
  const broken = output.format === "pdf" ? brokenStandards(ended.stdout, output) : null;
  if (broken !== null) return fail(broken);
  const pages = written.map((page) => completeWhole(output, page));
  const bytes = pages.reduce((sum, { length }) => sum + length, 0);
  if (bytes > max_output_bytes) return fail(`The output has more than ${max_output_bytes} bytes.`);
  return { ok: true, text, diagnostics, undisplayable, reason: null, pages };
}

/** What a PDF breaks of its standards; null if it keeps them. */
function brokenStandards(bytes: Uint8Array, output: Output & { readonly format: "pdf" }): string | null {
  if (output.standards.length === 0) return null;
  const pdf = new FinishedPdf(output.standards);
  pdf.push(bytes);
  const verdict = pdf.end();
  return verdict.kind === "broken" ? verdict.rules.map((rule) => describeInFull(rule, output)).join(" ") : null;
}

async function layOut(project: Project, data: DataText | null, root: string): Promise<void> {
  await writeFile(join(root, DATA_FILE_NAME), data?.text ?? "{}");
  for (const [index, { key, bytes }] of sentTexts(project).files.entries()) {
    const file = join(root, key);
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, bytes);
    const link = fontLinkName(key, index);
    if (link !== null) await writeFile(join(root, link), bytes);
  }
}

async function runTypst(
  { project, local }: CompileInput,
  root: string,
  typstArguments: readonly string[],
  signal: AbortSignal,
) {
  const { execa } = await import("execa");
  const ended = await execa(local.typstPath, typstArguments, {
    cwd: root,
    env: UNCONFINED_ENVIRONMENT,
    extendEnv: false,
    input: Buffer.concat(programText(sentTexts(project).source)),
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

/** The pages of an archive in order: Typst names each file by its number. */
async function readPages(folder: string): Promise<Buffer[]> {
  const names = (await readdir(folder)).sort((left, right) => Number(left) - Number(right));
  return Promise.all(names.map((name) => readFile(join(folder, name))));
}

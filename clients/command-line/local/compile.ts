/**
 * Compiles a project on this machine as the service would: the same program text, command line, fonts, layout and empty
 * environment, all by the backend's own code. Only the sandbox and its limits on memory and processor time are missing,
 * so compile only templates that you would open.
 */
import { execFile } from "node:child_process";
import { mkdir, mkdtemp, readdir, readFile, realpath, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { type Limits, publishedLimits } from "../../../rules/limits.ts";
import { isArchive, type Output } from "../../../rules/output-options.ts";
import { PROBLEMS, type ProblemCode, renderTimeout } from "../../../rules/problem.ts";
import { parseRenderRequest } from "../../../rules/render-request.ts";
import { RENDER_TIME_SETTINGS } from "../../../rules/render-time.ts";
import { archiveBytes, entryName } from "../../../typst/archive-layout.ts";
import { onePageArguments, renderArguments, UNCONFINED_ENVIRONMENT } from "../../../typst/command-line.ts";
import { foundPage, judgeCompilation, REFUSED_BY_TYPST } from "../../../typst/compile-verdict.ts";
import { DATA_FILE_NAME, fontLinks } from "../../../typst/file-layout.ts";
import { describeInFull } from "../../../typst/finished-pdf/broken-rule.ts";
import { finishedPdfOf } from "../../../typst/finished-pdf/finished-pdf.ts";
import { isFont } from "../../../typst/fonts/font-names.ts";
import { completeWhole } from "../../../typst/output-completion.ts";
import { programText } from "../../../typst/program-text.ts";
import type { ServiceProblem } from "../../typescript/client.ts";
import { checkLocally } from "../../typescript/local-check.ts";
import { encodeRequest, type OutputOptions, type RenderRequest } from "../../typescript/render-request.ts";
import { CommandError, EXIT_CODES, type ExitCode, exitCodeOf } from "../exit-codes.ts";
import { runInterruptible } from "../interruption.ts";
import type { Project } from "../project/project.ts";
import { type DataText, requestOf } from "../project/request.ts";
import { sentTexts } from "../project/sent-texts.ts";
import { fitToService, importsPackages } from "../project/service-packages.ts";
import { knownConstraints, storedCapabilities } from "../service-cache.ts";
import { serviceUrl } from "../service-location.ts";
import { printableLine } from "../terminal.ts";
import { addHints, type Diagnostic, parseDiagnostics, rewriteDiagnostics } from "./diagnostics.ts";
import { type TypstUse, watchUse } from "./heavy-documents.ts";
import { joinUndisplayable, type UndisplayableText } from "./undisplayable.ts";

const RENDER_TIMEOUT_SECONDS = RENDER_TIME_SETTINGS.renderTimeoutSeconds.default;
/** Typst's diagnostics are far shorter. The bound keeps a template from filling the memory with them. */
const MAX_DIAGNOSTICS_BYTES = 16 * 1024 ** 2;

export interface LocalSettings {
  readonly typstPath: string;
  /** Folders of fonts that the operator of the service provides, beside Typst's own. */
  readonly fontPaths: readonly string[];
  readonly packagePath: string | null;
}

const TOO_MUCH: ReadonlySet<ProblemCode> = new Set(["render_timeout", "output_too_large"]);

export interface Compiled {
  /** Whether the service would have answered 200. */
  readonly ok: boolean;
  /** That of `render`, if the service compiled it. */
  readonly exitCode: ExitCode;
  /** What Typst wrote, with the lines and paths of the caller; empty if it wrote nothing. */
  readonly text: string;
  readonly diagnostics: readonly Diagnostic[];
  /** The characters that keep the output from its standard, because no font has them. */
  readonly undisplayable: UndisplayableText | null;
  /** Why there is no output although Typst itself did not complain; otherwise null. */
  readonly reason: string | null;
  /** What Typst has taken here; null if nobody could see it. */
  readonly use: TypstUse | null;
  /** Whether there is no output because it took too long, or became too large. */
  readonly isTooMuch: boolean;
  /** The document or image, or each image of an archive, as the service delivers them; empty if the compilation failed. */
  readonly files: readonly Buffer[];
}

export type LocalRender =
  | {
      readonly kind: "refused";
      readonly problem: ServiceProblem;
      readonly request: RenderRequest;
      /** Typst's own errors, which a limit would hide; null if it has none. */
      readonly failed: Pick<Compiled, "text" | "diagnostics"> | null;
    }
  | { readonly kind: "compiled"; readonly compiled: Compiled; readonly output: Output; readonly limits: Limits };

export interface LocalOptions {
  readonly options: OutputOptions;
  readonly local: LocalSettings & { readonly url: string | undefined };
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
  const url = serviceUrl(local.url);
  const { constraints } = await knownConstraints(url);
  // Packages that the service has count for no limit of a request.
  const { project: sent } = fitToService(project, importsPackages(project) ? await storedCapabilities(url) : null);
  const request = requestOf(sent, data, options);
  const body = encodeRequest(request);
  const check = checkLocally(body, constraints);
  const limits = publishedLimits(constraints.limits);
  if (check.verdict === "refused") {
    const alone = parseRenderRequest(encodeRequest({ source: "x", output: options }), limits);
    const compiled = alone.ok
      ? await compileLocally({ project, data, output: alone.request.output, local, limits }, signal)
      : null;
    const failed = compiled === null || compiled.ok || compiled.text === "" ? null : compiled;
    const { problem } = check;
    return {
      kind: "refused",
      problem,
      request,
      failed: failed && { text: failed.text, diagnostics: failed.diagnostics },
    };
  }
  const parsed = parseRenderRequest(body, limits);
  if (!parsed.ok) {
    // Only if the service has rules that this program does not know.
    const words = `${url} has newer rules than this program, which cannot tell what they make of this: ${parsed.problem.detail} Update the program.`;
    throw new CommandError(printableLine(words), EXIT_CODES.failure);
  }
  const { output } = parsed.request;
  const compiled = await compileLocally({ project, data, output, local, limits }, signal);
  return { kind: "compiled", compiled, output, limits };
}

export interface CompileInput {
  readonly project: Project;
  readonly data: DataText | null;
  readonly output: Output;
  readonly local: LocalSettings;
  readonly limits: Limits;
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
  const { project, data, output, local, limits } = compilation;
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
  const settings = { creationTimestampSeconds: null, limits };
  const command = { output, fontCount: project.files.filter(({ key }) => isFont(key)).length };

  const ended = await runTypst(
    compilation,
    root,
    renderArguments(settings, paths, command, { diagnosticFormat: "human" }),
    signal,
  );
  const said = rewriteDiagnostics(ended.stderr.toString("utf8"), project, root);
  const { text, undisplayable } = joinUndisplayable(addHints(said, project, data?.text ?? "").trimEnd());
  const diagnostics = parseDiagnostics(text);
  const { use } = ended;
  const failed = { ok: false, text, diagnostics, undisplayable, reason: null, use, isTooMuch: false, files: [] };
  const fail = (reason: string | null, code: ProblemCode = "template_compile_failed"): Compiled => {
    return { ...failed, exitCode: exitCodeOf(PROBLEMS[code]), reason, isTooMuch: TOO_MUCH.has(code) };
  };
  if (ended.timedOut) {
    const { detail, code } = renderTimeout("wall_clock", RENDER_TIMEOUT_SECONDS, RENDER_TIMEOUT_SECONDS);
    return fail(detail, code);
  }
  if (ended.signal !== null) return fail(`Typst was killed by the signal ${ended.signal}.`);
  const written = await readOutput(ended, outputDirectory, compilation);
  const pdf = finishedPdfOf(output);
  pdf?.push(ended.stdout);
  const standards = pdf?.end() ?? null;
  let verdict = judgeCompilation({ exitCode: ended.exitCode ?? 1, ...written, standards }, output, limits);
  if (verdict.kind === "unclear") {
    const onePage = onePageArguments(settings, paths, command, verdict.page);
    const { exitCode, stdout } = await runTypst(compilation, root, onePage, signal);
    verdict = verdict.decide(foundPage(exitCode, stdout.length));
  }
  if (verdict.kind === "file") return { ...failed, ok: true, exitCode: EXIT_CODES.success, files: written.files };
  if (verdict === REFUSED_BY_TYPST) return fail(null);
  const { broken, problem } = verdict;
  if (output.format !== "pdf" || broken.length === 0) return fail(problem.detail, problem.code);
  return fail(broken.map((rule) => describeInFull(rule, output)).join(" "));
}

/** The files as the service delivers them. Nothing over a limit is read. */
async function readOutput({ exitCode, stdout }: TypstRun, folder: string | null, { output, limits }: CompileInput) {
  if (folder === null || exitCode !== 0) {
    const file = completeWhole(output, stdout);
    return { files: [file], outputBytes: Math.max(stdout.length, file.length), pageCount: null };
  }
  // Typst names each file by the number of its page.
  const numbers = (await readdir(folder)).map(Number).sort((left, right) => left - right);
  const sizes = await Promise.all(numbers.map(async (number) => (await stat(join(folder, `${number}`))).size));
  const written = { files: [], outputBytes: sumOf(sizes), pageCount: numbers.length };
  if (numbers.length > limits.max_output_files || written.outputBytes > limits.max_output_bytes) return written;
  const highest = numbers.at(-1) ?? 0;
  const read = async (number: number) => ({
    name: entryName(number, highest, output.format),
    content: completeWhole(output, await readFile(join(folder, `${number}`))),
  });
  const pages = await Promise.all(numbers.map(read));
  const files = pages.map(({ content }) => content);
  const outputBytes = Math.max(sumOf(files.map(({ length }) => length)), archiveBytes(pages));
  return { files, outputBytes, pageCount: numbers.length };
}

function sumOf(sizes: readonly number[]): number {
  return sizes.reduce((sum, size) => sum + size, 0);
}

async function layOut(project: Project, data: DataText | null, root: string): Promise<void> {
  await writeFile(join(root, DATA_FILE_NAME), data?.text ?? "{}");
  const { files } = sentTexts(project);
  for (const { key, bytes } of files) {
    const file = join(root, key);
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, bytes);
  }
  for (const { file, path } of fontLinks(files)) {
    await mkdir(join(root, dirname(path)));
    await writeFile(join(root, path), file.bytes);
  }
}

interface TypstRun {
  /** Null if it was killed. */
  readonly exitCode: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly timedOut: boolean;
  readonly stdout: Buffer;
  readonly stderr: Buffer;
  readonly use: TypstUse | null;
}

async function runTypst(
  { project, local, limits }: CompileInput,
  root: string,
  typstArguments: readonly string[],
  signal: AbortSignal,
): Promise<TypstRun> {
  const { promise, resolve, reject } = Promise.withResolvers<Omit<TypstRun, "use">>();
  const options = {
    cwd: root,
    env: UNCONFINED_ENVIRONMENT,
    encoding: "buffer",
    maxBuffer: Math.max(limits.max_output_bytes + 1, MAX_DIAGNOSTICS_BYTES),
    timeout: RENDER_TIMEOUT_SECONDS * 1000,
    killSignal: "SIGKILL",
    signal,
  } as const;
  const running = execFile(local.typstPath, [...typstArguments], options, (error, stdout, stderr) => {
    const isTooMuch = error?.code === "ERR_CHILD_PROCESS_STDIO_MAXBUFFER";
    if (typeof error?.code === "string" && !isTooMuch) {
      reject(new CommandError(`Typst could not be started: ${error.message}`));
      return;
    }
    const exitCode = error === null ? 0 : typeof error.code === "number" ? error.code : null;
    const timedOut = error?.killed === true && !isTooMuch;
    resolve({ exitCode, signal: isTooMuch ? null : (error?.signal ?? null), timedOut, stdout, stderr });
  });
  // Typst may end before it has read all of it.
  running.stdin?.on("error", () => {}).end(Buffer.concat(programText(sentTexts(project).source)));
  const endWatch = watchUse(running.pid);
  const ended = await promise.finally(() => {
    endWatch();
    signal.throwIfAborted();
  });
  return { ...ended, use: endWatch() };
}

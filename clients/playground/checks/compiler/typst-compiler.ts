/** Typst as WebAssembly: what the compiler says of a project. It is Typst 0.15.0, the service runs 0.15.1. */
import {
  initSync,
  type TypstCompiler,
  TypstCompilerBuilder,
  TypstFontResolverBuilder,
} from "@myriaddreamin/typst-ts-web-compiler";
import { PDF_STANDARDS } from "../../../../rules/pdf-standards.ts";
import { describeInFull } from "../../../../typst/finished-pdf/broken-rule.ts";
import { FinishedPdf } from "../../../../typst/finished-pdf/finished-pdf.ts";
import { isFont } from "../../../../typst/fonts/font-names.ts";
import type { DraftFinding } from "../findings.ts";
import { accessibilityFindings } from "./accessibility.ts";
import { describeDiagnostic } from "./diagnostic-messages.ts";
import {
  COMPILED_DATA_PATH,
  type Compilation,
  type CompilerDiagnostic,
  type CompilerProject,
  type FileDiagnostic,
  MAIN_PATH,
  offsetsOf,
  programText,
  rangeOf,
  textOf,
} from "./project-text.ts";

const MAX_FINDINGS = 20;

const PAGED = 0;
const PDF = 1;
const STRUCTURED = 3;

export interface CompilerJudgement {
  readonly findings: readonly DraftFinding[];
  /** Whether it becomes a document here, without standards. */
  readonly compiles: boolean;
}

export class ProjectCompiler {
  readonly #compiler: TypstCompiler;
  readonly #memory: WebAssembly.Memory;
  readonly #fonts: readonly Uint8Array[];

  private constructor(compiler: TypstCompiler, memory: WebAssembly.Memory, fonts: readonly Uint8Array[]) {
    this.#compiler = compiler;
    this.#memory = memory;
    this.#fonts = fonts;
  }

  static async open(module: WebAssembly.Module, fonts: readonly Uint8Array[]): Promise<ProjectCompiler> {
    const { memory } = initSync({ module });
    const builder = new TypstCompilerBuilder();
    const nothing = () => undefined;
    const isFile = () => false;
    const realPath = (path: string) => path;
    const readFile = () => {
      throw new Error("not in the project");
    };
    await builder.set_access_model({}, nothing, isFile, realPath, readFile);
    await builder.set_package_registry({}, nothing);
    return new ProjectCompiler(await builder.build(), memory, fonts);
  }

  get usedBytes(): number {
    return this.#memory.buffer.byteLength;
  }

  async judge(project: CompilerProject): Promise<CompilerJudgement> {
    await this.#load(project);
    if (project.isPdfRefused) return { findings: this.#brokenStandards(project), compiles: true };
    const compile = (rules: string) => this.#compile(project.source, rules);
    const compiled = compile("");
    const found =
      hasErrors(compiled.diagnostics) || !project.standards.includes("ua-1")
        ? placeDiagnostics(compiled, project)
        : accessibilityFindings(project, compiled, compile);
    const findings = found.slice(0, MAX_FINDINGS).map((placed) => toFinding(project, placed));
    return { findings, compiles: !hasErrors(compiled.diagnostics) };
  }

  /** The compiler exports without standards, but what is judged is in the file all the same. */
  #brokenStandards({ source, standards }: CompilerProject): readonly DraftFinding[] {
    const known = PDF_STANDARDS.filter((standard) => standards.includes(standard));
    const pdf = new FinishedPdf(known);
    this.#compiler.add_source(MAIN_PATH, programText(source, "").text);
    const world = this.#compiler.snapshot(undefined, MAIN_PATH, undefined);
    const { result }: { result?: Uint8Array } = world.get_artifact(PDF, STRUCTURED);
    world.free();
    pdf.push(result ?? new Uint8Array(0));
    const verdict = pdf.end();
    if (verdict.kind !== "broken") return [];
    return verdict.rules.map((rule) => ({
      place: { field: "standards" },
      message: describeInFull(rule, { standards: known, pages: null }),
      isWarning: true,
    }));
  }

  async #load({ data, files }: CompilerProject): Promise<void> {
    this.#compiler.reset_shadow();
    this.#compiler.map_shadow(COMPILED_DATA_PATH, new TextEncoder().encode(data));
    const resolver = new TypstFontResolverBuilder();
    for (const font of this.#fonts) resolver.add_raw_font(font);
    for (const { key, bytes } of files) {
      this.#compiler.map_shadow(`/${key}`, bytes);
      if (isFont(key)) resolver.add_raw_font(bytes);
    }
    this.#compiler.set_fonts(await resolver.build());
  }

  #compile(source: string, rules: string): Compilation {
    const { text, linesAbove } = programText(source, rules);
    this.#compiler.add_source(MAIN_PATH, text);
    const world = this.#compiler.snapshot(undefined, MAIN_PATH, undefined);
    const { diagnostics = [] }: { diagnostics?: readonly CompilerDiagnostic[] } = world.compile(PAGED, STRUCTURED);
    const title = hasErrors(diagnostics) ? "" : (world.title(PAGED) ?? "");
    world.free();
    return { diagnostics, title, linesAbove };
  }
}

function hasErrors(diagnostics: readonly CompilerDiagnostic[]): boolean {
  return diagnostics.some(({ severity }) => severity === "error");
}

function placeDiagnostics(
  { diagnostics, linesAbove }: Compilation,
  project: CompilerProject,
): readonly FileDiagnostic[] {
  const errors = diagnostics.filter(({ severity }) => severity === "error");
  // Of what is not closed, the innermost is the likeliest mistake: without it, the others would have their ends.
  if (errors.every(({ message }) => message.startsWith("unclosed"))) errors.reverse();
  const warnings = diagnostics.filter(({ severity }) => severity === "warning");
  return (errors.length > 0 ? errors : warnings).slice(0, MAX_FINDINGS).flatMap((diagnostic) => {
    const place = rangeOf(diagnostic, linesAbove);
    if (place === null) return [];
    const text = textOf(project, place.key);
    const { from, to } = offsetsOf(text, place);
    const before = text.slice(text.lastIndexOf("\n", from - 1) + 1, from);
    const [after = ""] = text.slice(to).split("\n", 1);
    const at = { key: place.key, text: text.slice(from, to), before, after };
    const message = describeDiagnostic(diagnostic.message, at, project);
    if (message === null) return [];
    return [{ ...place, message, ...(diagnostic.severity !== "error" && { isWarning: true }) }];
  });
}

function toFinding(project: CompilerProject, placed: FileDiagnostic): DraftFinding {
  const { key } = placed;
  const { from, to } = offsetsOf(textOf(project, key), placed);
  const range = { offset: from, length: to - from };
  return {
    place: key === null ? { field: "source", ...range } : { field: "files", keys: [key], ...range },
    message: `Line ${placed.from.line + 1}: ${placed.message}`,
    ...(placed.isWarning ? { isWarning: true } : { mistakeLine: placed.from.line + 1 }),
  };
}

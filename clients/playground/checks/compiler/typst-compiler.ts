/**
 * Typst as WebAssembly: what the compiler says of a project, with its place. The package follows Typst 0.15.0, the
 * service runs 0.15.1. What the page cannot know is no finding: packages, and fonts that may be missing only here.
 */
import {
  initSync,
  type TypstCompiler,
  TypstCompilerBuilder,
  TypstFontResolverBuilder,
} from "@myriaddreamin/typst-ts-web-compiler";
import * as v from "valibot";
import { isFont } from "../../../../rules/font-names.ts";
import { accessibilityFindings } from "./accessibility.ts";
import { describeDiagnostic } from "./diagnostic-messages.ts";
import {
  type Compilation,
  type CompilerDiagnostic,
  type CompilerFinding,
  type CompilerProject,
  DATA_PATH,
  MAIN_PATH,
  offsetsOf,
  type PlacedDiagnostic,
  placeOf,
  programText,
  textOf,
} from "./project-text.ts";

const MAX_FINDINGS = 20;

const PAGED = 0;
const STRUCTURED = 3;

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

  /** How much memory the compiler has taken. It keeps what it has computed, and gives nothing back. */
  get usedBytes(): number {
    return this.#memory.buffer.byteLength;
  }

  async findings(project: CompilerProject): Promise<readonly CompilerFinding[]> {
    await this.#load(project);
    const compile = (rules: string) => this.#compile(project.source, rules);
    const compiled = compile("");
    const found =
      hasErrors(compiled.diagnostics) || !project.standards.includes("ua-1")
        ? placeDiagnostics(compiled, project)
        : accessibilityFindings(project, compiled, compile);
    return found.slice(0, MAX_FINDINGS).map((placed) => {
      const { key, from, message } = placed;
      return { key, line: from.line + 1, ...offsetsOf(textOf(project, key), placed), message };
    });
  }

  async #load({ data, files }: CompilerProject): Promise<void> {
    this.#compiler.reset_shadow();
    this.#compiler.map_shadow(DATA_PATH, new TextEncoder().encode(data));
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
    const outline = hasErrors(diagnostics)
      ? NO_OUTLINE
      : { title: world.title(PAGED) ?? "", headings: parseHeadings(world.query(PAGED, "heading")) };
    world.free();
    return { diagnostics, outline, linesAbove };
  }
}

function hasErrors(diagnostics: readonly CompilerDiagnostic[]): boolean {
  return diagnostics.some(({ severity }) => severity === "error");
}

const NO_OUTLINE = { title: "", headings: [] };

const HEADINGS = v.array(v.object({ level: v.number(), body: v.unknown() }));

function parseHeadings(json: string): Compilation["outline"]["headings"] {
  const parsed = v.safeParse(HEADINGS, JSON.parse(json));
  return parsed.success ? parsed.output.map(({ level, body }) => ({ level, text: textOfContent(body) })) : [];
}

const CONTENT = v.object({
  func: v.string(),
  text: v.optional(v.string(), ""),
  children: v.optional(v.array(v.unknown()), []),
  body: v.optional(v.unknown()),
});

/** The text of content as far as it is plain: "Annual report", but nothing of a formula. */
function textOfContent(content: unknown): string {
  const parsed = v.safeParse(CONTENT, content);
  if (!parsed.success) return "";
  const { func, text, children, body } = parsed.output;
  return (func === "space" ? " " : text) + [...children, body].map(textOfContent).join("");
}

/** The errors of a compilation that are in the project's texts, each in words for the page. */
function placeDiagnostics(
  { diagnostics, linesAbove }: Compilation,
  project: CompilerProject,
): readonly PlacedDiagnostic[] {
  return diagnostics
    .filter(({ severity }) => severity === "error")
    .slice(0, MAX_FINDINGS)
    .flatMap((diagnostic) => {
      const place = placeOf(diagnostic, linesAbove);
      if (place === null) return [];
      const text = textOf(project, place.key);
      const { from, to } = offsetsOf(text, place);
      const at = { key: place.key, text: text.slice(from, to) };
      const message = describeDiagnostic(diagnostic.message, at, project.files);
      return message === null ? [] : [{ ...place, message }];
    });
}

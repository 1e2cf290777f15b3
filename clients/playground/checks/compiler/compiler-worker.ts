/** The worker that compiles drafts: a separate file, loaded when a template is first changed or refused. */
import type { Finding } from "../findings.ts";
import { answerQuestions } from "../timed-worker.ts";
import type { CompilerProject } from "./project-text.ts";
import { ProjectCompiler } from "./typst-compiler.ts";

export interface CompilerAnswer {
  readonly findings: readonly Finding[];
  readonly isSpent: boolean;
}

/** The compiler keeps what it has computed. A page that is open all day starts it anew from time to time. */
const MAX_COMPILER_BYTES = 600 * 1024 * 1024;

const FILES = "/playground";
const FONTS = ["libertinus-serif.otf", "new-computer-modern-math.otf", "dejavu-sans-mono.ttf"];

const opened = Promise.all([fetchCompiler(), Promise.all(FONTS.map(fetchFont))]).then(([module, fonts]) =>
  ProjectCompiler.open(module, fonts.flat()),
);
answerQuestions(opened, compile);
// Reported as an error of the worker.
opened.catch((error: unknown) => reportError(error));

/** Its WebAssembly is larger than Cloudflare serves in one file, so that it is compressed. */
async function fetchCompiler(): Promise<WebAssembly.Module> {
  const response = await fetch(`${FILES}/typst-compiler.bin`);
  if (!response.ok || response.body === null) throw new Error(`the compiler: ${response.status}`);
  const bytes = response.body.pipeThrough(new DecompressionStream("gzip"));
  return WebAssembly.compileStreaming(new Response(bytes, { headers: { "Content-Type": "application/wasm" } }));
}

async function fetchFont(name: string): Promise<readonly Uint8Array[]> {
  const response = await fetch(`${FILES}/${name}`);
  return response.ok ? [new Uint8Array(await response.arrayBuffer())] : [];
}

async function compile(project: CompilerProject): Promise<CompilerAnswer> {
  const compiler = await opened;
  try {
    const findings = await compiler.findings(project);
    return { findings, isSpent: compiler.usedBytes > MAX_COMPILER_BYTES };
  } catch {
    // A panic of the compiler says nothing about the template, and leaves the compiler as it may be.
    return { findings: [], isSpent: true };
  }
}

/** The worker that compiles drafts: a separate file, loaded when a template is first changed or refused. */

import { answerQuestions } from "../../page/timed-worker.ts";
import { openParser } from "../page-parser.ts";
import type { CompilerProject } from "./project-text.ts";
import { type CompilerJudgement, ProjectCompiler } from "./typst-compiler.ts";

export type CompilerAnswer = CompilerJudgement & { readonly isSpent: boolean };

/** The compiler keeps what it has computed. A page that is open all day starts it anew from time to time. */
const MAX_COMPILER_BYTES = 600 * 1024 * 1024;

/** The folder of this worker. */
const FILES = new URL(".", location.href);
const FONTS = ["libertinus-serif.otf", "new-computer-modern-math.otf", "dejavu-sans-mono.ttf"];

const opened = Promise.all([fetchCompiler(), Promise.all(FONTS.map(fetchFont)), openParser()]).then(([module, fonts]) =>
  ProjectCompiler.open(module, fonts.flat()),
);
answerQuestions(opened, compile);

/** The WebAssembly is compressed: it is larger than a file that Cloudflare serves. */
async function fetchCompiler(): Promise<WebAssembly.Module> {
  const response = await fetch(new URL("typst-compiler.bin", FILES));
  if (!response.ok || response.body === null) throw new Error(`the compiler: ${response.status}`);
  const bytes = response.body.pipeThrough(new DecompressionStream("gzip"));
  return WebAssembly.compileStreaming(new Response(bytes, { headers: { "Content-Type": "application/wasm" } }));
}

async function fetchFont(name: string): Promise<readonly Uint8Array[]> {
  const response = await fetch(new URL(name, FILES));
  return response.ok ? [new Uint8Array(await response.arrayBuffer())] : [];
}

async function compile(project: CompilerProject): Promise<CompilerAnswer> {
  const compiler = await opened;
  try {
    const judgement = await compiler.judge(project);
    return { ...judgement, isSpent: compiler.usedBytes > MAX_COMPILER_BYTES };
  } catch {
    // A panic says nothing about the template, and the compiler cannot be used after it.
    return { findings: [], compiles: false, isSpent: true };
  }
}

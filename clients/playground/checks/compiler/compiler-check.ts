/** Compiles drafts in the browser to name the place of a mistake, which the service's 422 does not. */
import { type Draft, listSentFiles } from "../../drafts/draft.ts";
import type { DraftStore } from "../../drafts/draft-store.ts";
import { TimedWorker } from "../../page/timed-worker.ts";
import type { DraftFinding } from "../findings.ts";
import type { CompilerAnswer } from "./compiler-worker.ts";
import type { CompilerProject } from "./project-text.ts";
import type { CompilerJudgement } from "./typst-compiler.ts";

/** Half of the service's default for a render. */
const MAX_COMPILE_MILLISECONDS = 15_000;
const TYPING_PAUSE_MILLISECONDS = 700;
/** Of what does not end, or cannot be loaded. */
const UNJUDGED: CompilerJudgement = { findings: [], compiles: false };

export class CompilerCheck {
  readonly #worker = new TimedWorker<CompilerProject, CompilerAnswer>(
    "playground/compiler-worker.js",
    MAX_COMPILE_MILLISECONDS,
  );
  #typing: ReturnType<typeof setTimeout> | undefined;
  #wanted: Question | null = null;
  #compiling: Promise<void> | null = null;
  #answered: { readonly question: Question; readonly judgement: CompilerJudgement } | null = null;
  /** The service has rendered it, so what the compiler finds in it is no mistake. */
  #accepted: Draft | null = null;

  constructor(store: DraftStore, onNews: () => void) {
    store.onChange((change) => {
      clearTimeout(this.#typing);
      // The compiler has 11 MB: for people who save data, it is loaded only after a 422.
      if (change === "replace" || matchMedia("(prefers-reduced-data: reduce)").matches) return;
      this.#typing = setTimeout(() => void this.check(store.draft).then(onNews), TYPING_PAUSE_MILLISECONDS);
    });
  }

  accept(draft: Draft): void {
    this.#accepted = draft;
  }

  findingsOn(draft: Draft): readonly DraftFinding[] {
    return this.#judgementOn(draft).findings;
  }

  /**
   * What is wrong with a draft; nothing if the compiler does not end, or cannot be loaded.
   *
   * @param isPdfRefused whether the service has refused the finished PDF
   */
  async check(draft: Draft, isPdfRefused = false): Promise<CompilerJudgement> {
    const question = { draft, isPdfRefused };
    this.#wanted = question;
    while (this.#wanted === question && !isAnswer(this.#answered?.question, question)) {
      this.#compiling ??= this.#compile(question);
      await this.#compiling;
    }
    return this.#judgementOn(draft);
  }

  #judgementOn(draft: Draft): CompilerJudgement {
    return this.#answered?.question.draft === draft && this.#accepted !== draft ? this.#answered.judgement : UNJUDGED;
  }

  async #compile(question: Question): Promise<void> {
    const answer = await this.#worker.ask(projectOf(question));
    this.#compiling = null;
    this.#answered = { question, judgement: typeof answer === "string" ? UNJUDGED : answer };
    if (typeof answer !== "string" && answer.isSpent) this.#worker.end();
  }
}

interface Question {
  readonly draft: Draft;
  readonly isPdfRefused: boolean;
}

function isAnswer(answered: Question | undefined, { draft, isPdfRefused }: Question): boolean {
  return answered?.draft === draft && answered.isPdfRefused === isPdfRefused;
}

function projectOf({ draft, isPdfRefused }: Question): CompilerProject {
  const { source, data, output } = draft;
  return {
    source,
    data: data.trim() === "" ? "{}" : data,
    files: listSentFiles(draft).map(({ key, content }) => ({ key, bytes: content.bytes() })),
    standards: output.format === "pdf" ? [JSON.parse(output.members.standards ?? "[]")].flat().map(String) : [],
    isPdfRefused,
  };
}

/** Has drafts compiled in the browser, so that a mistake is named at its place: the service's 422 does not say it. */
import { type Draft, listSentFiles } from "../../drafts/draft.ts";
import type { DraftStore } from "../../drafts/draft-store.ts";
import type { Finding } from "../findings.ts";
import type { FindingSource } from "../request-check.ts";
import { TimedWorker } from "../timed-worker.ts";
import type { CompilerAnswer } from "./compiler-worker.ts";
import type { CompilerFinding, CompilerProject } from "./project-text.ts";

/** The service gives a render 30 s by default; what takes as long here is not going to be quick there. */
const MAX_COMPILE_MILLISECONDS = 15_000;
/** What is half typed is no mistake. */
const TYPING_PAUSE_MILLISECONDS = 700;

type Listener = (findings: readonly Finding[]) => void;

interface Question {
  readonly draft: Draft;
  readonly listeners: Listener[];
}

export class CompilerCheck implements FindingSource {
  #typing: ReturnType<typeof setTimeout> | undefined;
  readonly #worker = new TimedWorker<CompilerProject, CompilerAnswer>(
    "/playground/compiler-worker.js",
    MAX_COMPILE_MILLISECONDS,
    (answer) => this.#settle(answer),
  );
  /** What the worker is compiling. */
  #asked: Question | null = null;
  /** What it compiles next. Only the latest draft is of interest. */
  #next: Question | null = null;
  #answered: { readonly draft: Draft; readonly findings: readonly Finding[] } | null = null;

  /** What the service has rendered: whatever is found here, it is right. */
  #accepted: Draft | null = null;

  /** @param onNews called when there are findings on the draft of the store, or none any more */
  constructor(store: DraftStore, onNews: () => void) {
    store.onChange((change) => {
      clearTimeout(this.#typing);
      if (change === "replace" || savesData()) return;
      this.#typing = setTimeout(() => void this.check(store.draft).then(onNews), TYPING_PAUSE_MILLISECONDS);
    });
  }

  /** Forgets what was found in a draft, because the service has rendered it. */
  accept(draft: Draft): void {
    this.#accepted = draft;
  }

  /** What is known to be wrong with a draft; empty while it has not been compiled. */
  findingsOn(draft: Draft): readonly Finding[] {
    return this.#answered?.draft === draft && this.#accepted !== draft ? this.#answered.findings : [];
  }

  /** What is wrong with a draft; empty if the compiler finds nothing, does not end, or cannot be loaded. */
  check(draft: Draft): Promise<readonly Finding[]> {
    const { promise, resolve } = Promise.withResolvers<readonly Finding[]>();
    if (this.#answered?.draft === draft) resolve(this.#answered.findings);
    else this.#ask(draft, resolve);
    return promise;
  }

  #ask(draft: Draft, listener: Listener): void {
    const same = [this.#asked, this.#next].find((question) => question?.draft === draft);
    if (same) {
      same.listeners.push(listener);
      return;
    }
    this.#next?.listeners.forEach((superseded) => {
      superseded([]);
    });
    this.#next = { draft, listeners: [listener] };
    this.#sendNext();
  }

  #sendNext(): void {
    if (this.#asked !== null || this.#next === null) return;
    this.#asked = this.#next;
    this.#next = null;
    this.#worker.ask(projectOf(this.#asked.draft));
  }

  #settle(answer: CompilerAnswer | "too slow" | "not loaded"): void {
    const findings = typeof answer === "string" ? [] : answer.findings.map(toFinding);
    if (typeof answer !== "string" && answer.isSpent) this.#worker.end();
    const question = this.#asked;
    this.#asked = null;
    if (question !== null) {
      this.#answered = { draft: question.draft, findings };
      for (const listener of question.listeners) listener(findings);
    }
    this.#sendNext();
  }
}

/** Whether the user has asked browsers to load as little as possible. The compiler is then loaded after a 422 only. */
function savesData(): boolean {
  return matchMedia("(prefers-reduced-data: reduce)").matches;
}

function projectOf(draft: Draft): CompilerProject {
  const { source, data, output } = draft;
  return {
    source,
    data: data.trim() === "" ? "{}" : data,
    files: listSentFiles(draft).map(({ key, content }) => ({ key, bytes: content.bytes() })),
    standards: output.format === "pdf" ? standardsOf(output.members.standards) : [],
  };
}

function standardsOf(json = "[]"): readonly string[] {
  const standards: unknown = JSON.parse(json);
  return Array.isArray(standards) ? standards.filter((each) => typeof each === "string") : [];
}

function toFinding({ key, line, from, to, message }: CompilerFinding): Finding {
  const range = { offset: from, length: to - from };
  const warning = { message: `Line ${line}: ${message}`, isWarning: true };
  return key === null
    ? { ...warning, place: { field: "source", ...range } }
    : { ...warning, place: { field: "files", keys: [key], ...range } };
}

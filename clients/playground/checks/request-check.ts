/** Checks the draft after a pause in typing, and marks what is wrong at its fields. */
import { DEFAULT_LIMITS, type Limits } from "../../../rules/limits.ts";
import { countInWords } from "../../typescript/size-in-words.ts";
import type { Draft } from "../drafts/draft.ts";
import type { DraftStore } from "../drafts/draft-store.ts";
import { byId } from "../page/elements.ts";
import { type DraftFinding, type Verdict, validateDraft } from "./findings.ts";
import { goToFinding, markFindings, type RequestFields } from "./request-findings.ts";
import { SchemaCheck, withSchemaVerdict } from "./schema-check.ts";

/** Returns at once the warnings on a draft that are known by now. Who learns more calls `RequestCheck.run`. */
export type FindingSource = (draft: Draft) => readonly DraftFinding[];

const DELAY_MILLISECONDS = 150;

export class RequestCheck {
  readonly #store: DraftStore;
  readonly #fields: RequestFields;
  readonly #sources: readonly FindingSource[];
  readonly #schemaCheck = new SchemaCheck(() => this.#runAndTell());
  readonly #onSettled: () => void;
  limits: Limits = DEFAULT_LIMITS;
  #pending: ReturnType<typeof setTimeout> | undefined;

  constructor(store: DraftStore, fields: RequestFields, sources: readonly FindingSource[], onSettled: () => void) {
    this.#store = store;
    this.#fields = fields;
    this.#sources = sources;
    this.#onSettled = onSettled;
    store.onChange(() => {
      clearTimeout(this.#pending);
      this.#pending = setTimeout(() => this.#runAndTell(), DELAY_MILLISECONDS);
    });
  }

  get waitsForSchema(): boolean {
    return this.#schemaCheck.verdictOn(this.#store.draft) === null;
  }

  run(): Verdict {
    clearTimeout(this.#pending);
    const { draft } = this.#store;
    const verdict = withSchemaVerdict(validateDraft(draft, this.limits), this.#schemaCheck.verdictOn(draft));
    const further = this.mark(verdict.ok ? [] : verdict.findings);
    showVerdict(verdict, further.length);
    return verdict;
  }

  /** Marks findings until the next check, and returns what the further sources have added. */
  mark(findings: readonly DraftFinding[]): readonly DraftFinding[] {
    const further = this.#sources.flatMap((source) => source(this.#store.draft));
    markFindings(this.#fields, [...findings, ...further]);
    return further;
  }

  goTo(finding: DraftFinding): void {
    goToFinding(this.#fields, finding);
  }

  #runAndTell(): void {
    this.run();
    this.#onSettled();
  }
}

function showVerdict(verdict: Verdict, furtherCount: number): void {
  const state = byId("validation", HTMLElement);
  state.dataset.state = verdict.ok ? "valid" : "invalid";
  const text = textOf(verdict, furtherCount);
  if (state.textContent !== text) state.textContent = text;
}

function textOf(verdict: Verdict, furtherCount: number): string {
  if (verdict.ok) return furtherCount === 0 ? "Valid request" : `Valid request, ${countInWords(furtherCount, "hint")}`;
  const { findings, problem } = verdict;
  return findings.length === 0 && problem !== null ? problem.detail : countInWords(findings.length, "problem");
}

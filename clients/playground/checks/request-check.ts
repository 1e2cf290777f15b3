/** Checks the draft after a pause in typing, and marks what is wrong at its fields. */
import { DEFAULT_LIMITS, type Limits } from "../../../rules/limits.ts";
import { countInWords } from "../../document/size-in-words.ts";
import type { Draft } from "../drafts/draft.ts";
import type { DraftStore } from "../drafts/draft-store.ts";
import { byId, makeButton } from "../page/elements.ts";
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
  #first: DraftFinding | null = null;

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
    this.#showVerdict(verdict, further);
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

  /** The state leads to the first of what it counts. */
  #showVerdict(verdict: Verdict, further: readonly DraftFinding[]): void {
    const state = byId("validation", HTMLElement);
    const mistakes = further.filter(({ mistakeLine }) => mistakeLine !== undefined);
    state.dataset.state = verdict.ok && mistakes.length === 0 ? "valid" : "invalid";
    this.#first = (verdict.ok ? mistakes : verdict.findings)[0] ?? further[0] ?? null;
    const text = textOf(verdict, mistakes, further.length);
    // A new button would take the focus away from somebody who is on it.
    if (state.textContent === text && state.childElementCount === (this.#first === null ? 0 : 1)) return;
    const goToFirst = () => {
      if (this.#first !== null) this.goTo(this.#first);
    };
    state.replaceChildren(this.#first === null ? text : makeButton(text, { class: "link-button" }, goToFirst));
  }

  #runAndTell(): void {
    this.run();
    this.#onSettled();
  }
}

function textOf(verdict: Verdict, mistakes: readonly DraftFinding[], furtherCount: number): string {
  if (verdict.ok) {
    const [first] = mistakes;
    if (first !== undefined) return `${countInWords(mistakes.length, "mistake")}, ${placeInWords(first)}`;
    return furtherCount === 0 ? "Valid request" : `Valid request, ${countInWords(furtherCount, "hint")}`;
  }
  const { findings, problem } = verdict;
  return findings.length === 0 && problem !== null ? problem.detail : countInWords(findings.length, "problem");
}

function placeInWords({ place, mistakeLine }: DraftFinding): string {
  const key = place.field === "files" ? place.keys[0] : undefined;
  return `${key === undefined ? "" : `${key} `}line ${mistakeLine}`;
}

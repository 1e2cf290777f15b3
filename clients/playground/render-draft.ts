/** Renders the draft: checks it before, shows the progress, and then what came back. */
import { JsonCursor } from "../../rules/json/cursor.ts";
import { DEFAULT_OUTPUT } from "../../rules/output-options.ts";
import { readOutput } from "../../rules/output-reader.ts";
import { PROBLEMS } from "../../rules/problem.ts";
import { ValidationErrorList } from "../../rules/validation-errors.ts";
import { isOfFinishedPdf } from "../../typst/finished-pdf/broken-rule.ts";
import { charactersBeyondTypst } from "../../typst/fonts/scripts.ts";
import { listCompileFailureCauses } from "../document/compile-failure-causes.ts";
import type { ServiceProblem } from "../typescript/service-problem.ts";
import type { CompilerCheck } from "./checks/compiler/compiler-check.ts";
import { findingsOf, type ProblemReport } from "./checks/findings.ts";
import type { RenderedText } from "./checks/missing-fonts.ts";
import type { RequestCheck } from "./checks/request-check.ts";
import { type Draft, draftFileStem, outputJson } from "./drafts/draft.ts";
import type { DraftStore } from "./drafts/draft-store.ts";
import { describeKind } from "./output/output-panel.ts";
import { readStored, writeStored } from "./page/browser-storage.ts";
import { byId } from "./page/elements.ts";
import { TimedWorker } from "./page/timed-worker.ts";
import { type ApiToken, readToken } from "./render/api-token.ts";
import { RenderSession, type RenderTrigger, type SettledOutcome, type Wait } from "./render/render-session.ts";
import type { RenderedDocument } from "./render/service-call.ts";
import type { CompileFailure } from "./result/problem-view.ts";
import type { ResultView } from "./result/result-view.ts";

const RENDERS_WHILE_TYPING_KEY = "render-while-typing";
/** Somebody who has not chosen gets pages while typing where they come within this time. */
const QUICK_SECONDS = 1;
/** A document of many pages takes some seconds, and what the deployment has may come late. */
const MAX_READ_MILLISECONDS = 60_000;

export interface DraftRendererParts {
  readonly store: DraftStore;
  readonly check: RequestCheck;
  readonly compilerCheck: CompilerCheck;
  readonly token: ApiToken;
  readonly result: ResultView;
}

export class DraftRenderer {
  readonly #parts: DraftRendererParts;
  readonly #session: RenderSession;
  readonly #button = byId("render", HTMLButtonElement);
  readonly #whileTyping = byId("render-while-typing", HTMLInputElement);
  readonly #fontsWorker = new TimedWorker<RenderedText, readonly string[]>(
    "playground/missing-fonts.js",
    MAX_READ_MILLISECONDS,
  );
  #awaited: RenderTrigger | null = null;
  /** What the page shows is about this outcome; null once another draft has taken the place of the rendered one. */
  #lastOutcome: SettledOutcome | null = null;

  constructor(parts: DraftRendererParts) {
    this.#parts = parts;
    this.#session = new RenderSession({
      draft: () => parts.store.draft,
      prepare: (trigger) => this.#prepare(trigger),
      onProgress: (wait) => this.#showProgress(wait),
      onOutcome: (outcome, draft, elapsedSeconds) => this.#showOutcome(outcome, draft, elapsedSeconds),
    });
    parts.store.onChange((change) => {
      if (change === "replace") {
        this.#lastOutcome = null;
        parts.result.forgetProblem();
      }
      parts.result.markOutdated();
      this.#session.draftChanged();
    });
    this.#button.addEventListener("click", () => this.render());
    addEventListener("keydown", (event) => {
      if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
      event.preventDefault();
      this.render();
    });
    const box = this.#whileTyping;
    box.checked = readStored("local", RENDERS_WHILE_TYPING_KEY) === "on";
    this.#session.rendersWhileTyping = box.checked;
    box.addEventListener("change", () => {
      writeStored("local", RENDERS_WHILE_TYPING_KEY, box.checked ? "on" : "off");
      this.#session.rendersWhileTyping = box.checked;
    });
  }

  render(): void {
    this.#session.request("asked");
  }

  /** Asks nobody for a token, and shows no problem that was found before sending. */
  renderUnasked(): void {
    this.#session.request("typing");
  }

  continueAfterCheck(): void {
    if (this.#parts.check.waitsForSchema) return;
    const trigger = this.#awaited;
    this.#awaited = null;
    if (trigger !== null) this.#session.request(trigger);
  }

  #prepare(trigger: RenderTrigger) {
    const { store, check, token, result } = this.#parts;
    const verdict = check.run();
    const isAsked = trigger === "asked";
    if (!verdict.ok) {
      const { problem, findings } = verdict;
      const [first] = findings;
      if (isAsked) {
        const named = nameProblem(problem ?? { code: "invalid_request", detail: "The data is not JSON.", context: {} });
        result.showProblem({ ...named, findings, compileFailure: null });
        if (first !== undefined) check.goTo(first);
      }
      return null;
    }
    if (readToken() === "") {
      if (isAsked) token.open();
      return null;
    }
    if (check.waitsForSchema) {
      this.#awaited = this.#awaited === "asked" ? "asked" : trigger;
      if (isAsked) this.#showProgress(null);
      return null;
    }
    if (isAsked) result.scrollIntoView();
    return { draft: store.draft, token: readToken() };
  }

  #showProgress(wait: Wait | null): void {
    this.#parts.result.showProgress(wait, () => {
      this.#awaited = null;
      this.#session.cancel();
    });
  }

  #showOutcome(outcome: SettledOutcome, draft: Draft, elapsedSeconds: number): void {
    const { store, check, compilerCheck, result } = this.#parts;
    this.#lastOutcome = outcome;
    switch (outcome.kind) {
      case "document":
        void result.showDocument(nameDocument(outcome.document, draft), describeKind(draft.output), elapsedSeconds);
        compilerCheck.accept(draft);
        check.run();
        void this.#warnOfFonts(outcome, outcome.document, draft);
        this.#renderWhileTypingIfQuick(elapsedSeconds);
        if (draft !== store.draft) result.markOutdated();
        break;
      case "problem":
        this.#showProblem(outcome, outcome.problem, draft);
        break;
      case "cancelled":
        result.showMessage("Cancelled", "The page no longer waits for this render.");
        this.#button.focus();
        break;
      case "unreachable":
        if (navigator.onLine) {
          result.showMessage("The service cannot be reached", "Check the connection, then render again.");
        } else {
          result.showMessage("You are offline", "The page renders again when the connection is back.");
        }
        break;
      case "unexpected": {
        const advice = "Ask the operator what is in front of the service.";
        result.showMessage("Something else answered", `${outcome.message} ${advice}`);
        break;
      }
      case "not sent":
        result.showMessage("Not rendered", "The page no longer waits for the service.");
    }
  }

  #renderWhileTypingIfQuick(elapsedSeconds: number): void {
    if (elapsedSeconds > QUICK_SECONDS || readStored("local", RENDERS_WHILE_TYPING_KEY) !== null) return;
    this.#whileTyping.checked = true;
    this.#session.rendersWhileTyping = true;
  }

  #showProblem(outcome: SettledOutcome, problem: ServiceProblem, draft: Draft): void {
    const { check, token, result } = this.#parts;
    const findings = findingsOf(
      problem,
      draft.files.map(({ key }) => key),
    );
    if (findings.length > 0) check.mark(findings);
    if (problem.code === "forbidden") token.show("rejected");
    const isCompileFailure = problem.code === "template_compile_failed";
    const compileFailure = isCompileFailure ? compileFailureOf(problem, draft, false) : null;
    result.showProblem({ ...problem, findings, compileFailure });
    if (compileFailure !== null) void this.#findMistake(outcome, problem, draft);
  }

  async #findMistake(outcome: SettledOutcome, problem: ServiceProblem, draft: Draft): Promise<void> {
    const { check, compilerCheck, result } = this.#parts;
    // The compiler here counts all pages, whichever are selected.
    const isPdfRefused = isOfFinishedPdf(problem.detail) && draft.output.members.pages === undefined;
    const { findings, compiles } = await compilerCheck.check(draft, isPdfRefused);
    if (this.#lastOutcome !== outcome || (findings.length === 0 && !compiles)) return;
    check.run();
    const compileFailure = findings.length > 0 ? "named" : compileFailureOf(problem, draft, compiles);
    result.showProblem({ ...problem, findings, compileFailure });
  }

  async #warnOfFonts(outcome: SettledOutcome, document: RenderedDocument, draft: Draft): Promise<void> {
    const { source, data } = draft;
    const files = draft.files.map(({ key, content }) => ({ key, bytes: content.bytes() }));
    const pdf = document.mediaType === "application/pdf" ? document.bytes : null;
    const parts: RenderedText = { source, data, files, pdf };
    const warnings = await this.#fontsWorker.ask(parts);
    // Of what cannot be read, or not in time, nothing is said.
    if (this.#lastOutcome === outcome && typeof warnings !== "string") this.#parts.result.showWarnings(warnings);
  }
}

/** Why Typst may have refused a draft: the service says only that it did, except of a finished PDF. */
function compileFailureOf({ detail }: ServiceProblem, draft: Draft, compiles: boolean): CompileFailure {
  if (isOfFinishedPdf(detail)) return "named";
  const json = new TextEncoder().encode(outputJson(draft.output));
  const output = readOutput(new JsonCursor(json), new ValidationErrorList()) ?? DEFAULT_OUTPUT;
  const mayLackFonts = charactersBeyondTypst([draft.source, draft.data]).length > 0;
  return {
    folder: draftFileStem(draft),
    causes: listCompileFailureCauses(output, { compiles, mayLackFonts }),
    compiles,
  };
}

function nameProblem({ code, detail }: ProblemReport) {
  const title = Object.entries(PROBLEMS).find(([each]) => each === code)?.[1].title ?? code;
  return { code, detail, title, requestId: null };
}

/** A file that the draft does not name bears the draft's name. */
function nameDocument(document: RenderedDocument, draft: Draft): RenderedDocument {
  if (draft.output.members.filename !== undefined) return document;
  const extension = document.fileName.split(".").at(-1) ?? draft.output.format;
  return { ...document, fileName: `${draftFileStem(draft)}.${extension}` };
}

/** The result side of the page: the state of the render or its problem, above the last rendered file. */
import { sizeInWords } from "../../document/size-in-words.ts";
import type { DraftFinding } from "../checks/findings.ts";
import { byId, make, makeButton, saveFile } from "../page/elements.ts";
import type { Wait, WaitReason } from "../render/render-session.ts";
import type { RenderedDocument } from "../render/service-call.ts";
import { DocumentView } from "./document-view.ts";
import { makeProblemView, type ShownProblem } from "./problem-view.ts";

const PROGRESS_UPDATE_MILLISECONDS = 100;
/** A render that takes less time is not worth a flicker above the pages. */
const PROGRESS_DELAY_MILLISECONDS = 400;

const WAIT_REASONS: Readonly<Record<WaitReason, string>> = {
  busy: "The service is busy",
  unreachable: "The service cannot be reached",
};

export class ResultView {
  readonly #section = byId("result", HTMLElement);
  readonly #state = byId("result-state", HTMLElement);
  readonly #warnings = byId("result-warnings", HTMLElement);
  readonly #outdated = byId("result-outdated", HTMLElement);
  readonly #summary = byId("result-summary", HTMLElement);
  readonly #download = byId("download", HTMLButtonElement);
  readonly #status = byId("status", HTMLElement);
  readonly #document = new DocumentView();
  readonly #onFinding: (finding: DraftFinding) => void;
  #progress: { readonly show: (wait: Wait | null) => void; readonly end: () => void } | null = null;

  constructor(onFinding: (finding: DraftFinding) => void) {
    this.#onFinding = onFinding;
    // The keyboard can scroll only an element that can have the focus.
    byId("result-content", HTMLElement).tabIndex = 0;
  }

  scrollIntoView(): void {
    if (matchMedia("(max-width: 60rem)").matches) this.#section.scrollIntoView();
  }

  showNothing(): void {
    this.showMessage("Nothing rendered yet", "Choose an example or write a template, then press Render.");
  }

  forgetProblem(): void {
    if (this.#state.querySelector(".problem") === null) return;
    if (this.#document.isEmpty) this.showNothing();
    else this.#showState();
  }

  showMessage(title: string, text: string): void {
    this.#showState(make("div", { class: "empty muted" }, make("h3", {}, title), make("p", {}, text)));
    if (this.#document.isEmpty) this.#summary.textContent = title;
    this.#announce(`${title}. ${text}`);
  }

  showProgress(wait: Wait | null, onCancel: () => void): void {
    this.#progress ??= this.#startProgress(onCancel);
    this.#progress.show(wait);
  }

  showWarnings(warnings: readonly string[]): void {
    this.#warnings.replaceChildren(...warnings.map((warning) => make("li", {}, warning)));
    if (warnings.length > 0) this.#announce(`Warning: ${warnings.join(" ")}`);
  }

  /** `kind` is what the file is besides its format, such as "PDF/A-2b". */
  async showDocument(document: RenderedDocument, kind: readonly string[], elapsedSeconds: number): Promise<void> {
    this.#showState();
    this.#showOutdated(false);
    this.showWarnings([]);
    const { bytes, mediaType, fileName } = document;
    this.#download.onclick = () => saveFile(bytes, mediaType, fileName);
    this.#download.hidden = false;
    const facts = [sizeInWords(bytes.length), `${elapsedSeconds.toFixed(1)} s`];
    const summarize = (...more: string[]) => {
      const spans = [...kind, ...more, ...facts].flatMap((fact) => [" · ", make("span", {}, fact)]);
      this.#summary.replaceChildren(fileName, ...spans);
    };
    summarize();
    const content = await this.#document.show(document);
    if (content === null) return;
    if (content !== "") summarize(content);
    this.#announce(`Finished: ${this.#summary.textContent}`);
  }

  showProblem(problem: ShownProblem): void {
    this.#showState(makeProblemView(problem, this.#onFinding));
    if (this.#document.isEmpty) this.#summary.textContent = "Not rendered";
    // The warnings are about the last good file.
    this.showWarnings([]);
    this.markOutdated();
    this.#announce(`Not rendered: ${problem.title}. ${problem.detail}`);
  }

  markOutdated(): void {
    if (!this.#document.isEmpty) this.#showOutdated(true);
  }

  #showOutdated(isOutdated: boolean): void {
    this.#outdated.hidden = !isOutdated;
    this.#section.classList.toggle("is-outdated", isOutdated);
  }

  #startProgress(onCancel: () => void) {
    const hasDocument = !this.#document.isEmpty;
    if (!hasDocument) this.#summary.textContent = "Rendering";
    const started = performance.now();
    const label = make("p", { class: "phase muted" });
    const element = make(
      "div",
      { class: "empty muted" },
      make("progress", { "aria-label": "Rendering" }),
      label,
      makeButton("Cancel", { class: "button", id: "cancel" }, onCancel),
    );
    let current: Wait | null = null;
    const update = () => {
      label.textContent = describe(current, started);
    };
    const appear = () => {
      if (element.isConnected) return;
      this.#state.replaceChildren(element);
      this.#announce("Rendering");
    };
    const updates = setInterval(update, PROGRESS_UPDATE_MILLISECONDS);
    const appearance = setTimeout(appear, hasDocument ? PROGRESS_DELAY_MILLISECONDS : 0);
    return {
      show: (wait: Wait | null) => {
        const isNewWait = wait !== null && current === null;
        current = wait;
        update();
        if (!isNewWait) return;
        appear();
        this.#announce(`${WAIT_REASONS[wait.reason]}. The page tries again by itself.`);
      },
      end: () => {
        clearInterval(updates);
        clearTimeout(appearance);
      },
    };
  }

  #showState(...content: readonly HTMLElement[]): void {
    this.#progress?.end();
    this.#progress = null;
    this.#state.replaceChildren(...content);
  }

  #announce(text: string): void {
    this.#status.textContent = text;
  }
}

function describe(wait: Wait | null, startedMilliseconds: number): string {
  const now = performance.now();
  if (wait === null) return `Rendering · ${((now - startedMilliseconds) / 1000).toFixed(1)} s`;
  const seconds = Math.max(0, Math.ceil((wait.untilMilliseconds - now) / 1000));
  return `${WAIT_REASONS[wait.reason]}: next attempt in ${seconds} s`;
}

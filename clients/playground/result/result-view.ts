/**
 * The result side of the page: the state of the render or its problem, above the last rendered file. That file stays
 * until the next one arrives, and is marked as outdated once the draft has changed.
 */
import { sizeInWords } from "../../typescript/size-in-words.ts";
import type { Finding } from "../checks/findings.ts";
import { byId, make, makeButton, saveFile } from "../page/elements.ts";
import type { Progress, WaitReason } from "../render/render-session.ts";
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
  readonly #onFinding: (finding: Finding) => void;
  #progress: { readonly show: (progress: Progress) => void; readonly end: () => void } | null = null;

  /** @param onFinding called when the user wants to go to the field of a finding */
  constructor(onFinding: (finding: Finding) => void) {
    this.#onFinding = onFinding;
    // The keyboard can scroll only an element that can have the focus.
    byId("result-content", HTMLElement).tabIndex = 0;
  }

  /** On a phone the result is below the request. */
  scrollIntoView(): void {
    if (matchMedia("(max-width: 60rem)").matches) this.#section.scrollIntoView();
  }

  showNothing(): void {
    this.showMessage("Nothing rendered yet", "Choose an example or write a template, then press Render.");
  }

  /** Takes away the problem of a draft that has been replaced. */
  forgetProblem(): void {
    if (this.#state.querySelector(".problem") === null) return;
    if (this.#document.isEmpty) this.showNothing();
    else this.#showState();
  }

  /** Shows a message instead of a problem or progress. */
  showMessage(title: string, text: string): void {
    this.#showState(make("div", { class: "empty muted" }, make("h3", {}, title), make("p", {}, text)));
    if (this.#document.isEmpty) this.#summary.textContent = title;
    this.#announce(`${title}. ${text}`);
  }

  /** Shows the progress of a render, or how long it waits. */
  showProgress(progress: Progress, onCancel: () => void): void {
    this.#progress ??= this.#startProgress(onCancel);
    this.#progress.show(progress);
  }

  /** Shows what the author should know about a file that was rendered, one sentence each. */
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

  /** Shows a problem, what to do about it, and the fields to change. */
  showProblem(problem: ShownProblem): void {
    this.#showState(makeProblemView(problem, this.#onFinding));
    if (this.#document.isEmpty) this.#summary.textContent = "Not rendered";
    // They are about the last good file.
    this.showWarnings([]);
    this.markOutdated();
    this.#announce(`Not rendered: ${problem.title}. ${problem.detail}`);
  }

  /** Marks the shown file, if there is one, as no longer the result of the draft. */
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
    const bar = make("progress", { "aria-label": "Rendering" });
    const label = make("p", { class: "phase muted" });
    const cancel = makeButton("Cancel", { class: "button", id: "cancel" }, onCancel);
    const element = make("div", { class: "empty muted is-busy" }, bar, label, cancel);
    let current: Progress = { phase: "rendering" };
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
      show: (progress: Progress) => {
        const isNewWait = progress.phase === "waiting" && current.phase !== "waiting";
        current = progress;
        if (progress.phase === "receiving" && progress.totalBytes) {
          bar.max = progress.totalBytes;
          bar.value = progress.receivedBytes;
        } else {
          bar.removeAttribute("value");
        }
        update();
        if (!isNewWait) return;
        appear();
        this.#announce(`${WAIT_REASONS[progress.reason]}. The page tries again by itself.`);
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

function describe(progress: Progress, startedMilliseconds: number): string {
  switch (progress.phase) {
    case "rendering":
      return `Rendering · ${((performance.now() - startedMilliseconds) / 1000).toFixed(1)} s`;
    case "waiting": {
      const seconds = Math.max(0, Math.ceil((progress.untilMilliseconds - performance.now()) / 1000));
      return `${WAIT_REASONS[progress.reason]}: next attempt in ${seconds} s`;
    }
    case "receiving":
      return `Receiving ${sizeInWords(progress.receivedBytes)}`;
  }
}

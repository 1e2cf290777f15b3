/**
 * The result side of the page: nothing yet, rendering, a file, or a problem.
 *
 * A file is shown as a picture, never as part of the page: an SVG is the work of a template, and only as the source of an
 * `<img>` it runs and loads nothing.
 */
import { unzipSync } from "fflate";
import { adviceFor } from "../client/problem-advice.ts";
import { sizeInWords } from "../client/size-in-words.ts";
import { byId, make, makeButton, saveFile } from "./elements.ts";
import type { Finding } from "./findings.ts";
import type { Progress, RenderedDocument } from "./service-call.ts";

/** A problem to show. One that was found before sending has no request id. */
export interface ShownProblem {
  readonly code: string;
  readonly title: string;
  readonly detail: string;
  readonly requestId: string | null;
  readonly findings: readonly Finding[];
}

const TOKEN_ADVICE = "Set the API token of this deployment (“API token”, at the top) and render again.";
const UNKNOWN_ADVICE = "See the interface reference for this code.";

const ELAPSED_UPDATE_MILLISECONDS = 100;

/** What the result side shows of the last render. */
export class ResultView {
  readonly #content = byId("result-content", HTMLElement);
  readonly #summary = byId("result-summary", HTMLElement);
  readonly #download = byId("download", HTMLButtonElement);
  readonly #status = byId("status", HTMLElement);
  readonly #onFinding: (finding: Finding) => void;
  /** Object URLs and documents of what is shown, to be freed with it. */
  #cleanUps: (() => void)[] = [];

  /** @param onFinding called when somebody wants to go to the field of a finding */
  constructor(onFinding: (finding: Finding) => void) {
    this.#onFinding = onFinding;
    // Keyboards scroll only what they can focus.
    this.#content.tabIndex = 0;
  }

  /** On a phone the result is below the request. */
  scrollIntoView(): void {
    if (matchMedia("(max-width: 60rem)").matches) byId("result", HTMLElement).scrollIntoView();
  }

  showMessage(title: string, text: string): void {
    this.#clear();
    this.#summary.textContent = title;
    this.#content.append(make("div", { class: "empty" }, make("h3", {}, title), make("p", {}, text)));
    this.#announce(`${title}. ${text}`);
  }

  /** Shows that a render goes on. Returns a function that shows its progress. */
  showProgress(onCancel: () => void): (progress: Progress) => void {
    this.#clear();
    this.#announce("Rendering");
    const started = performance.now();
    const bar = make("progress", { "aria-label": "Rendering" });
    const label = make("p", { class: "phase" });
    let phase = describePhase({ phase: "rendering" });
    const show = () => {
      label.textContent = `${phase} · ${((performance.now() - started) / 1000).toFixed(1)} s`;
    };
    const timer = setInterval(show, ELAPSED_UPDATE_MILLISECONDS);
    this.#cleanUps.push(() => clearInterval(timer));
    show();
    const cancel = makeButton("Cancel", { class: "button", id: "cancel" }, onCancel);
    this.#summary.textContent = "Rendering";
    this.#content.append(make("div", { class: "empty is-busy" }, bar, label, cancel));
    return (progress) => {
      phase = describePhase(progress);
      if (progress.phase === "receiving" && progress.totalBytes) {
        bar.max = progress.totalBytes;
        bar.value = progress.receivedBytes;
      }
      show();
    };
  }

  /** Shows a file in place and offers it for download. */
  async showDocument({ bytes, mediaType, fileName }: RenderedDocument, elapsedSeconds: number): Promise<void> {
    this.#clear();
    const url = this.#objectUrl(bytes, mediaType);
    this.#download.onclick = () => saveFile(url, fileName);
    this.#download.hidden = false;
    const facts = [sizeInWords(bytes.length), `${elapsedSeconds.toFixed(1)} s`];
    const summarize = (...more: string[]) => {
      this.#summary.textContent = [fileName, ...more, ...facts].join(" · ");
    };
    summarize();
    if (mediaType === "application/pdf") {
      const pageCount = await this.#showPdf(bytes);
      if (pageCount === null) return;
      summarize(`${pageCount} page${pageCount === 1 ? "" : "s"}`);
    } else if (mediaType === "application/zip") {
      summarize(`${this.#showArchive(bytes)} files`);
    } else {
      this.#content.append(this.#picture(url, fileName));
    }
    this.#announce(`Finished: ${this.#summary.textContent}`);
  }

  /** Shows a problem, what to do, and the fields to change. */
  showProblem({ code, title, detail, requestId, findings }: ShownProblem): void {
    this.#clear();
    this.#summary.textContent = "Not rendered";
    const fields = findings.map((finding) =>
      make(
        "li",
        {},
        makeButton(labelOf(finding), { class: "link-button" }, () => this.#onFinding(finding)),
        ` ${finding.message === detail ? "" : finding.message}`,
      ),
    );
    const facts = [`Code ${code}`, ...(requestId === null ? [] : [`request ${requestId}`])];
    this.#content.append(
      make(
        "div",
        { class: "problem", "data-code": code },
        make("h3", {}, title),
        make("p", {}, detail),
        ...(fields.length === 0 ? [] : [make("ul", {}, ...fields)]),
        make("h4", {}, "What to do"),
        make("p", {}, code === "forbidden" ? TOKEN_ADVICE : (adviceFor(code) ?? UNKNOWN_ADVICE)),
        make("p", { class: "facts" }, facts.join(" · ")),
      ),
    );
    this.#announce(`Not rendered: ${title}. ${detail}`);
  }

  /** The number of pages, or null when another result has taken the place meanwhile. */
  async #showPdf(bytes: Uint8Array): Promise<number | null> {
    const pages = make("div", { class: "sheets" }, make("p", { class: "phase" }, "Opening the PDF"));
    this.#content.append(pages);
    try {
      const { showPdf } = await loadPdfViewer();
      pages.replaceChildren();
      const shown = await showPdf(bytes, pages);
      const close = () => void shown.close().catch(() => {});
      if (!pages.isConnected) {
        close();
        return null;
      }
      this.#cleanUps.push(close);
      return shown.pageCount;
    } catch {
      pages.replaceChildren(
        make("p", { class: "phase" }, "This browser cannot show the PDF here. Download it instead."),
      );
      return 0;
    }
  }

  /** The number of entries of an archive, which it lists. */
  #showArchive(bytes: Uint8Array): number {
    const entries = Object.entries(unzipSync(bytes));
    const preview = make("div", { class: "sheets" });
    const items = entries.map(([name, content]) => {
      const url = this.#objectUrl(content.slice(), name.endsWith(".svg") ? "image/svg+xml" : "image/png");
      const open = makeButton(name, { class: "link-button", "aria-pressed": "false" }, () => {
        for (const each of list.querySelectorAll("button")) each.setAttribute("aria-pressed", String(each === open));
        preview.replaceChildren(this.#picture(url, name));
      });
      const link = make("a", { href: url, download: name, "aria-label": `Download ${name}` }, "Download");
      return make("li", {}, open, make("span", { class: "file-size" }, sizeInWords(content.length)), link);
    });
    const list = make("ul", { class: "entries" }, ...items);
    this.#content.append(list, preview);
    list.querySelector("button")?.click();
    return entries.length;
  }

  #picture(url: string, name: string): HTMLElement {
    return make("figure", { class: "sheet picture" }, make("img", { src: url, alt: `The rendered file ${name}` }));
  }

  #objectUrl(bytes: Uint8Array<ArrayBuffer>, type: string): string {
    const url = URL.createObjectURL(new Blob([bytes], { type }));
    this.#cleanUps.push(() => URL.revokeObjectURL(url));
    return url;
  }

  #announce(text: string): void {
    this.#status.textContent = text;
  }

  #clear(): void {
    for (const cleanUp of this.#cleanUps) cleanUp();
    this.#cleanUps = [];
    this.#download.hidden = true;
    this.#download.onclick = null;
    this.#content.replaceChildren();
    this.#content.scrollTop = 0;
  }
}

function describePhase(progress: Progress): string {
  switch (progress.phase) {
    case "rendering":
      return "Rendering";
    case "waiting":
      return `The service is busy: next attempt in ${Math.ceil(progress.waitSeconds)} s`;
    case "receiving":
      return `Receiving ${sizeInWords(progress.receivedBytes)}`;
  }
}

function labelOf({ place }: Finding): string {
  switch (place.field) {
    case "source":
      return "Template";
    case "data":
      return place.path === undefined || place.path.length === 0 ? "Data" : `Data, ${place.path.join(".")}`;
    case "files":
      return place.keys.length === 0 ? "Files" : `Files, ${place.keys.join(", ")}`;
    default:
      return `Output, ${place.field}`;
  }
}

/** By an address that the bundler leaves alone, because the viewer is a separate bundle. */
function loadPdfViewer(): Promise<typeof import("./pdf-viewer.ts")> {
  const address = "/playground/pdf-viewer.js";
  return import(address);
}

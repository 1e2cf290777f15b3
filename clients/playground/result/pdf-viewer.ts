/** Shows PDFs with pdf.js's viewer components. A separate bundle, larger than the rest of the page, loaded last. */
import { AnnotationMode, getDocument, type PDFDocumentLoadingTask, PDFWorker } from "pdfjs-dist";
import { EventBus, LinkTarget, PDFLinkService, PDFViewer } from "pdfjs-dist/web/pdf_viewer.mjs";
import { make, makeButton } from "../page/elements.ts";

const styles = loadStyles();

/** `auto` is the width of the frame, but no more than 125 %. */
const ZOOMS = [
  ["auto", "Automatic"],
  ["page-width", "Page width"],
  ["page-fit", "Whole page"],
  ...["0.5", "0.75", "1", "1.25", "1.5", "2", "3", "4"].map((scale) => [scale, `${Number(scale) * 100} %`] as const),
] as const;

/** A PDF that is shown, or about to be shown. */
interface ShownPdf {
  readonly container: HTMLDivElement;
  readonly viewer: PDFViewer;
  readonly task: PDFDocumentLoadingTask;
  readonly stop: AbortController;
}

/** Shows one PDF after the other, each at the position and zoom of the previous one. */
export class PdfView {
  readonly element: HTMLElement;
  readonly #worker: PDFWorker;
  readonly #frame = make("div", { class: "pdf-frame" });
  readonly #pageInput = make("input", {
    type: "text",
    inputmode: "numeric",
    "aria-label": "Page",
    autocomplete: "off",
  });
  readonly #pageCount = make("span", { class: "pdf-page-count" });
  readonly #zoom = make(
    "select",
    { "aria-label": "Zoom" },
    ...ZOOMS.map(([value, label]) => make("option", { value }, label)),
  );
  #shown: ShownPdf | null = null;
  #loading: ShownPdf | null = null;

  /** @param port the worker of pdf.js, which all PDFs share */
  constructor(port: Worker) {
    this.#worker = PDFWorker.create({ port });
    const toolbar = make(
      "div",
      { class: "pdf-toolbar row bar muted medium", role: "toolbar", "aria-label": "PDF" },
      make("span", {}, "Page"),
      this.#pageInput,
      this.#pageCount,
      makeButton("−", { class: "button", "aria-label": "Zoom out" }, () => this.#shown?.viewer.decreaseScale()),
      this.#zoom,
      makeButton("+", { class: "button", "aria-label": "Zoom in" }, () => this.#shown?.viewer.increaseScale()),
    );
    this.element = make("div", { class: "pdf stack" }, toolbar, this.#frame);
    this.#pageInput.addEventListener("change", () => {
      const viewer = this.#shown?.viewer;
      if (viewer === undefined) return;
      const number = Number(this.#pageInput.value);
      if (Number.isInteger(number) && number >= 1 && number <= viewer.pagesCount) viewer.currentPageNumber = number;
      this.#pageInput.value = String(viewer.currentPageNumber);
    });
    this.#zoom.addEventListener("change", () => {
      if (this.#shown !== null) this.#shown.viewer.currentScaleValue = this.#zoom.value;
    });
  }

  /**
   * Shows a PDF as soon as the page in view is drawn; until then, the previous one stays.
   *
   * @returns the number of pages, or null if another PDF has been requested meanwhile
   * @throws when pdf.js cannot read it
   */
  async show(bytes: Uint8Array): Promise<number | null> {
    await styles;
    // pdf.js takes over the buffer. Its WebAssembly modules decode JPEG 2000 and ICC profiles; the page's policy
    // forbids them.
    const task = getDocument({
      data: bytes.slice(),
      worker: this.#worker,
      useWasm: false,
      useWorkerFetch: false,
      enableXfa: false,
    });
    const { pdf, isAsked } = await this.#load(task);
    if (!isAsked || pdf === null) return null;
    const place = this.#place();
    const shown = this.#makeViewer(task);
    this.#loading = shown;
    const { viewer, container, stop } = shown;
    const drawn = new Promise<boolean>((resolve) => {
      viewer.eventBus.on("pagerendered", () => resolve(true), { once: true, signal: stop.signal });
      stop.signal.addEventListener("abort", () => resolve(false));
    });
    viewer.eventBus.on(
      "pagesinit",
      () => {
        viewer.currentScaleValue = place.zoom;
        container.scrollTop = place.scrollTop;
        container.scrollLeft = place.scrollLeft;
      },
      { signal: stop.signal },
    );
    viewer.setDocument(pdf);
    viewer.linkService.setDocument(pdf);
    if (!(await drawn)) return null;
    this.#loading = null;
    if (this.#shown !== null) end(this.#shown);
    this.#shown = shown;
    container.classList.remove("is-loading");
    this.#follow(shown);
    return pdf.numPages;
  }

  close(): void {
    for (const each of [this.#shown, this.#loading]) if (each !== null) end(each);
    this.#shown = null;
    this.#loading = null;
    this.#task = null;
    this.element.remove();
  }

  /** The PDF that was requested last. */
  #task: PDFDocumentLoadingTask | null = null;

  async #load(task: PDFDocumentLoadingTask) {
    this.#task = task;
    if (this.#loading !== null) end(this.#loading);
    this.#loading = null;
    try {
      const pdf = await task.promise;
      const isAsked = this.#task === task;
      if (!isAsked) await task.destroy();
      return { pdf, isAsked };
    } catch (error) {
      if (this.#task === task) throw error;
      return { pdf: null, isAsked: false };
    }
  }

  #makeViewer(task: PDFDocumentLoadingTask): ShownPdf {
    const stop = new AbortController();
    const eventBus = new EventBus();
    const linkService = new PDFLinkService({
      eventBus,
      externalLinkTarget: LinkTarget.BLANK,
      externalLinkRel: "noopener noreferrer nofollow",
    });
    const pages = make("div", { class: "pdfViewer" });
    const container = make(
      "div",
      { class: "pdf-pages is-loading", tabindex: "0", role: "region", "aria-label": "Pages" },
      pages,
    );
    this.#frame.append(container);
    const viewer = new PDFViewer({
      container,
      viewer: pages,
      eventBus,
      linkService,
      annotationMode: AnnotationMode.ENABLE,
      annotationEditorMode: NO_EDITING,
    });
    linkService.setViewer(viewer);
    return { container, viewer, task, stop };
  }

  #place() {
    if (this.#shown === null) return { zoom: "auto", scrollTop: 0, scrollLeft: 0 };
    const { container, viewer } = this.#shown;
    return { zoom: viewer.currentScaleValue, scrollTop: container.scrollTop, scrollLeft: container.scrollLeft };
  }

  #follow({ viewer, stop: { signal } }: ShownPdf): void {
    const showZoom = () => {
      const value = viewer.currentScaleValue;
      const known = [...this.#zoom.options].find((option) => option.value === value);
      const other = this.#zoom.querySelector<HTMLOptionElement>("[data-other]");
      if (known !== undefined && known !== other) {
        other?.remove();
      } else {
        const option = other ?? make("option", { "data-other": "" });
        option.value = value;
        option.textContent = `${Math.round(viewer.currentScale * 100)} %`;
        this.#zoom.append(option);
      }
      this.#zoom.value = value;
    };
    const showPage = () => {
      this.#pageInput.value = String(viewer.currentPageNumber);
      this.#pageCount.textContent = `of ${viewer.pagesCount}`;
    };
    viewer.eventBus.on("pagechanging", showPage, { signal });
    viewer.eventBus.on("scalechanging", showZoom, { signal });
    // A zoom that fits the frame follows the size of the frame.
    const observer = new ResizeObserver(() => {
      const { currentScaleValue } = viewer;
      if (["auto", "page-width", "page-fit"].includes(currentScaleValue)) viewer.currentScaleValue = currentScaleValue;
      viewer.update();
    });
    observer.observe(this.#frame);
    signal.addEventListener("abort", () => observer.disconnect());
    showPage();
    showZoom();
  }
}

/** `AnnotationEditorType.DISABLE` of pdf.js. */
const NO_EDITING = -1;

function end({ container, task, stop }: ShownPdf): void {
  stop.abort();
  container.remove();
  task.destroy().catch(() => {});
}

/** The style sheet of the components. Without it, pages have no size. */
function loadStyles(): Promise<void> {
  return new Promise((resolve) => {
    const link = make("link", { rel: "stylesheet", href: "/playground/pdf-viewer.css" });
    link.addEventListener("load", () => resolve());
    link.addEventListener("error", () => resolve());
    document.head.append(link);
  });
}

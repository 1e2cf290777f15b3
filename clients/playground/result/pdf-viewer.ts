/** Shows PDFs with pdf.js's viewer components. A separate bundle, larger than the rest of the page, loaded last. */
import { AnnotationMode, getDocument, PDFWorker } from "pdfjs-dist";
import { EventBus, LinkTarget, PDFLinkService, type PDFPageView, PDFViewer } from "pdfjs-dist/web/pdf_viewer.mjs";
import { make, makeButton } from "../page/elements.ts";

const styles = loadStyles();

/** `auto` is the width of the frame, but no more than 125 %. */
const ZOOMS = [
  ["auto", "Automatic"],
  ["page-width", "Page width"],
  ["page-fit", "Whole page"],
  ...["0.5", "0.75", "1", "1.25", "1.5", "2", "3", "4"].map((scale) => [scale, `${Number(scale) * 100} %`] as const),
] as const;

interface ShownPdf {
  readonly container: HTMLDivElement;
  readonly viewer: PDFViewer;
  /** Takes it away. */
  readonly stop: AbortController;
}

export class PdfView {
  readonly element: HTMLElement;
  readonly #worker: PDFWorker;
  readonly #frame = make("div", { class: "pdf-frame" });
  readonly #page = make("input", { type: "text", inputmode: "numeric", "aria-label": "Page", autocomplete: "off" });
  readonly #pageCount = make("span", { class: "pdf-page-count" });
  readonly #zoom = make(
    "select",
    { "aria-label": "Zoom" },
    ...ZOOMS.map(([value, label]) => make("option", { value }, label)),
  );
  #shown: ShownPdf | null = null;
  /** Of the PDF that was requested last. */
  #latest = new AbortController();

  constructor(port: Worker) {
    this.#worker = PDFWorker.create({ port });
    const toolbar = make(
      "div",
      { class: "pdf-toolbar row bar muted medium", role: "toolbar", "aria-label": "PDF" },
      make("span", {}, "Page"),
      this.#page,
      this.#pageCount,
      makeButton("−", { class: "button", "aria-label": "Zoom out" }, () => this.#shown?.viewer.decreaseScale()),
      this.#zoom,
      makeButton("+", { class: "button", "aria-label": "Zoom in" }, () => this.#shown?.viewer.increaseScale()),
    );
    this.element = make("div", { class: "pdf stack" }, toolbar, this.#frame);
    this.#page.addEventListener("change", () => {
      const viewer = this.#shown?.viewer;
      if (viewer === undefined) return;
      const number = Number(this.#page.value);
      if (Number.isInteger(number) && number >= 1 && number <= viewer.pagesCount) viewer.currentPageNumber = number;
      this.#page.value = String(viewer.currentPageNumber);
    });
    this.#zoom.addEventListener("change", () => {
      if (this.#shown !== null) this.#shown.viewer.currentScaleValue = this.#zoom.value;
    });
  }

  /** Shows a PDF once the page in view is drawn, at the previous place; null if another was requested meanwhile. */
  async show(bytes: Uint8Array): Promise<number | null> {
    await styles;
    // pdf.js takes over the buffer. The page's policy forbids its WebAssembly, for JPEG 2000 and ICC profiles.
    const task = getDocument({
      data: bytes.slice(),
      worker: this.#worker,
      useWasm: false,
      useWorkerFetch: false,
      enableXfa: false,
    });
    // A document that is still loading gives way; the one that is shown stays until this one is drawn.
    if (this.#latest !== this.#shown?.stop) this.#latest.abort();
    const stop = new AbortController();
    this.#latest = stop;
    stop.signal.addEventListener("abort", () => void task.destroy().catch(() => {}));
    const pdf = await task.promise.catch((error: unknown) => {
      if (!stop.signal.aborted) throw error;
      return null;
    });
    if (pdf === null || stop.signal.aborted) return null;
    const { container, viewer } = this.#makeViewer(stop.signal);
    const drawn = Promise.withResolvers<boolean>();
    viewer.eventBus.on("pagerendered", () => drawn.resolve(true), { once: true, signal: stop.signal });
    stop.signal.addEventListener("abort", () => drawn.resolve(false));
    const { zoom, scrollTop, scrollLeft } = this.#place();
    const restorePlace = () => {
      viewer.currentScaleValue = zoom;
      container.scrollTo(scrollLeft, scrollTop);
    };
    viewer.eventBus.on("pagesinit", restorePlace, { signal: stop.signal });
    viewer.setDocument(pdf);
    viewer.linkService.setDocument(pdf);
    if (!(await drawn.promise)) return null;
    this.#shown?.stop.abort();
    this.#shown = { container, viewer, stop };
    container.classList.remove("is-loading");
    this.#follow(this.#shown);
    return pdf.numPages;
  }

  close(): void {
    this.#latest.abort();
    this.#shown?.stop.abort();
    this.#shown = null;
    this.element.remove();
  }

  #makeViewer(signal: AbortSignal) {
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
    signal.addEventListener("abort", () => container.remove());
    const viewer = new PDFViewer({
      container,
      viewer: pages,
      eventBus,
      linkService,
      annotationMode: AnnotationMode.ENABLE,
      annotationEditorMode: NO_EDITING,
    });
    linkService.setViewer(viewer);
    eventBus.on("annotationlayerrendered", async ({ source }: { readonly source: PDFPageView }) => {
      const tree: unknown = await source.structTreeLayer?.render();
      const layer = source.annotationLayer?.div;
      if (tree instanceof Element && layer) nameLinks(tree, layer);
    });
    return { container, viewer };
  }

  #place() {
    if (this.#shown === null) return { zoom: "auto", scrollTop: 0, scrollLeft: 0 };
    const { container, viewer } = this.#shown;
    return { zoom: viewer.currentScaleValue, scrollTop: container.scrollTop, scrollLeft: container.scrollLeft };
  }

  #follow({ viewer, stop: { signal } }: ShownPdf): void {
    const other = make("option");
    const showZoom = () => {
      other.remove();
      const value = viewer.currentScaleValue;
      this.#zoom.value = value;
      if (this.#zoom.value === value) return;
      other.value = value;
      other.textContent = `${Math.round(viewer.currentScale * 100)} %`;
      this.#zoom.append(other);
      this.#zoom.value = value;
    };
    const showPage = () => {
      this.#page.value = String(viewer.currentPageNumber);
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
    signal.addEventListener("abort", () => {
      observer.disconnect();
      other.remove();
    });
    showPage();
    showZoom();
  }
}

/** `AnnotationEditorType.DISABLE` of pdf.js. */
const NO_EDITING = -1;

/**
 * Gives the links of a page their words, which screen readers otherwise read beside them. pdf.js has a link own elements of
 * the tree of tags; these have no boxes, so that Chromium does not follow. What they own has some. A link in several
 * parts, as on two lines, is read and focused once.
 */
function nameLinks(tree: Element, layer: Element): void {
  const anchors = new Map(Array.from(layer.querySelectorAll("a"), (anchor) => [anchor.id, anchor]));
  const ownedBy = (element: Element) => element.getAttribute("aria-owns") ?? "";
  const isAnchor = (element: Element) => anchors.has(ownedBy(element));
  const links = new Set([...tree.querySelectorAll("[aria-owns]")].filter(isAnchor).map((owner) => owner.parentElement));
  for (const link of links) {
    const parts = [...(link?.querySelectorAll("[aria-owns]") ?? [])];
    const [anchor, ...others] = parts.flatMap((part) => anchors.get(ownedBy(part)) ?? []);
    const words = parts.filter((part) => !isAnchor(part) && !part.hasAttribute("aria-label"));
    const picture = link?.querySelector("[aria-label]")?.getAttribute("aria-label");
    if (words.length > 0) anchor?.setAttribute("aria-owns", words.map(ownedBy).join(" "));
    else if (picture) anchor?.setAttribute("aria-label", picture);
    for (const word of words) word.removeAttribute("aria-owns");
    for (const other of others) {
      other.ariaHidden = "true";
      other.tabIndex = -1;
    }
    link?.removeAttribute("role");
  }
}

/** The style sheet of the components. Without it, pages have no size. */
function loadStyles(): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const link = make("link", { rel: "stylesheet", href: "playground/pdf-viewer.css" });
  link.addEventListener("load", () => resolve());
  link.addEventListener("error", () => resolve());
  document.head.append(link);
  return promise;
}

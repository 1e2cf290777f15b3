/**
 * Shows the pages of a PDF by pdf.js. A separate bundle, which the page loads with the first PDF: it is five times as large
 * as everything else.
 */
import { GlobalWorkerOptions, getDocument, type PDFDocumentProxy } from "pdfjs-dist";

GlobalWorkerOptions.workerSrc = "/playground/pdf-worker.js";

/** Sharper than any screen is of no use, and a canvas costs four bytes per pixel. */
const MAX_PIXEL_RATIO = 2;

/** Further pages can be downloaded. Each shown page is a canvas of some megabytes. */
const MAX_SHOWN_PAGES = 100;

export interface ShownPdf {
  readonly pageCount: number;
  /** Frees the document's memory. */
  close(): Promise<void>;
}

/**
 * Shows a PDF in an element, each page as it comes into view.
 *
 * @throws when pdf.js cannot read it
 */
export async function showPdf(bytes: Uint8Array, container: HTMLElement): Promise<ShownPdf> {
  // pdf.js takes the buffer over. Its WebAssembly modules decode JPEG 2000 and ICC profiles; the page's policy has none.
  const task = getDocument({ data: bytes.slice(), useWasm: false, useWorkerFetch: false, enableXfa: false });
  const document = await task.promise;
  const shown = Math.min(document.numPages, MAX_SHOWN_PAGES);
  const observer = new IntersectionObserver(
    (entries) => {
      for (const { isIntersecting, target } of entries) {
        if (!isIntersecting || !(target instanceof HTMLElement)) continue;
        observer.unobserve(target);
        // A document that is closed meanwhile ends its pages.
        drawPage(document, Number(target.dataset.page), target).catch(() => target.classList.add("is-broken"));
      }
    },
    { root: null, rootMargin: "600px" },
  );
  for (let number = 1; number <= shown; number++) {
    const figure = await placeholder(document, number);
    container.append(figure);
    observer.observe(figure);
  }
  return {
    pageCount: document.numPages,
    close: async () => {
      observer.disconnect();
      await task.destroy();
    },
  };
}

/** An empty sheet of the page's proportions, so that nothing moves when it is drawn. */
async function placeholder(pdf: PDFDocumentProxy, number: number): Promise<HTMLElement> {
  const { width, height } = (await pdf.getPage(number)).getViewport({ scale: 1 });
  const figure = document.createElement("figure");
  figure.className = "sheet";
  figure.dataset.page = String(number);
  const canvas = document.createElement("canvas");
  canvas.setAttribute("role", "img");
  canvas.setAttribute("aria-label", `Page ${number} of ${pdf.numPages}`);
  canvas.width = Math.round(width);
  canvas.height = Math.round(height);
  figure.style.aspectRatio = `${width} / ${height}`;
  // In CSS pixels, a PDF's point is 4/3.
  figure.style.maxWidth = `${Math.round((width * 4) / 3)}px`;
  figure.append(canvas);
  return figure;
}

async function drawPage(pdf: PDFDocumentProxy, number: number, figure: HTMLElement): Promise<void> {
  const canvas = figure.querySelector("canvas");
  if (canvas === null) return;
  const page = await pdf.getPage(number);
  const { width } = page.getViewport({ scale: 1 });
  const ratio = Math.min(devicePixelRatio, MAX_PIXEL_RATIO);
  const viewport = page.getViewport({ scale: (figure.clientWidth * ratio) / width });
  canvas.width = Math.round(viewport.width);
  canvas.height = Math.round(viewport.height);
  await page.render({ canvas, viewport }).promise;
  const { items } = await page.getTextContent();
  const text = items.map((item) => ("str" in item ? `${item.str}${item.hasEOL ? "\n" : ""}` : "")).join("");
  // What screen readers read, and what the browser's own search finds.
  const reading = document.createElement("figcaption");
  reading.className = "visually-hidden";
  reading.textContent = text;
  figure.append(reading);
  figure.dataset.drawn = "true";
}

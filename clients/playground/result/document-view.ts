/** Shows a rendered file. An SVG only as the source of an `<img>`, where it can neither run nor load anything. */
import { LIMIT_SETTINGS } from "../../../rules/limits.ts";
import type { ArchiveEntry, ArchiveFault } from "../../document/archive-entries.ts";
import { countInWords, sizeInWords } from "../../document/size-in-words.ts";
import { unpackArchive } from "../files/folder-archive.ts";
import { DEPLOYMENT } from "../page/deployment.ts";
import { byId, make, makeButton } from "../page/elements.ts";
import type { RenderedDocument } from "../render/service-call.ts";
import type { PdfView } from "./pdf-viewer.ts";

const MAX_ARCHIVED_PAGES = LIMIT_SETTINGS.max_output_files.max;

export class DocumentView {
  readonly #host = byId("result-document", HTMLElement);
  #pdf: PdfView | null = null;
  #urls: string[] = [];
  /** Counts the files, so that a file that is read slowly does not replace a newer one. */
  #count = 0;

  get isEmpty(): boolean {
    return this.#host.childElementCount === 0;
  }

  /** Returns a summary such as "3 pages", which may be empty; null if another file has replaced this one meanwhile. */
  async show({ bytes, mediaType, fileName, maxBytes }: RenderedDocument): Promise<string | null> {
    const count = ++this.#count;
    if (mediaType === "application/pdf") return this.#showPdf(bytes, count);
    const bounds = { maxEntries: MAX_ARCHIVED_PAGES, maxBytes };
    const isArchive = mediaType === "application/zip";
    const entries = isArchive ? await unpackArchive({ archive: bytes, bounds, of: "pages" }) : null;
    if (count !== this.#count) return null;
    const before = this.#urls.splice(0);
    const content = entries === null ? [makeSheet(this.#url(bytes, mediaType), fileName)] : this.#archive(entries);
    this.#replace(make("div", { class: "pictures" }, ...content));
    for (const url of before) URL.revokeObjectURL(url);
    return Array.isArray(entries) ? `${entries.length} files` : "";
  }

  async #showPdf(bytes: Uint8Array, count: number): Promise<string | null> {
    if (this.#pdf === null) this.#host.replaceChildren(makePhase("Opening the PDF"));
    try {
      const { viewer, port } = await loadPdfViewer();
      if (count !== this.#count) return null;
      if (this.#pdf === null) {
        this.#pdf = new viewer.PdfView(port);
        this.#host.replaceChildren(this.#pdf.element);
        for (const url of this.#urls.splice(0)) URL.revokeObjectURL(url);
      }
      const pageCount = await this.#pdf.show(bytes);
      return pageCount === null ? null : countInWords(pageCount, "page");
    } catch {
      if (count !== this.#count) return null;
      this.#replace(makePhase("This browser cannot show the PDF here. Download it instead."));
      return "";
    }
  }

  #replace(content: HTMLElement): void {
    this.#pdf?.close();
    this.#pdf = null;
    this.#host.replaceChildren(content);
  }

  #archive(entries: readonly ArchiveEntry[] | ArchiveFault): HTMLElement[] {
    if (typeof entries === "string") {
      return [makePhase(`The archive cannot be opened here: it is ${entries}. Download it instead.`)];
    }
    const preview = make("div");
    const items = entries.map(({ name, bytes: content }) => {
      const url = this.#url(content, name.endsWith(".svg") ? "image/svg+xml" : "image/png");
      const open = makeButton(name, { class: "link-button", "aria-pressed": "false" }, () => {
        for (const each of list.querySelectorAll("button")) each.setAttribute("aria-pressed", String(each === open));
        preview.replaceChildren(makeSheet(url, name));
      });
      const link = make("a", { href: url, download: name, "aria-label": `Download ${name}` }, "Download");
      const size = make("span", { class: "file-size notice" }, sizeInWords(content.length));
      return make("li", { class: "row" }, open, size, link);
    });
    const list = make("ul", { class: "entries list" }, ...items);
    list.querySelector("button")?.click();
    return [list, preview];
  }

  #url(bytes: Uint8Array<ArrayBuffer>, type: string): string {
    const url = URL.createObjectURL(new Blob([bytes], { type }));
    this.#urls.push(url);
    return url;
  }
}

function makeSheet(url: string, name: string): HTMLElement {
  return make("figure", { class: "sheet" }, make("img", { src: url, alt: `The rendered file ${name}` }));
}

function makePhase(text: string): HTMLElement {
  return make("p", { class: "phase muted" }, text);
}

const PDF_VIEWER_ADDRESS = `${DEPLOYMENT}/playground/pdf-viewer.js`;
let pdfParts: Promise<{ readonly viewer: typeof import("./pdf-viewer.ts"); readonly port: Worker }> | undefined;
/** Browsers remember that a module could not be loaded, so the next attempt uses another URL. */
let pdfFailures = 0;

/** Loads pdf.js's viewer and worker once, at the same time: each takes seconds on a slow line. */
export async function loadPdfViewer() {
  const address = pdfFailures === 0 ? PDF_VIEWER_ADDRESS : `${PDF_VIEWER_ADDRESS}?${pdfFailures}`;
  pdfParts ??= Promise.all([import(address), startWorker()]).then(([viewer, port]) => ({ viewer, port }));
  try {
    return await pdfParts;
  } catch (error) {
    pdfParts = undefined;
    pdfFailures++;
    throw error;
  }
}

function startWorker(): Promise<Worker> {
  const { promise, resolve, reject } = Promise.withResolvers<Worker>();
  const worker = new Worker("playground/pdf-worker.js", { type: "module" });
  worker.addEventListener("message", () => resolve(worker), { once: true });
  worker.addEventListener("error", () => reject(new Error("the worker of pdf.js cannot be loaded")), { once: true });
  return promise;
}

/** A render in each format, whose bytes are inspected, a large one, and how long a small one takes. */
import { FILE_MEDIA_TYPES, type FileExtension } from "../../../protocol/file-types.ts";
import { PassingFile } from "../../../protocol/whole-file.ts";
import { checkRequest } from "../../../rules/published-rules.ts";
import { archiveEntries } from "../../document/archive-entries.ts";
import { sizeInWords } from "../../document/size-in-words.ts";
import { isOk } from "./answers.ts";
import { type CheckGroup, defineCheck, knownConstraints, observe, passCheck, skipCheck } from "./check.ts";
import { EDGE_LOG, failure, HIGHER_BODY_LIMIT, warning } from "./faults.ts";

const pagesOf = (...texts: readonly string[]) => `#set document(title: "Doctor")
#set page(width: 120pt, height: 80pt, margin: 4pt)
${texts.join("\n#pagebreak()\n")}`;
/** The smallest render, for latency and for the comparison of origins. */
export const SMALL_RENDER = { source: pagesOf("Doctor"), output: { format: "pdf" } };
/** More than many proxies accept by default (1 MiB), in strings short enough for every deployment. */
const LARGE_DATA = Array.from({ length: 40 }, () => "x".repeat(32 * 1024));
const SIZED_BY_DATA =
  '#set page(width: data.width * 1pt, height: (int(read("lib/height.txt")) + read("lib/bytes.bin", encoding: none).len()) * 1pt, margin: 0pt)';
const SIZED_BY_LARGE_DATA = "#set page(width: data.len() * 1pt, height: (data.last().len() / 1024) * 1pt, margin: 0pt)";
/** Above this, people notice. */
const SLOW_MILLISECONDS = 5000;

const RENDER_FAULTS = {
  "render-failed": failure`Typst was killed on a backend: the host is out of memory, or the sandbox stops a system call.
    → Find the request id in the backend's log, and look for the OOM killer in the kernel's.`,
  "render-timeout": failure`A page of one word exceeded the render timeout: the host is overloaded, or its disk is slow.
    → Look at load, processor limits and service_render_phase_seconds of the backends.`,
  "does-not-compile": failure`A correct template does not compile: Typst has another version, or far too little memory.
    → Compare service_backend_info with the version that is needed, and SERVICE_RENDER_MEMORY_BYTES.`,
  "wrong-bytes": failure`The file is not what was asked for: a proxy changes it, or a backend has another Typst.
    → Switch off whatever changes responses below /v1/ (image conversion, minification).`,
  "no-backend": failure`No origin accepts a render: origins-up says why, unless /metrics is closed to the doctor.
    → If it is, look for "a backend did not answer" in the edge's log: ${EDGE_LOG}.`,
  "behind-limit": failure`A proxy in front of the backends limits bodies, nginx to 1 MiB. → ${HIGHER_BODY_LIMIT}`,
};

/** What a file contains, read as Latin-1. */
interface Form {
  readonly type: FileExtension;
  readonly contains: readonly string[];
}

const PDF: Form = { type: "pdf", contains: ["/MediaBox[0 0 120 80]", "/Count 2", "<pdfaid:part>2<"] };
const SVG: Form = { type: "svg", contains: ['viewBox="0 0 120 80"'] };
/** Rendered at 72 ppi, so a pixel is a point. */
const png = (width: number, height: number): Form => ({
  type: "png",
  contains: [`IHDR${[width, height].map((pixels) => `\0\0\0${String.fromCharCode(pixels)}`).join("")}`],
});

interface RenderCase {
  readonly source: string;
  readonly files?: object;
  readonly data?: unknown;
  readonly output: object;
  readonly type: keyof typeof FILE_MEDIA_TYPES;
  /** Of the file, or of each in the archive. */
  readonly form: Form;
}

function defineRenderCheck(id: string, title: string, { type, form, ...request }: RenderCase) {
  return defineCheck(id, title, {
    needs: [id === "render-pdf" ? "token" : "render-pdf"],
    faults: RENDER_FAULTS,
    faultOfCode: {
      service_unavailable: id === "render-large" ? "behind-limit" : "no-backend",
      render_failed: "render-failed",
      render_timeout: "render-timeout",
      template_compile_failed: "does-not-compile",
    },
    async run(edge, examination) {
      const judged = checkRequest(request, knownConstraints(examination));
      if (judged.verdict === "refused") return skipCheck(`over a limit of this deployment (${judged.problem.code})`);
      const exchange = await edge.render(request);
      if (!isOk(exchange)) return exchange;
      const { body, milliseconds } = exchange;
      const sent = exchange.headers.get("Content-Type");
      if (sent !== FILE_MEDIA_TYPES[type]) return observe("wrong-bytes", `${sent}, not ${FILE_MEDIA_TYPES[type]}`);
      const wrong = type === "zip" ? wrongInArchive(body, form) : wrongInFile(body, form);
      if (wrong !== null) return observe("wrong-bytes", wrong);
      return passCheck(`${sizeInWords(body.length)} after ${milliseconds} ms`, { milliseconds, bytes: body.length });
    },
  });
}

function wrongInArchive(bytes: Buffer, form: Form): string | null {
  const entries = archiveEntries(bytes, { maxEntries: 100, maxBytes: 1024 * 1024 }, () => true);
  if (typeof entries === "string" || entries.length !== 2) return "it is not a ZIP of two files";
  return entries.map((entry) => wrongInFile(entry.bytes, form)).find((wrong) => wrong !== null) ?? null;
}

function wrongInFile(bytes: Uint8Array, { type, contains }: Form): string | null {
  const file = new PassingFile(type);
  file.add(bytes);
  if (file.hasBegun === false) return "it begins like a file of another type";
  if (!file.isWhole) return "it is cut off";
  const text = Buffer.from(bytes).toString("latin1");
  return contains.every((part) => text.includes(part)) ? null : "its pages are not those that were asked for";
}

export const RENDERS: CheckGroup = {
  name: "Renders",
  needs: ["render-pdf"],
  checks: [
    defineRenderCheck("render-pdf", "a PDF/A-2b of two pages", {
      source: pagesOf("One", "Two"),
      output: { format: "pdf", standards: ["a-2b"] },
      type: "pdf",
      form: PDF,
    }),
    defineRenderCheck("render-png", "a PNG sized by data, a text file and a Base64 file", {
      source: SIZED_BY_DATA,
      files: {
        "lib/height.txt": { encoding: "text", content: "40" },
        "lib/bytes.bin": { encoding: "base64", content: "AP+AAf8=" },
      },
      data: { width: 33 },
      output: { format: "png", ppi: 72 },
      type: "png",
      form: png(33, 45),
    }),
    defineRenderCheck("render-svg", "an SVG", {
      source: pagesOf("Doctor"),
      output: { format: "svg" },
      type: "svg",
      form: SVG,
    }),
    defineRenderCheck("render-zip-png", "a ZIP of two PNG", {
      source: pagesOf("One", "Two"),
      output: { format: "png", ppi: 72, archive: "zip", pages: "1-2" },
      type: "zip",
      form: png(120, 80),
    }),
    defineRenderCheck("render-large", "a request of 1.3 MiB", {
      source: SIZED_BY_LARGE_DATA,
      data: LARGE_DATA,
      output: { format: "png", ppi: 72 },
      type: "png",
      form: png(40, 32),
    }),
    defineCheck("latency", "how long a small render takes", {
      faults: {
        slow: warning`A page of one word takes over five seconds: the way, the queue or the hosts are slow.
          → See which phase is long; look at load and disk of the backends, and SERVICE_WARM_RENDERS.`,
      },
      async run(edge) {
        const health = await edge.get("health");
        const render = await edge.render(SMALL_RENDER);
        if (!isOk(health) || !isOk(render)) return skipCheck("not every request was answered");
        const [healthMilliseconds, renderMilliseconds] = [health.milliseconds, render.milliseconds];
        const phases = (render.headers.get("Server-Timing") ?? "").matchAll(/([\w-]+)[^,]*?;\s*dur="?([\d.]+)/g);
        const parts = Array.from(phases, ([, name, duration]) => `, ${name} ${duration} ms`);
        const seen = `${renderMilliseconds} ms: network and edge ${healthMilliseconds} ms${parts.join("")}`;
        const fault = renderMilliseconds > SLOW_MILLISECONDS ? "slow" : null;
        return observe(fault, seen, { healthMilliseconds, renderMilliseconds });
      },
    }),
  ],
};

/** A render in each format, whose bytes are inspected, and a large one. */
import { FILE_MEDIA_TYPES, type FileExtension } from "../../../protocol/file-types.ts";
import { PassingFile } from "../../../protocol/whole-file.ts";
import { checkRequest } from "../../../rules/published-rules.ts";
import { sizeInWords } from "../../document/size-in-words.ts";
import { isOk } from "./answers.ts";
import { type CheckGroup, defineCheck, knownConstraints, observe, skipCheck } from "./check.ts";
import { EDGE_LOG, failure, HIGHER_BODY_LIMIT } from "./faults.ts";

const pagesOf = (...texts: readonly string[]) => `#set document(title: "Doctor")
#set page(width: 120pt, height: 80pt, margin: 4pt)
${texts.join("\n#pagebreak()\n")}`;
/** The smallest render, for the comparison of origins. */
export const SMALL_RENDER = { source: pagesOf("Doctor"), output: { format: "pdf" } };
/** More than many proxies accept by default (1 MiB), in strings short enough for every deployment. */
const LARGE_DATA = Array.from({ length: 40 }, () => "x".repeat(32 * 1024));
const SIZED_BY_ALL =
  '#set page(width: data.len() * 1pt, height: (int(read("lib/height.txt")) + read("lib/bytes.bin", encoding: none).len()) * 1pt, margin: 0pt)';

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

interface Form {
  readonly type: FileExtension;
  /** Of the file, read as Latin-1. */
  readonly contains: readonly string[];
}

const PDF: Form = { type: "pdf", contains: ["/MediaBox[0 0 120 80]", "/Count 2", "<pdfaid:part>2<"] };
const SVG: Form = { type: "svg", contains: ['viewBox="0 0 120 80"'] };
/** Of 40 to 32 pixels: at 72 ppi, a pixel is a point. */
const PNG: Form = { type: "png", contains: ["IHDR\0\0\0\x28\0\0\0\x20"] };

interface RenderCase {
  readonly source: string;
  readonly files?: object;
  readonly data?: unknown;
  readonly output: object;
  readonly form: Form;
}

function defineRenderCheck(id: string, title: string, { form, ...request }: RenderCase) {
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
      const { body, milliseconds, headers } = exchange;
      const wrong = whatIsWrong(headers.get("Content-Type"), body, form);
      if (wrong !== null) return observe("wrong-bytes", wrong);
      return observe(null, `${sizeInWords(body.length)} after ${milliseconds} ms`, {
        milliseconds,
        bytes: body.length,
      });
    },
  });
}

function whatIsWrong(mediaType: string | null, bytes: Buffer, { type, contains }: Form): string | null {
  if (mediaType !== FILE_MEDIA_TYPES[type]) return `${mediaType}, not ${FILE_MEDIA_TYPES[type]}`;
  const file = new PassingFile(type);
  file.add(bytes);
  if (file.hasBegun === false) return "it begins like a file of another type";
  if (!file.isWhole) return "it is cut off";
  const text = bytes.toString("latin1");
  return contains.every((part) => text.includes(part)) ? null : "its pages are not those that were asked for";
}

export const RENDERS: CheckGroup = {
  name: "Renders",
  needs: ["render-pdf"],
  checks: [
    defineRenderCheck("render-pdf", "a PDF/A-2b of two pages", {
      source: pagesOf("One", "Two"),
      output: { format: "pdf", standards: ["a-2b"] },
      form: PDF,
    }),
    defineRenderCheck("render-svg", "an SVG", {
      source: pagesOf("Doctor"),
      output: { format: "svg" },
      form: SVG,
    }),
    defineRenderCheck("render-large", "a PNG sized by 1.3 MiB of data and by two files", {
      source: SIZED_BY_ALL,
      files: {
        "lib/height.txt": { encoding: "text", content: "27" },
        "lib/bytes.bin": { encoding: "base64", content: "AP+AAf8=" },
      },
      data: LARGE_DATA,
      output: { format: "png", ppi: 72 },
      form: PNG,
    }),
  ],
};

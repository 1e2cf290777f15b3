/**
 * A render of each format, whose bytes are looked into, and one that needs data and files.
 */

import { FILE_MEDIA_TYPES } from "../../protocol/rendered-file.ts";
import { checkRequest } from "../../rules/published-rules.ts";
import { sizeInWords } from "../terminal.ts";
import { faultIn, isAnswer, problemIn } from "./answer-faults.ts";
import { type Check, type CheckGroup, deploymentCheck, found, ok, skipped, type Verdict } from "./check.ts";
import type { Examination } from "./examination.ts";
import { type Expected, wrongIn, wrongInArchive } from "./rendered-bytes.ts";
import { constraintsOf } from "./service.ts";
import { EDGE_LOG } from "./ways-to-deploy.ts";

const WIDTH = 120;
const HEIGHT = 80;
/** A template of small pages: no render of the doctor is larger. */
const pagesOf = (texts: readonly string[]) =>
  `#set document(title: "Doctor")\n#set page(width: ${WIDTH}pt, height: ${HEIGHT}pt, margin: 4pt)\n${texts.join("\n#pagebreak()\n")}`;
const ONE_PAGE = pagesOf(["Doctor"]);
const TWO_PAGES = pagesOf(["One", "Two"]);

/** More than proxies take by default, many of them 1 MiB, in strings that every deployment allows. */
const LARGE_DATA = Array.from({ length: 40 }, () => "x".repeat(32 * 1024));

/** The smallest render, for latencies and for the comparison of origins. */
export const SMALL_RENDER = { source: ONE_PAGE, output: { format: "pdf" } };

const RENDER_FAULTS = {
  "no-backend": {
    severity: "failure",
    cause: "None of the edge's origins takes a render: origins-up says why, unless /metrics is closed to the doctor.",
    advice: `If it is, look for "a backend did not answer" in the edge's log: ${EDGE_LOG}.`,
  },
  "behind-limit": {
    severity: "failure",
    cause: "Small renders work: a proxy between edge and backends refuses larger bodies, nginx from 1 MiB by default.",
    advice: "Raise its limit above max_request_body_bytes of the deployment (nginx: client_max_body_size 21m).",
  },
  "render-failed": {
    severity: "failure",
    cause: "Typst was killed on a backend: the host is out of memory, or the sandbox stops a system call.",
    advice: "Find the request id in the backend's log, and look for the OOM killer in the kernel's.",
  },
  "render-timeout": {
    severity: "failure",
    cause: "A page of one word took longer than the render timeout: the host is overloaded, or its disk is slow.",
    advice: "Look at load, processor limits and service_render_phase_seconds of the backends.",
  },
  "does-not-compile": {
    severity: "failure",
    cause:
      "A correct template does not compile: this is not the Typst that the service needs, or memory is far too short.",
    advice: "Compare service_backend_info with the version that is needed, and SERVICE_RENDER_MEMORY_BYTES.",
  },
  "wrong-type": {
    severity: "failure",
    cause: "The answer is of another media type: a proxy changes it, or answers itself.",
    advice: "Switch off whatever changes answers below /v1/ (image conversion, minification).",
  },
  "wrong-bytes": {
    severity: "failure",
    cause: "The file is not what was asked for: a proxy changes or cuts it, or a backend has another Typst.",
    advice: "Compare the bytes with those of a backend asked directly (--origin).",
  },
} as const;

interface RenderCase {
  readonly id: string;
  readonly title: string;
  readonly looksAt: string;
  readonly request: object;
  readonly expected: Expected;
  readonly needs?: readonly string[];
  /** Pages of an archive. */
  readonly archivedPages?: number;
}

const CASES: readonly RenderCase[] = [
  {
    id: "render-pdf",
    title: "a PDF",
    looksAt: "Two pages as PDF: signature, number and size of the pages, end",
    request: { source: TWO_PAGES, output: { format: "pdf" } },
    expected: { type: "pdf", widthPoints: WIDTH, heightPoints: HEIGHT, pages: 2 },
  },
  {
    id: "render-pdf-a",
    title: "a PDF/A-2b",
    looksAt: "The same as PDF/A-2b, whose metadata must say so",
    request: { source: ONE_PAGE, output: { format: "pdf", standards: ["a-2b"] } },
    expected: { type: "pdf", widthPoints: WIDTH, heightPoints: HEIGHT, pages: 1, pdfAPart: 2 },
  },
  {
    id: "render-png",
    title: "a PNG",
    looksAt: "One page as PNG: signature, size in pixels, end",
    request: { source: ONE_PAGE, output: { format: "png", ppi: 72 } },
    expected: { type: "png", widthPoints: WIDTH, heightPoints: HEIGHT },
  },
  {
    id: "render-svg",
    title: "an SVG",
    looksAt: "One page as SVG: root element, size, end",
    request: { source: ONE_PAGE, output: { format: "svg" } },
    expected: { type: "svg", widthPoints: WIDTH, heightPoints: HEIGHT },
  },
  {
    id: "render-zip-png",
    title: "a ZIP of PNG",
    looksAt: "Two pages as a ZIP: names and contents of its entries",
    request: { source: TWO_PAGES, output: { format: "png", ppi: 72, archive: "zip", pages: "1-2" } },
    expected: { type: "png", widthPoints: WIDTH, heightPoints: HEIGHT },
    archivedPages: 2,
  },
  {
    id: "render-zip-svg",
    title: "a ZIP of SVG",
    looksAt: "The same with SVG",
    request: { source: TWO_PAGES, output: { format: "svg", archive: "zip", pages: "1-2" } },
    expected: { type: "svg", widthPoints: WIDTH, heightPoints: HEIGHT },
    archivedPages: 2,
  },
  {
    id: "render-data-files",
    title: "data and files in a render",
    looksAt: "The size of a page comes from `data`, a text file and a Base64 file: the pixels say whether they arrived",
    request: {
      source:
        '#set page(width: data.width * 1pt, height: (int(read("lib/height.txt")) + read("lib/bytes.bin", encoding: none).len()) * 1pt, margin: 0pt)',
      files: {
        "lib/height.txt": { encoding: "text", content: "40" },
        "lib/bytes.bin": { encoding: "base64", content: "AP+AAf8=" },
      },
      data: { width: 33 },
      output: { format: "png", ppi: 72 },
    },
    expected: { type: "png", widthPoints: 33, heightPoints: 45 },
  },
  {
    id: "render-large",
    title: "a request of more than 1 MiB",
    looksAt: "A valid request of 1.3 MiB, which a proxy in front of the edge, or between it and a backend, may refuse",
    request: {
      source: "#set page(width: data.len() * 1pt, height: (data.last().len() / 1024) * 1pt, margin: 0pt)",
      data: LARGE_DATA,
      output: { format: "png", ppi: 72 },
    },
    expected: { type: "png", widthPoints: 40, heightPoints: 32 },
    needs: ["token", "render-pdf"],
  },
];

export const RENDERS: CheckGroup = { name: "Renders", checks: CASES.map(renderCheck) };

function renderCheck(renderCase: RenderCase): Check {
  const { id, title, looksAt, needs = ["token"] } = renderCase;
  return deploymentCheck({
    id,
    title,
    looksAt,
    needs,
    faults: RENDER_FAULTS,
    run: (examination) => renderAndLook(examination, renderCase),
  });
}

async function renderAndLook(
  examination: Examination,
  { id, request, expected, archivedPages }: RenderCase,
): Promise<Verdict<keyof typeof RENDER_FAULTS | Extract<ReturnType<typeof faultIn>, { kind: "fault" }>["fault"]>> {
  const obstacle = whyNotSent(examination, request);
  if (obstacle !== null) return skipped(obstacle);
  const exchange = await examination.render(request);
  if (!isAnswer(exchange, 200)) {
    const fault = faultIn(exchange);
    switch (problemIn(exchange)?.code) {
      case "service_unavailable":
        if (id === "render-large") return found("behind-limit", fault.seen);
        examination.rendersObstacle = "no origin renders";
        return found("no-backend", fault.seen);
      case "render_failed":
        return found("render-failed", fault.seen);
      case "render_timeout":
        return found("render-timeout", fault.seen);
      case "template_compile_failed":
        return found("does-not-compile", fault.seen);
      default:
        return fault;
    }
  }
  const wantedType = FILE_MEDIA_TYPES[archivedPages === undefined ? expected.type : "zip"];
  const type = exchange.headers.get("Content-Type");
  if (type !== wantedType) return found("wrong-type", `${type}, not ${wantedType}`);
  const { body } = exchange;
  const wrong = archivedPages === undefined ? wrongIn(body, expected) : wrongInArchive(body, archivedPages, expected);
  if (wrong !== null) return found("wrong-bytes", wrong);
  const milliseconds = Math.round(exchange.milliseconds);
  return ok(`${sizeInWords(body.length)} after ${milliseconds} ms`, { milliseconds, bytes: body.length });
}

/** Why a render is better not sent; null if it may be. */
export function whyNotSent(examination: Examination, request: object): string | null {
  if (examination.rendersObstacle !== null) return examination.rendersObstacle;
  const check = checkRequest(request, constraintsOf(examination).parsed);
  return check.verdict === "refused" ? `over a limit of this deployment (${check.problem.code})` : null;
}

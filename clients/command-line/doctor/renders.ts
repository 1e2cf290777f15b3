/**
 * A render in each format, whose bytes are inspected, one that needs data and files, and a large one.
 */
import { FILE_MEDIA_TYPES } from "../../../protocol/rendered-file.ts";
import { checkRequest } from "../../../rules/published-rules.ts";
import { sizeInWords } from "../../typescript/size-in-words.ts";
import { isOk, outcomeOf } from "./answers.ts";
import { check, found, group, ok, skipped } from "./check.ts";
import { type Examination, known } from "./examination.ts";
import { EDGE_LOG, failure, HIGHER_BODY_LIMIT } from "./faults.ts";
import { type Expected, wrongIn, wrongInArchive } from "./rendered-bytes.ts";

const [WIDTH, HEIGHT] = [120, 80];
const SMALL_PAGE = { widthPoints: WIDTH, heightPoints: HEIGHT };
const pagesOf = (texts: readonly string[]) => `#set document(title: "Doctor")
#set page(width: ${WIDTH}pt, height: ${HEIGHT}pt, margin: 4pt)
${texts.join("\n#pagebreak()\n")}`;
const ONE_PAGE = pagesOf(["Doctor"]);
const TWO_PAGES = pagesOf(["One", "Two"]);

/** More than many proxies accept by default (1 MiB), in strings short enough for every deployment. */
const LARGE_DATA = Array.from({ length: 40 }, () => "x".repeat(32 * 1024));

/** The smallest render, for latencies and for the comparison of origins. */
export const SMALL_RENDER = { source: ONE_PAGE, output: { format: "pdf" } };

const RENDER_FAULTS = {
  "render-failed": failure`Typst was killed on a backend: the host is out of memory, or the sandbox stops a system call.
    → Find the request id in the backend's log, and look for the OOM killer in the kernel's.`,
  "render-timeout": failure`A page of one word exceeded the render timeout: the host is overloaded, or its disk is slow.
    → Look at load, processor limits and service_render_phase_seconds of the backends.`,
  "does-not-compile": failure`A correct template does not compile: Typst has another version, or far too little memory.
    → Compare service_backend_info with the version that is needed, and SERVICE_RENDER_MEMORY_BYTES.`,
  "wrong-type": failure`The response has the wrong media type: a proxy changes it, or answers itself.
    → Switch off whatever changes responses below /v1/ (image conversion, minification).`,
  "wrong-bytes": failure`The file is not what was asked for: a proxy changes it, or a backend has another Typst.
    → Compare the bytes with those of a backend asked directly (--origin).`,
};

const NO_BACKEND = failure`No origin accepts a render: origins-up says why, unless /metrics is closed to the doctor.
  → If it is, look for "a backend did not answer" in the edge's log: ${EDGE_LOG}.`;
const BEHIND_LIMIT = failure`A proxy in front of the backends limits bodies, nginx to 1 MiB. → ${HIGHER_BODY_LIMIT}`;

export const RENDERS = group("Renders", "token", [
  renderCheck("render-pdf", "a PDF of two pages", {
    request: { source: TWO_PAGES, output: { format: "pdf" } },
    expected: { type: "pdf", ...SMALL_PAGE, pages: 2 },
  }),
  renderCheck("render-pdf-a", "a PDF/A-2b, according to its metadata", {
    request: { source: ONE_PAGE, output: { format: "pdf", standards: ["a-2b"] } },
    expected: { type: "pdf", ...SMALL_PAGE, pdfAPart: 2 },
  }),
  renderCheck("render-png", "a PNG", {
    request: { source: ONE_PAGE, output: { format: "png", ppi: 72 } },
    expected: { type: "png", ...SMALL_PAGE },
  }),
  renderCheck("render-svg", "an SVG", {
    request: { source: ONE_PAGE, output: { format: "svg" } },
    expected: { type: "svg", ...SMALL_PAGE },
  }),
  renderCheck("render-zip-png", "a ZIP of two PNG", {
    request: { source: TWO_PAGES, output: { format: "png", ppi: 72, archive: "zip", pages: "1-2" } },
    expected: { type: "png", ...SMALL_PAGE, pages: 2 },
    isArchive: true,
  }),
  renderCheck("render-zip-svg", "a ZIP of two SVG", {
    request: { source: TWO_PAGES, output: { format: "svg", archive: "zip", pages: "1-2" } },
    expected: { type: "svg", ...SMALL_PAGE, pages: 2 },
    isArchive: true,
  }),
  renderCheck("render-data-files", "a page sized by data, a text file and a Base64 file", {
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
  }),
  renderCheck("render-large", "a request of 1.3 MiB", {
    request: {
      source: "#set page(width: data.len() * 1pt, height: (data.last().len() / 1024) * 1pt, margin: 0pt)",
      data: LARGE_DATA,
      output: { format: "png", ppi: 72 },
    },
    expected: { type: "png", widthPoints: 40, heightPoints: 32 },
    needs: ["token", "render-pdf"],
    isLarge: true,
  }),
]);

interface RenderCase {
  readonly request: object;
  readonly expected: Expected;
  readonly needs?: readonly string[];
  readonly isArchive?: boolean;
  readonly isLarge?: boolean;
}

function renderCheck(id: string, title: string, { request, expected, isArchive, isLarge, ...row }: RenderCase) {
  return check(id, title, {
    ...row,
    faults: { ...RENDER_FAULTS, "no-backend": NO_BACKEND, "behind-limit": BEHIND_LIMIT },
    outcomes: {
      service_unavailable: isLarge ? "behind-limit" : "no-backend",
      render_failed: "render-failed",
      render_timeout: "render-timeout",
      template_compile_failed: "does-not-compile",
    },
    async run(edge, examination) {
      const obstacle = whyNotSent(examination, request);
      if (obstacle !== null) return skipped(obstacle);
      const exchange = await edge.render(request);
      if (!isLarge) examination.isWithoutOrigin = outcomeOf(exchange) === "service_unavailable";
      if (!isOk(exchange)) return exchange;
      const { body, headers, milliseconds } = exchange;
      const wantedType = FILE_MEDIA_TYPES[isArchive === true ? "zip" : expected.type];
      const type = headers.get("Content-Type");
      if (type !== wantedType) return found("wrong-type", `${type}, not ${wantedType}`);
      const wrong = isArchive ? wrongInArchive(body, expected) : wrongIn(body, expected);
      if (wrong !== null) return found("wrong-bytes", wrong);
      return ok(`${sizeInWords(body.length)} after ${milliseconds} ms`, { milliseconds, bytes: body.length });
    },
  });
}

/** Why a render should not be sent to the edge; null if it may be. */
export function whyNotSent({ edge, isWithoutOrigin, constraints }: Examination, request: object): string | null {
  if (edge.hasRenderTimedOut) return "renders are not answered";
  if (isWithoutOrigin) return "no origin renders";
  const check = checkRequest(request, known(constraints));
  return check.verdict === "refused" ? `over a limit of this deployment (${check.problem.code})` : null;
}

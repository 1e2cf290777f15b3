/**
 * What to do about each problem. The problem itself says what is wrong.
 */
import type { ProblemCode } from "../rules/problem.ts";

const ADVICE: Readonly<Record<ProblemCode, string>> = {
  invalid_request: "Correct the marked fields and render again.",
  unsupported_format: "Choose PDF, PNG or SVG.",
  invalid_template_path: "Rename the marked files. Folders are separated by slashes, as in assets/logo.png.",
  invalid_file_data: "Rename or remove the marked files, or add them again.",
  forbidden: "Set the API token of this deployment (“API token”, at the top) and render again.",
  not_found: "This page may be older than the deployment: reload it.",
  method_not_allowed: "This page may be older than the deployment: reload it.",
  render_timeout: "Make the document do less: smaller images, fewer loops, fewer pages.",
  request_too_large: "Send fewer or smaller files.",
  template_source_too_large: "Move parts of the template into files and import them.",
  template_file_too_large: "Make the file smaller: reduce the resolution of an image, or use a subset of a font.",
  string_too_large: "Shorten the text in the data, or send it as a file and read it in the template.",
  output_too_large: "Select fewer pages, a lower resolution (ppi) or smaller images.",
  page_selection_too_large: "Select fewer pages, and send a second request for the others.",
  too_many_output_files: "Select some of the pages, for example 1-20, or render a PDF.",
  template_compile_failed:
    "The service never says what the compiler said. To see the line, compile the template on your machine: npx document-rendering check. Usual causes: a misspelled name, a file that was not added, a field that the data does not have, a package that this deployment does not have, and several pages for a single image.",
  render_queue_full: "The service is busy and nothing is broken. Wait a moment and render again.",
  render_failed: "Render again. If it fails again, tell the operator of the service the request id.",
  service_unavailable:
    "Wait a moment and render again. If it goes on, tell the operator of the service the request id.",
};

/** Advice for a code. A later version of the service may have codes that this page does not know. */
export function adviceFor(code: string): string {
  return isKnown(code) ? ADVICE[code] : "See the interface reference for this code.";
}

function isKnown(code: string): code is ProblemCode {
  return Object.hasOwn(ADVICE, code);
}

/** What to do about each problem, in words that fit the command line, the playground and the docs. */
import type { ProblemCode } from "../../rules/problem.ts";

const PROBLEM_ADVICE: Readonly<Record<ProblemCode, string>> = {
  invalid_request: "Correct the fields that it names and send the request again.",
  unsupported_format: "Choose PDF, PNG or SVG.",
  invalid_template_path:
    "Rename the file: letters from A to Z and a to z, digits, dots, hyphens and underscores, with slashes between folders, as in assets/logo.png.",
  invalid_file_data:
    "Rename or remove the files that it names, or encode them again. If there are too many, put pictures one after the other into one file, and take each by read(name, encoding: none).slice(from, to).",
  forbidden: "Use an API token of this deployment.",
  not_found: "Correct the address. A client that is older than the deployment may need an update.",
  method_not_allowed: "Correct the method. A client that is older than the deployment may need an update.",
  render_timeout:
    "Make the document smaller: fewer pages, smaller images, nothing that grows with the square of the rows or pages (/help/templates#documents-that-grow of the service).",
  request_too_large: "Send fewer or smaller files; Base64 adds a third to each.",
  template_source_too_large:
    "Move tables and texts into the data or files, and shared functions into files that you import.",
  template_file_too_large:
    "Make the file smaller: reduce the resolution of an image, save a large SVG as PNG, use a subset of a font, split a table.",
  string_too_large:
    "Split the text into several members or files, and join them in the template. One file may be no larger.",
  output_too_large:
    "Send photographs as JPEG (in a PDF, PNG grows two to four times, WebP fifty times), or select fewer pages, a lower resolution (ppi) or smaller images.",
  page_selection_too_large: "Select fewer pages, such as 1-64, and send a second request for the others.",
  too_many_output_files: "Select some of the pages, such as 1-64 and then 65-128, or render a PDF.",
  template_compile_failed:
    "The service never returns the compiler's messages. To see the line, run document-rendering check (docs/command-line.md says how to install it) on the folder of the template; the playground saves one as a ZIP. Usual causes: a misspelled name; a file, a field of the data or a package that is missing; several pages for a single image; too many pixels (memory).",
  render_queue_full: "The service is busy and nothing is broken. Wait a moment and send the request again.",
  render_failed: "Send the request again. If it fails again, give the operator of the service the request id.",
  service_unavailable:
    "Wait a moment and send the request again. If that does not help, give the operator of the service the request id.",
};

/** The advice for a code; null for those that only a later version of the service has. */
export function adviceFor(code: string): string | null {
  return Object.entries(PROBLEM_ADVICE).find(([known]) => known === code)?.[1] ?? null;
}

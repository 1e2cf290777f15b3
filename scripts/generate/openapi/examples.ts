/** The examples of the interface description. Problems that validation finds are made by the validation itself. */
import { type Capabilities, capabilitiesOf } from "../../../protocol/capabilities.ts";
import { EXAMPLE_NAMES } from "../../../protocol/routes.ts";
import { constraintsDocument } from "../../../rules/constraints.ts";
import { DEFAULT_LIMITS, limitsFrom } from "../../../rules/limits.ts";
import {
  methodNotAllowed,
  notFound,
  type Problem,
  type ProblemCode,
  type ProblemDocument,
  problem,
  problemDocument,
  problemInstance,
  renderQueueFull,
  renderTimeout,
  serviceUnavailable,
} from "../../../rules/problem.ts";
import { parseRenderRequest } from "../../../rules/render-request.ts";
import { SCRIPTS_OF_TYPST } from "../../../typst/fonts/scripts.ts";
import { TYPST_VERSION } from "../../../typst/typst-release.mjs";
import { exampleRequest } from "../../examples/example-request.ts";

export interface Example<Value = unknown> {
  readonly summary: string;
  readonly value: Value;
}

/** Viewers show each example in full, so those with fonts and chapters are only in the folder `examples/`. */
const MAX_REQUEST_CHARACTERS = 32 * 1024;

const SMALL_REQUESTS = {
  hello: {
    summary: "A PDF from source and data",
    value: { source: "= Hello, #data.name!", data: { name: "world" } },
  },
  files: {
    summary: "A file of the project, imported by the source",
    value: {
      source: '#import "lib/letter.typ": salutation\n#salutation(data.name)\n\nThank you for your order.',
      files: { "lib/letter.typ": { encoding: "text", content: "#let salutation(name) = [Dear #name,]" } },
      data: { name: "Ada" },
      output: { format: "pdf", filename: "letter.pdf" },
    },
  },
  image: {
    summary: "A picture in Base64, on a page that becomes a PNG",
    value: {
      source: '#set page(width: 60mm, height: 60mm, margin: 10mm)\n#image("assets/dot.png", width: 100%)',
      files: {
        "assets/dot.png": {
          encoding: "base64",
          content: "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
        },
      },
      output: { format: "png", ppi: 96 },
    },
  },
  page: {
    summary: "One page of several as SVG",
    value: { source: "First #pagebreak() Second", output: { format: "svg", page: 2 } },
  },
  archive: {
    summary: "A ZIP archive of some pages as PNG",
    value: {
      source: "#for number in range(1, 6) [Page #number #pagebreak(weak: true)]",
      output: { format: "png", archive: "zip", pages: "1-2,5-" },
    },
  },
  archival: {
    summary: "A PDF/A-2a that is PDF/UA-1 too",
    value: {
      source: '#set document(title: "Minutes")\n#set text(lang: "en")\n= Minutes\nNothing was decided.',
      output: { format: "pdf", standards: ["a-2a", "ua-1"] },
    },
  },
} as const satisfies Readonly<Record<string, Example>>;

/** Requests by name: small ones, and those of the folder `examples/` that are not too long to be shown. */
export async function requestExamples(): Promise<Readonly<Record<string, Example>>> {
  const examples: Record<string, Example> = { ...SMALL_REQUESTS };
  for (const name of EXAMPLE_NAMES) {
    const body = await exampleRequest(name);
    if (body.length > MAX_REQUEST_CHARACTERS) continue;
    examples[name] = { summary: `The example ${name}`, value: JSON.parse(body) };
  }
  return examples;
}

export const REQUEST_ID = "5b0e4c1e-3f0a-4b1c-9a51-0c9f3b6f5d2a";
const BASE_URL = "https://render.example";

/** Limits so low that short requests exceed them, for the examples of problems. */
const LOW_LIMITS = limitsFrom({
  ...DEFAULT_LIMITS,
  max_inline_file_bytes: 8,
  max_template_source_bytes: 64,
  max_string_bytes: 16,
});

function refusalOf(request: unknown, limits = DEFAULT_LIMITS): Problem {
  const result = parseRenderRequest(new TextEncoder().encode(JSON.stringify(request)), limits);
  if (result.ok) throw new Error("an example of a refused request is valid");
  return result.problem;
}

const text = (content: string) => ({ encoding: "text", content });
const hello = (more: object) => ({ source: "= Hello", ...more });
const { max_request_body_bytes, max_output_bytes, max_output_files } = DEFAULT_LIMITS;

const PROBLEMS_BY_CODE: Readonly<Record<ProblemCode, Problem>> = {
  invalid_request: refusalOf(hello({ output: { format: "pdf", version: "1.4", standards: ["a-2b"] } })),
  unsupported_format: refusalOf(hello({ output: { format: "docx" } })),
  invalid_template_path: refusalOf(hello({ files: { "../logo.png": text("") } })),
  invalid_file_data: refusalOf(hello({ files: { "logo.png": { encoding: "base64", content: "iVBO\nRw0K" } } })),
  forbidden: problem("forbidden", "A valid token is required in X-Service-Api-Token.", {}),
  not_found: notFound(),
  method_not_allowed: methodNotAllowed("POST, OPTIONS"),
  render_timeout: renderTimeout("wall_clock", 30, 30),
  request_too_large: problem(
    "request_too_large",
    `The request body is over the limit of ${max_request_body_bytes} bytes.`,
    { limit: max_request_body_bytes, declared_size: 31_457_280 },
  ),
  template_source_too_large: refusalOf({ source: "= Hello ".repeat(9) }, LOW_LIMITS),
  template_file_too_large: refusalOf(hello({ files: { "lib/a.typ": text("0123456789") } }), LOW_LIMITS),
  string_too_large: refusalOf(hello({ data: { notes: ["a text that is too long"] } }), LOW_LIMITS),
  output_too_large: problem(
    "output_too_large",
    "The output has 60817408 bytes or more; at most 52428800 are allowed.",
    { size: 60_817_408, limit: max_output_bytes },
  ),
  page_selection_too_large: refusalOf(hello({ output: { format: "png", archive: "zip", pages: "1-100" } })),
  too_many_output_files: problem(
    "too_many_output_files",
    "The document has more pages than the 64 that an archive may hold.",
    { limit: max_output_files },
  ),
  template_compile_failed: problem(
    "template_compile_failed",
    "Typst could not produce the requested output from this template.",
    {},
  ),
  render_queue_full: renderQueueFull("slots_busy", 5),
  render_failed: problem("render_failed", "The render ended without an output, and not because of the template.", {}),
  service_unavailable: serviceUnavailable("no_backend_answered", ["unreachable"]),
};

export function problemExample(code: ProblemCode): Example<ProblemDocument> {
  const refusal = PROBLEMS_BY_CODE[code];
  if (refusal.code !== code) throw new Error(`the example of ${code} is one of ${refusal.code}`);
  const document = problemDocument(
    refusal,
    problemInstance(`${BASE_URL}/v1/render${code === "not_found" ? "s" : ""}`, REQUEST_ID),
  );
  return { summary: document.title, value: document };
}

/** The constraints of a deployment with default limits, with the first of its many conformance vectors. */
export function constraintsExample() {
  const document = constraintsDocument(DEFAULT_LIMITS);
  const { output_rules } = document;
  return {
    ...document,
    conformance_vectors: document.conformance_vectors.slice(0, 2),
    output_rules: { ...output_rules, conformance_vectors: output_rules.conformance_vectors.slice(0, 2) },
  };
}

/** What a deployment with one more font and one package has; of Typst's own fonts only the first. */
export function capabilitiesExample(): Capabilities {
  const regular = { style: "normal", weight: { min: 400, max: 400 }, stretch_percent: { min: 100, max: 100 } } as const;
  const variable = { ...regular, weight: { min: 100, max: 900 } };
  return capabilitiesOf(
    TYPST_VERSION,
    [
      { family: "DejaVu Sans Mono", variants: [regular] },
      { family: "Inter", variants: [variable] },
    ],
    [{ namespace: "preview", name: "cetz", version: "0.3.4" }],
    SCRIPTS_OF_TYPST,
  );
}

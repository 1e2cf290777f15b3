/**
 * The problems of docs/api.md#codes, written by hand and independently of the service's catalogue: a change of the
 * catalogue must fail against this table. The service chose the titles; they are here so that none is changed by
 * accident.
 *
 * Also used inside workerd, so it imports nothing from Node.
 */
interface ContractProblem {
  readonly status: number;
  readonly origin: "request" | "template" | "capacity" | "service";
  readonly title: string;
  /** The members that `context` may have. */
  readonly context: readonly string[];
}

const from =
  (origin: ContractProblem["origin"]) =>
  (status: number, title: string, ...context: string[]): ContractProblem => ({ status, origin, title, context });
const request = from("request");
const template = from("template");

export const CONTRACT = {
  invalid_request: request(400, "Invalid request", "errors", "errors_total", "rule"),
  unsupported_format: request(400, "Unsupported output format", "errors", "errors_total"),
  invalid_template_path: request(400, "Invalid files key", "errors", "errors_total"),
  invalid_file_data: request(400, "Invalid file data", "key", "count", "limit", "rule", "errors", "errors_total"),
  forbidden: request(403, "Forbidden"),
  not_found: request(404, "Not found"),
  method_not_allowed: request(405, "Method not allowed"),
  render_timeout: request(408, "Render timeout", "timeout_secs"),
  request_too_large: request(413, "Request too large", "limit", "declared_size"),
  template_source_too_large: template(413, "Template source too large", "size", "limit"),
  template_file_too_large: template(413, "Template file too large", "key", "size", "limit"),
  string_too_large: request(413, "String too large", "path", "subject", "size", "limit"),
  output_too_large: request(413, "Output too large", "size", "limit"),
  page_selection_too_large: request(413, "Page selection too large", "count", "limit"),
  too_many_output_files: request(413, "Too many output files", "limit"),
  template_compile_failed: template(422, "Template compile failed"),
  render_queue_full: { status: 429, origin: "capacity", title: "Render queue full", context: ["retry_after"] },
  render_failed: { status: 500, origin: "service", title: "Render failed", context: [] },
  service_unavailable: { status: 503, origin: "service", title: "Service unavailable", context: [] },
} as const satisfies Record<string, ContractProblem>;

export type ContractCode = keyof typeof CONTRACT;

/** The members of a problem of that code that do not depend on the request. */
export function contractMembers(code: ContractCode) {
  const { status, origin, title }: ContractProblem = CONTRACT[code];
  return { code, status, origin, title };
}

/** The members of a context that docs/api.md does not list for its code. */
export function foreignMembers(code: ContractCode, context: object): string[] {
  const { context: known }: ContractProblem = CONTRACT[code];
  return Object.keys(context).filter((member) => !known.includes(member));
}

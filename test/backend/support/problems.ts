/**
 * Problems as section 7 of the contract describes them, written down here once more, apart from the service's own
 * catalogue: a change of that catalogue must fail here.
 */
import { expect } from "vitest";

/** Status and origin of each code. */
const CONTRACT = {
  invalid_request: [400, "request"],
  unsupported_format: [400, "request"],
  invalid_template_path: [400, "request"],
  invalid_file_data: [400, "request"],
  forbidden: [403, "request"],
  not_found: [404, "request"],
  method_not_allowed: [405, "request"],
  render_timeout: [408, "request"],
  request_too_large: [413, "request"],
  template_source_too_large: [413, "template"],
  template_file_too_large: [413, "template"],
  string_too_large: [413, "request"],
  output_too_large: [413, "request"],
  page_selection_too_large: [413, "request"],
  too_many_output_files: [413, "request"],
  template_compile_failed: [422, "template"],
  render_queue_full: [429, "capacity"],
  render_failed: [500, "service"],
  service_unavailable: [503, "service"],
} as const;

export type ContractCode = keyof typeof CONTRACT;

/** An error body as received. */
export interface ReceivedProblem {
  readonly code: string;
  readonly origin: string;
  readonly title: string;
  readonly status: number;
  readonly detail: string;
  readonly instance: string;
  readonly context: Readonly<Record<string, unknown>>;
}

/** Expects that an answer is the problem of that code with every member and header that a problem has. */
export async function expectProblem(answer: Response, code: ContractCode): Promise<ReceivedProblem> {
  const text = await answer.text();
  const body: ReceivedProblem = JSON.parse(text);
  const [status, origin] = CONTRACT[code];
  expect(body, text).toEqual({
    code,
    origin,
    status,
    title: expect.stringMatching(/\S/),
    detail: expect.stringMatching(/\S/),
    instance: expect.any(String),
    context: expect.any(Object),
  });
  expect(answer.status).toBe(status);
  expect(answer.headers.get("Content-Type")).toBe("application/problem+json");
  expect(answer.headers.get("Cache-Control")).toBe("no-store");
  expect(answer.headers.get("X-Content-Type-Options")).toBe("nosniff");
  const { protocol, hash } = new URL(body.instance);
  expect(protocol).toMatch(/^https?:$/);
  expect(hash).toBe(`#${answer.headers.get("X-Request-Id")}`);
  return body;
}

/**
 * The service as its own description (OpenAPI) has it: real requests, and answers that a client made from it can read.
 */
import fc from "fast-check";
import { beforeAll, describe, expect, it } from "vitest";
import { PROBLEMS } from "../../../rules/problem.ts";
import { ENDLESS } from "../../support/backend/bombs.ts";
import { InterfaceDescription } from "../../support/interface-description.ts";
import { requestText } from "../../support/rules/request-arbitraries.ts";
import { RawConnection } from "../../support/service/raw-connection.ts";
import { startTestService, type TestService } from "../../support/service/test-service.ts";

/** Low, so that each limit is exceeded by a short request, and high enough for the examples. */
const SETTINGS = {
  SERVICE_MAX_TEMPLATE_SOURCE_BYTES: "30000",
  SERVICE_MAX_REQUEST_BODY_BYTES: "90000",
  SERVICE_MAX_STRING_BYTES: "9000",
  SERVICE_MAX_OUTPUT_FILES: "8",
  SERVICE_RENDER_CPU_SECONDS: "2",
};

let service: TestService;
let description: InterfaceDescription;

beforeAll(async () => {
  service = await startTestService({ settings: SETTINGS });
  description = new InterfaceDescription(await (await service.send("/openapi.json")).json());
  return () => service.stop();
});

/** Sends a request and holds the answer against the description. */
async function sendAsDescribed(method: string, path: string, init: RequestInit = {}): Promise<Response> {
  const answer = await service.send(path, { ...init, method });
  expect(await description.disagreements(method, path, answer.clone())).toEqual([]);
  return answer;
}

async function renderAsDescribed(body: unknown, headers: Readonly<Record<string, string>> = {}): Promise<Response> {
  return sendAsDescribed("POST", "/v1/render", {
    headers: { "Content-Type": "application/json", ...headers },
    body: typeof body === "string" ? body : JSON.stringify(body),
  });
}

it("the interface description is OpenAPI 3.1 of interface version 1.2.0", () => {
  expect(description.document.openapi).toMatch(/^3\.1\.\d+$/);
  expect(description.document.info.version).toBe("1.2.0");
});

it("the examples of requests are rendered, each to the requested output", async () => {
  const validate = description.validator("/components/schemas/RenderRequest");
  const examples = description.requestExamples("POST", "/v1/render");
  expect(examples.length).toBeGreaterThan(8);
  const types: string[] = [];
  for (const [name, body] of examples) {
    expect(validate(body), name).toBe(true);
    const answer = await renderAsDescribed(body);
    expect(answer.status, name).toBe(200);
    types.push(answer.headers.get("Content-Type") ?? "");
  }
  expect(new Set(types)).toEqual(new Set(["application/pdf", "image/png", "image/svg+xml", "application/zip"]));
});

const text = (content: string) => ({ encoding: "text", content });

/** A request for each problem that a client can bring about by itself, and header fields in place of the usual ones. */
const REFUSED: readonly [code: keyof typeof PROBLEMS, body: unknown, headers?: Record<string, string>][] = [
  ["invalid_request", "no JSON"],
  ["invalid_request", { source: "", sources: 1 }],
  ["invalid_request", { source: "x" }, { "Content-Type": "text/plain" }],
  ["forbidden", { source: "x" }, { "X-Service-Api-Token": "wrong" }],
  ["invalid_request", Object.fromEntries(Array.from({ length: 30 }, (_, n) => [`f${n}`, n]))],
  ["invalid_request", { source: "x", output: { version: "1.4", standards: ["a-2b"] } }],
  ["unsupported_format", { source: "x", output: { format: "html" } }],
  ["invalid_template_path", { source: "x", files: { "../x": text("") } }],
  ["invalid_file_data", { source: "x", files: { a: { encoding: "base64", content: "?" } } }],
  ["invalid_file_data", { source: "x", files: { a: text(""), A: text("") } }],
  ["render_timeout", { source: ENDLESS }],
  ["request_too_large", { source: "x".repeat(90_000) }],
  ["template_source_too_large", { source: "x".repeat(30_001) }],
  ["string_too_large", { source: "x", data: { list: ["x".repeat(9001)] } }],
  ["page_selection_too_large", { source: "x", output: { format: "svg", archive: "zip", pages: "1-9" } }],
  [
    "too_many_output_files",
    { source: "#for _ in range(9) [x #pagebreak()]", output: { format: "svg", archive: "zip" } },
  ],
  ["template_compile_failed", { source: "#panic()" }],
];

describe("problems", () => {
  it.each(REFUSED)("are as described: %s", async (code, body, headers) => {
    const answer = await renderAsDescribed(body, headers);
    expect(await answer.json()).toMatchObject({ code, status: PROBLEMS[code].status });
  });

  it("are as described for an invalid Host", async () => {
    for (const [path, operations] of Object.entries(description.document.paths)) {
      for (const method of Object.keys(operations).map((name) => name.toUpperCase())) {
        const head = `${method} ${path} HTTP/1.1\r\nHost: a/b\r\nContent-Length: 0\r\n\r\n`;
        const answer = await (await RawConnection.open(service.edge.url, head)).answer();
        expect(answer?.status).toBe(400);
        const received = new Response(answer?.body, { status: 400, headers: answer?.headers ?? {} });
        expect(await description.disagreements(method, path, received)).toEqual([]);
      }
    }
  });

  it("are as described for wrong methods and wrong paths", async () => {
    for (const path of Object.keys(description.document.paths)) {
      const answer = await sendAsDescribed("DELETE", path);
      expect(answer.status).toBe(405);
    }
    expect((await sendAsDescribed("GET", "/v1/nowhere")).status).toBe(404);
  });
});

describe("every route", () => {
  it("has the methods that are described, and answers OPTIONS by them", async () => {
    for (const [path, operations] of Object.entries(description.document.paths)) {
      const answer = await service.send(path, { method: "OPTIONS" });
      const described = Object.keys(operations).map((method) => method.toUpperCase());
      const implied = described.includes("GET") ? ["HEAD", "OPTIONS"] : ["OPTIONS"];
      expect(answer.headers.get("Allow"), path).toBe([...described, ...implied].join(", "));
    }
  });

  it("answers GET as described, with a token and without", async () => {
    for (const [path, operations] of Object.entries(description.document.paths)) {
      if (operations.get === undefined) continue;
      await sendAsDescribed("GET", path);
      await sendAsDescribed("GET", path, { headers: { "X-Service-Api-Token": "" } });
    }
  });

  it("answers 304 as described to a client that has its entity tag", async () => {
    let count = 0;
    for (const [path, operations] of Object.entries(description.document.paths)) {
      if (operations.get?.responses["304"] === undefined) continue;
      const etag = (await sendAsDescribed("GET", path)).headers.get("ETag") ?? "";
      const answer = await sendAsDescribed("GET", path, { headers: { "If-None-Match": etag } });
      expect(answer.status, path).toBe(304);
      count++;
    }
    expect(count).toBe(6);
  });
});

/** Some seconds of renders. */
const GENERATED_REQUESTS = 30;

it("generated requests are answered as described, never by a failure, and rejected if the schema rejects them", async () => {
  const validate = description.validator("/components/schemas/RenderRequest");
  const statuses = new Set<number>();
  await fc.assert(
    fc.asyncProperty(requestText, async (body) => {
      const { status } = await renderAsDescribed(body);
      statuses.add(status);
      expect(status).toBeLessThan(500);
      if (!validate(JSON.parse(body))) expect(status).toBe(400);
    }),
    { numRuns: GENERATED_REQUESTS, examples: [['{"source":"x"}']] },
  );
  for (const status of [200, 400]) expect(statuses).toContain(status);
});

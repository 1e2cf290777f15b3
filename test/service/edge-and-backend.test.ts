/** The edge and the backend together: forwarded responses, requests that the edge rejects, and a backend that is down. */
import { beforeAll, describe, expect, it } from "vitest";
import { takeFreePort } from "../../scripts/local-service.ts";
import { ENDLESS } from "../support/bombs.ts";
import { readDisposition } from "../support/content-disposition.ts";
import { parseMetrics, sampleValue } from "../support/metrics-text.ts";
import { readPdf } from "../support/pdf-reader.ts";
import { expectProblem } from "../support/problems.ts";
import { expectRawProblem, sendRaw } from "../support/raw-connection.ts";
import { readSvgSize } from "../support/svg-reader.ts";
import { startTestService, type TestService } from "../support/test-service.ts";
import { API_TOKEN } from "../support/tokens.ts";

const MAX_BODY_BYTES = 300_000;
const MAX_OUTPUT_BYTES = 2_000_000;

let service: TestService;
let deadOrigin: string;

beforeAll(async () => {
  deadOrigin = `http://127.0.0.1:${await takeFreePort()}`;
  service = await startTestService({
    settings: {
      SERVICE_MAX_REQUEST_BODY_BYTES: String(MAX_BODY_BYTES),
      SERVICE_MAX_OUTPUT_BYTES: String(MAX_OUTPUT_BYTES),
    },
    // In processor time, so that a busy machine does not exceed it.
    backendSettings: { SERVICE_RENDER_TIMEOUT_SECONDS: "600", SERVICE_RENDER_CPU_SECONDS: "5" },
  });
  return () => service.stop();
});

const TOKEN_FIELD = `X-Service-Api-Token: ${API_TOKEN}`;
const JSON_FIELD = "Content-Type: application/json";

/** One page with `count` squares of about 90 bytes of SVG each. */
const squares = (count: number) => `#set page(width: 100pt, height: 100pt, margin: 0pt)
#for n in range(${count}) { place(dx: calc.rem(n, 90) * 1pt, dy: calc.rem(n, 97) * 1pt, square(size: 1pt + calc.rem(n, 7) * 1pt, fill: rgb(calc.rem(n, 256), 0, 0))) }`;

describe("a rendered file", () => {
  it("comes through the edge with the backend's headers and the edge's request id", async () => {
    const answer = await service.render({
      source: "Hello #data.name",
      data: { name: "Zoë" },
      output: { filename: "Größe.pdf" },
    });
    const bytes = await answer.bytes();
    expect(answer.status).toBe(200);
    expect(answer.headers.get("Content-Type")).toBe("application/pdf");
    expect(readDisposition(answer)).toMatchObject({ type: "inline", name: "Größe.pdf" });
    expect(answer.headers.get("Cache-Control")).toBe("no-store");
    expect(answer.headers.get("Content-Length")).toBe(String(bytes.length));
    expect(answer.headers.get("X-Content-Type-Options")).toBe("nosniff");
    expect(answer.headers.get("X-Request-Id")).toMatch(/^[0-9a-f-]{36}$/);
    expect((await readPdf(bytes)).pageTexts).toEqual(["Hello Zoë"]);
  });

  it("that is an SVG keeps the policy that forbids it to run anything", async () => {
    const answer = await service.render({ source: "x", output: { format: "svg" } });
    expect(answer.headers.get("Content-Type")).toBe("image/svg+xml");
    expect(answer.headers.get("Content-Security-Policy")).toMatch(/default-src 'none'.*sandbox/);
    expect(readSvgSize(await answer.bytes())[0]).toBeGreaterThan(0);
  });

  it("reveals nothing about the backend in its headers", async () => {
    const answer = await service.render({ source: "x" });
    await answer.bytes();
    const names = [...answer.headers.keys()];
    for (const name of ["keep-alive", "server", "x-powered-by", "x-service-backend-token", "x-service-limits"]) {
      expect(names).not.toContain(name);
    }
  });

  it("of more than a megabyte arrives completely", async () => {
    // Like Cloudflare, the local workerd compresses text for clients that accept it, and then the length is not known.
    const headers = { "Accept-Encoding": "identity" };
    const answer = await service.render({ source: squares(12_000), output: { format: "svg" } }, { headers });
    const bytes = await answer.bytes();
    expect(answer.status).toBe(200);
    expect(bytes.length).toBeGreaterThan(1_000_000);
    expect(answer.headers.get("Content-Length")).toBe(String(bytes.length));
    expect(readSvgSize(bytes)).toEqual([100, 100]);
  });

  it("is checked against the same limits by edge and backend", async () => {
    await (await service.render({ source: "x" })).bytes();
    const samples = parseMetrics(await (await service.send("/metrics")).text());
    expect(sampleValue(samples, "service_limits_mismatches_total", {})).toBe(0);
  });
});

describe("a problem", () => {
  it.each([
    ["the edge's own", { source: "" }, "invalid_request"],
    ["the backend's", { source: "#nothing" }, "template_compile_failed"],
    ["a time-out of the backend's", { source: ENDLESS }, "render_timeout"],
    ["an output over the backend's limit", { source: squares(24_000), output: { format: "svg" } }, "output_too_large"],
    [
      "too many pages, known to the backend alone",
      { source: "#for n in range(65) { page[] }", output: { format: "svg", archive: "zip" } },
      "too_many_output_files",
    ],
  ] as const)("names the edge's URL and the request id: %s", async (_what, body, code) => {
    const answer = await service.render(body);
    const requestId = answer.headers.get("X-Request-Id");
    const { instance } = await expectProblem(answer, code);
    expect(instance).toBe(`${service.edge.url.origin}/v1/render#${requestId}`);
  });

  it("has a new request id each time, whatever the client sends", async () => {
    const id = "0b6cb2a4-6e0f-4a0b-9d5c-3a3c7f4f7b11";
    const answers = await Promise.all([1, 2].map(() => service.send("/nowhere", { headers: { "X-Request-Id": id } })));
    const ids = answers.map(({ headers }) => headers.get("X-Request-Id"));
    expect(new Set([...ids, id]).size).toBe(3);
    for (const answer of answers) await expectProblem(answer, "not_found");
  });
});

describe("the edge", () => {
  it.each([
    ["no token", { "X-Service-Api-Token": "" }],
    ["a wrong token", { "X-Service-Api-Token": "wrong" }],
    ["the backend's token", { "X-Service-Api-Token": "test-backend-token" }],
  ])("rejects %s before it looks at the body", async (_what, headers) => {
    await expectProblem(await service.render("not JSON", { headers }), "forbidden");
  });

  it("answers 304 when the constraints have not changed", async () => {
    const first = await service.send("/v1/constraints");
    const etag = first.headers.get("ETag") ?? "";
    expect(first.status).toBe(200);
    expect(first.headers.get("Content-Type")).toMatch(/^application\/json/);
    const { limits } = JSON.parse(await first.text());
    expect(limits).toMatchObject({ max_request_body_bytes: MAX_BODY_BYTES, max_output_bytes: MAX_OUTPUT_BYTES });
    expect(etag).toMatch(/^"[^"]+"$/);
    for (const condition of [etag, `W/${etag}`, `"other", ${etag}`, "*"]) {
      const answer = await service.send("/v1/constraints", { headers: { "If-None-Match": condition } });
      expect([answer.status, await answer.text()]).toEqual([304, ""]);
      expect(answer.headers.get("ETag")).toBe(etag);
    }
    const changed = await service.send("/v1/constraints", { headers: { "If-None-Match": '"other"' } });
    expect(changed.status).toBe(200);
  });

  it("answers 405 with the methods of the path", async () => {
    const answer = await service.send("/v1/render");
    expect(answer.headers.get("Allow")).toBe("POST, OPTIONS");
    await expectProblem(answer, "method_not_allowed");
  });

  it("merges the metrics of the backend, labelled with their origin", async () => {
    await (await service.render({ source: "x" })).bytes();
    const answer = await service.send("/metrics");
    expect(answer.headers.get("Content-Type")).toBe("text/plain; version=0.0.4; charset=utf-8");
    const samples = parseMetrics(await answer.text());
    const origin = "backend-1";
    expect(sampleValue(samples, "service_origin_up", { origin })).toBe(1);
    expect(sampleValue(samples, "service_render_requests_total", { origin, outcome: "ok" })).toBeGreaterThan(0);
    expect(samples.filter(({ labels }) => labels.origin !== origin)).toEqual([]);
  });
});

describe("a body at the edge", () => {
  it("over the limit is rejected by its declared length", async () => {
    const answer = await service.render("x".repeat(MAX_BODY_BYTES + 1));
    const { context } = await expectProblem(answer, "request_too_large");
    expect(context).toEqual({ limit: MAX_BODY_BYTES, declared_size: MAX_BODY_BYTES + 1 });
  });

  it("over the limit is rejected while it arrives when it declares no length", async () => {
    const chunk = `10000\r\n${"x".repeat(0x10000)}\r\n`;
    const head = ["POST /v1/render HTTP/1.1", TOKEN_FIELD, JSON_FIELD, "Transfer-Encoding: chunked"];
    const answer = await sendRaw({ url: service.edge.url, head, body: `${chunk.repeat(5)}0\r\n\r\n` });
    const { context } = await expectRawProblem(answer, "request_too_large");
    expect(context).toEqual({ limit: MAX_BODY_BYTES });
  });

  it("in chunks is accepted like any other", async () => {
    const head = ["POST /v1/render HTTP/1.1", TOKEN_FIELD, JSON_FIELD, "Transfer-Encoding: chunked"];
    const body = '7\r\n{"sourc\r\n7\r\ne":"x"}\r\n0\r\n\r\n';
    expect((await sendRaw({ url: service.edge.url, head, body }))?.status).toBe(200);
  });

  it("that is shorter than its Content-Length never gets a successful response", async () => {
    const head = ["POST /v1/render HTTP/1.1", TOKEN_FIELD, JSON_FIELD, "Content-Length: 1000"];
    const answer = await sendRaw({ url: service.edge.url, head, body: '{"source":"x"}', leavesAfterBody: true });
    expect(answer).toBeNull();
    expect((await service.send("/health")).status).toBe(200);
  });

  it("that is longer than its Content-Length is validated up to that length", async () => {
    const head = ["POST /v1/render HTTP/1.1", TOKEN_FIELD, JSON_FIELD, "Content-Length: 10"];
    const answer = await sendRaw({ url: service.edge.url, head, body: '{"source":"x"}' });
    await expectRawProblem(answer, "invalid_request");
  });

  it.each(["text/plain", "json", "a/b/c", "application/json, text/plain"])(
    "of another media type is rejected: %s",
    async (type) => {
      const answer = await service.render({ source: "x" }, { headers: { "Content-Type": type } });
      await expectProblem(answer, "invalid_request");
    },
  );
});

describe("a backend that is gone", () => {
  let broken: TestService;

  beforeAll(async () => {
    broken = await startTestService({ otherBackendUrls: [deadOrigin] });
    return () => broken.stop();
  });

  it("is shown as down in the metrics of the edge, which still responds", async () => {
    const scrape = async () => parseMetrics(await (await broken.send("/metrics")).text());
    const up = async () =>
      (await scrape())
        .filter(({ name }) => name === "service_origin_up")
        .map(({ labels, value }) => [labels.origin, value]);
    expect(await up()).toEqual([
      ["backend-1", 1],
      ["backend-2", 0],
    ]);
    await broken.backend.stop();
    // The metrics are cached for five seconds.
    await expect.poll(up).toEqual([
      ["backend-1", 0],
      ["backend-2", 0],
    ]);
  });

  it("makes the service unavailable for renders only", async () => {
    await broken.backend.stop();
    const answer = await broken.render({ source: "x" });
    expect((await expectProblem(answer, "service_unavailable")).context).toEqual({});
    await expectProblem(await broken.render({ source: "" }), "invalid_request");
    expect((await broken.send("/health")).status).toBe(200);
    expect((await broken.send("/v1/constraints")).status).toBe(200);
  });
});

/**
 * OpenTelemetry traces of the backend, exported to a real HTTP server: what the spans say, to which trace they belong,
 * and that a collector that is down costs a render nothing.
 */
import { randomUUID } from "node:crypto";
import { createServer } from "node:http";
import { json } from "node:stream/consumers";
import { array, type InferOutput, number, object, optional, parse, string, union } from "valibot";
import { describe, expect, it, onTestFinished } from "vitest";
import { OtlpTracing, type TracedRequest } from "../../backend/observe/otlp-tracing.ts";
import { VERSION } from "../../clients/command-line/version.ts";
import type { LocalBackend } from "../../scripts/start/local-service.ts";
import { renderInit } from "../support/backend/test-backend.ts";
import { closeServer, listenOnLoopback } from "../support/loopback-server.ts";
import { startBackendAlone } from "../support/service/test-service.ts";
import { UNREACHABLE_URL } from "../support/tokens.ts";

const TRACE_ID = "4bf92f3577b34da6a3ce929d0e0e4736";
const PARENT_ID = "00f067aa0ba902b7";

const VALUE = object({ stringValue: optional(string()), intValue: optional(union([number(), string()])) });
const ATTRIBUTES = array(object({ key: string(), value: VALUE }));
const SPAN = object({
  traceId: string(),
  spanId: string(),
  /** Empty for a root. */
  parentSpanId: optional(string(), ""),
  name: string(),
  startTimeUnixNano: string(),
  endTimeUnixNano: string(),
  attributes: ATTRIBUTES,
  status: object({ code: number() }),
});
const SCOPE = object({ spans: array(SPAN) });
const RESOURCE = object({ resource: object({ attributes: ATTRIBUTES }), scopeSpans: array(SCOPE) });
const EXPORT = object({ resourceSpans: array(RESOURCE) });

type CollectedSpan = ReturnType<typeof spansOf>[number];

const ERROR_STATUS = 2;

/** Takes OTLP over HTTP in JSON, as a real collector does, and keeps the spans. */
async function startCollector() {
  const server = createServer((request, response) => {
    const taken = json(request).then((body) => {
      collector.exports.push({ path: request.url ?? "", text: JSON.stringify(body) });
      collector.spans.push(...spansOf(body));
      response.writeHead(collector.status, { "Content-Type": "application/json" }).end("{}");
    });
    // An export that the backend breaks off when it ends.
    taken.catch(() => request.destroy());
  });
  onTestFinished(() => closeServer(server));
  const spans: CollectedSpan[] = [];
  const exports: { readonly path: string; readonly text: string }[] = [];
  const collector = { url: await listenOnLoopback(server), spans, exports, status: 200 };
  return collector;
}

function spansOf(body: unknown) {
  return parse(EXPORT, body).resourceSpans.flatMap(({ resource, scopeSpans }) =>
    scopeSpans.flatMap(({ spans }) =>
      spans.map((span) => ({
        ...span,
        attributes: valuesOf(span.attributes),
        isError: span.status.code === ERROR_STATUS,
        startMilliseconds: Number(span.startTimeUnixNano) / 1e6,
        endMilliseconds: Number(span.endTimeUnixNano) / 1e6,
        /** The attributes of the process that made it. */
        resource: valuesOf(resource.attributes),
      })),
    ),
  );
}

function valuesOf(attributes: InferOutput<typeof ATTRIBUTES>) {
  return Object.fromEntries(
    attributes.map(({ key, value }) => [key, value.stringValue ?? Number(value.intValue)] as const),
  );
}

const startTracedBackend = (endpoint: string, settings: Record<string, string> = {}) =>
  startBackendAlone({ OTEL_EXPORTER_OTLP_ENDPOINT: endpoint, ...settings });

async function render(backend: LocalBackend, body: object, headers: Record<string, string> = {}): Promise<Response> {
  const answer = await fetch(new URL("/v1/render", backend.url), renderInit(body, { headers }));
  await answer.bytes();
  return answer;
}

describe("a backend with an endpoint for traces", () => {
  it("exports one span for each render and a child for each phase, in the caller's trace", async () => {
    const collector = await startCollector();
    const backend = await startTracedBackend(`${collector.url.origin}/`);
    const requestId = randomUUID();
    const answer = await render(
      backend,
      { source: "= Very secret title", data: { secret: "very secret" } },
      {
        "X-Request-Id": requestId,
        "X-Service-Caller": "billing",
        "X-Forwarded-Proto": "https",
        traceparent: `00-${TRACE_ID}-${PARENT_ID}-01`,
        tracestate: "vendor=very-secret",
      },
    );
    expect(answer.status).toBe(200);
    await backend.stop();
    const [root, ...others] = collector.spans.filter(({ name }) => name === "POST /v1/render");
    expect(others).toEqual([]);
    expect(root).toMatchObject({ traceId: TRACE_ID, parentSpanId: PARENT_ID, isError: false });
    expect(root?.resource).toMatchObject({
      "service.name": "document-rendering-backend",
      "service.version": VERSION,
      "service.instance.id": expect.stringMatching(/^[0-9a-f-]{36}$/),
    });
    expect(root?.attributes).toEqual({
      "http.request.method": "POST",
      "http.route": "/v1/render",
      "url.path": "/v1/render",
      "url.scheme": "https",
      "http.response.status_code": 200,
      "http.request.body.size": expect.any(Number),
      "http.response.body.size": Number(answer.headers.get("Content-Length")),
      "render.request_id": requestId,
      "render.caller": "billing",
      "render.format": "pdf",
      "render.outcome": "ok",
    });
    const phases = collector.spans.filter((span) => span !== root);
    expect(phases.map(({ name }) => name)).toEqual(["receive", "queue", "start", "files", "compile", "delivery"]);
    for (const phase of phases) {
      expect([phase.traceId, phase.parentSpanId]).toEqual([TRACE_ID, root?.spanId]);
      expect(phase.startMilliseconds).toBeGreaterThanOrEqual((root?.startMilliseconds ?? Number.NaN) - 1);
      expect(phase.endMilliseconds).toBeLessThanOrEqual((root?.endMilliseconds ?? Number.NaN) + 1);
    }
    expect(Math.abs((root?.endMilliseconds ?? 0) - Date.now())).toBeLessThan(60_000);
    expect(collector.exports.map(({ path }) => path)).toEqual(["/v1/traces"]);
    for (const { text } of collector.exports) expect(text).not.toMatch(/secret/i);
  });

  it("begins a trace by the request id if there is none, and exports none that is not sampled or has no token", async () => {
    const collector = await startCollector();
    const backend = await startTracedBackend(collector.url.origin, { OTEL_SERVICE_NAME: "documents" });
    const first = await render(backend, { source: "#panic()" });
    const second = await render(backend, { source: "x", files: 1 }, { traceparent: "00-malformed" });
    await render(backend, { source: "x" }, { traceparent: `00-${TRACE_ID}-${PARENT_ID}-00` });
    await render(backend, { source: "x" }, { "X-Service-Backend-Token": "wrong" });
    await backend.stop();
    expect(collector.spans.map(({ traceId }) => traceId)).not.toContain(TRACE_ID);
    const roots = collector.spans.filter(({ parentSpanId }) => parentSpanId === "");
    expect(roots.map(({ traceId }) => traceId)).toEqual(
      [first, second].map((answer) => answer.headers.get("X-Request-Id")?.replaceAll("-", "")),
    );
    expect(roots.map(({ attributes }) => attributes["render.outcome"])).toEqual([
      "template_compile_failed",
      "invalid_request",
    ]);
    expect(roots.map(({ isError, resource }) => [isError, resource["service.name"]])).toEqual([
      [false, "documents"],
      [false, "documents"],
    ]);
  });

  it("renders as usual when the collector is down, and says so once", async () => {
    const backend = await startTracedBackend(UNREACHABLE_URL, { OTEL_EXPORTER_OTLP_TIMEOUT: "100" });
    for (let index = 0; index < 3; index++) expect((await render(backend, { source: "x" })).status).toBe(200);
    await backend.stop();
    expect(backend.process.exitCode).toBe(0);
    expect(backend.errorText()).toBe("Traces cannot be sent to 127.0.0.1:2: their spans are dropped.");
  });
});

describe("spans", () => {
  const request: TracedRequest = {
    requestId: randomUUID(),
    scheme: "http",
    parent: null,
    caller: "billing",
    format: "pdf",
    outcome: "render_failed",
    requestBytes: 1,
    outputBytes: undefined,
    startMilliseconds: performance.now(),
    endMilliseconds: performance.now(),
    runs: [{ phase: "compile", startMilliseconds: performance.now(), milliseconds: 1 }],
  };

  it("wait in a queue of 4096; any more are dropped and counted", async () => {
    const collector = await startCollector();
    const tracing = new OtlpTracing(new URL("/v1/traces", collector.url), () => {});
    // All within one turn of the event loop: nothing is exported meanwhile.
    for (let index = 0; index < 2048; index++) tracing.record({ ...request, requestId: randomUUID() });
    expect(tracing.lostSpans).toBe(0);
    tracing.record(request);
    expect(tracing.lostSpans).toBe(2);
    await tracing.shutdown();
    // On a slow machine the exports go on after the time that a backend waits for them.
    await expect.poll(() => collector.spans.length).toBe(4096);
    expect(collector.spans.filter(({ isError }) => isError)).toHaveLength(2048);
  });

  it("that the collector does not take are counted", async () => {
    const lines: string[] = [];
    const collector = await startCollector();
    collector.status = 400;
    const tracing = new OtlpTracing(new URL("/v1/traces", collector.url), (line) => lines.push(line));
    for (let index = 0; index < 600; index++) tracing.record(request);
    await tracing.shutdown();
    await expect.poll(() => tracing.lostSpans).toBe(1200);
    expect(collector.exports.length).toBeGreaterThan(1);
    expect(lines).toEqual([`Traces cannot be sent to ${collector.url.host}: their spans are dropped.`]);
  });
});

/** What the edge tells of a request beside its answer: log line, data point, `Server-Timing` and trace. */
import { env, tracing } from "cloudflare:workers";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { ANALYTICS_BLOBS, ANALYTICS_DOUBLES } from "../../../edge/platform/cloudflare/analytics.ts";
import { API_TOKEN } from "../../support/tokens.ts";
import { headOf } from "../answer-head.ts";
import { newEdge, standInBackend } from "../send.ts";

const TRACE_ID = "4bf92f3577b34da6a3ce929d0e0e4736";
const TRACEPARENT = `00-${TRACE_ID}-00f067aa0ba902b7-01`;

type Bindings = Readonly<Record<string, unknown>>;

const log = vi.fn<(line: unknown) => void>();
const error = vi.fn<(line: unknown) => void>();

const pdf = (headers: Record<string, string> = {}) =>
  new Response("%PDF-", headOf("file", { "Content-Length": "5", ...headers }));

const edgeWith = (bindings: Bindings) => newEdge({ SERVICE_API_TOKENS: `billing:${API_TOKEN}`, ...bindings });
const ask = (path: string, init: RequestInit = {}, bindings: Bindings = {}) => edgeWith(bindings).ask(path, init);
const render = (body: string, headers: Record<string, string> = {}, bindings: Bindings = {}, init?: RequestInit) =>
  edgeWith(bindings).render(body, headers, init);

/** The lines that were logged, as the platform gets them. */
const logged = () => log.mock.calls.map(([line]) => JSON.parse(JSON.stringify(line)));

// The methods of the console cannot be spied on in workerd.
beforeEach(() => void vi.stubGlobal("console", { log: log.mockClear(), error: error.mockClear(), warn: () => {} }));
afterEach(() => void vi.unstubAllGlobals());

describe("the log line of a request", () => {
  it("says what was asked by whom, how it ended, how large it was and how long it took", async () => {
    standInBackend(() => pdf());
    const answer = await render('{"source":"x"}');
    expect(logged()).toEqual([
      {
        message: "request",
        requestId: answer.headers.get("X-Request-Id"),
        route: "/v1/render",
        method: "POST",
        status: 200,
        code: "ok",
        caller: "billing",
        requestBytes: 14,
        responseBytes: 5,
        origin: "backend-1",
        tries: 1,
        milliseconds: {
          receive: expect.any(Number),
          validate: expect.any(Number),
          origin: expect.any(Number),
          total: expect.any(Number),
        },
        traceId: answer.headers.get("X-Request-Id")?.replaceAll("-", ""),
      },
    ]);
  });

  it("has the code of a problem, from the edge or from a backend", async () => {
    standInBackend(() => new Response("{}", headOf("output_too_large")));
    const answer = await render('{"source":"x"}');
    expect(answer.headers.has("X-Service-Problem-Code")).toBe(false);
    await render('{"source":1}');
    await render("{}", { "X-Service-Api-Token": "wrong" });
    standInBackend(() => new Response("<html>", { status: 502 }));
    await render('{"source":"x"}');
    expect(logged().map(({ status, code }) => [status, code])).toEqual([
      [413, "output_too_large"],
      [400, "invalid_request"],
      [403, "forbidden"],
      [503, "service_unavailable"],
    ]);
    expect(logged().map(({ caller }) => caller)).toEqual(["billing", "billing", undefined, "billing"]);
  });

  it("is written for every route, and names only paths of routes", async () => {
    await ask("/health");
    await ask("/secret-path/of/someone?secret=query");
    await ask("/v1/constraints?secret=query", {
      headers: { "X-Service-Api-Token": API_TOKEN, "User-Agent": "secret" },
    });
    await ask("/v1/render", { method: "PROPFIND" });
    expect(logged().map(({ route, method, status }) => [route, method, status])).toEqual([
      ["/health", "GET", 200],
      ["none", "GET", 404],
      ["/v1/constraints", "GET", 200],
      ["/v1/render", "other", 405],
    ]);
    expect(JSON.stringify(logged())).not.toMatch(/secret/i);
  });

  it("contains nothing of the request's content, tokens or addresses", async () => {
    standInBackend(() => pdf());
    const headers = { "X-Secret": "secret", Cookie: "secret", tracestate: "a=secret", traceparent: "secret" };
    await render('{"source":"secret","output":{"filename":"secret"}}', headers);
    await render('{"secret":1}', headers);
    await render("{}", { "X-Service-Api-Token": "secret" });
    expect(logged()).toHaveLength(3);
    expect(JSON.stringify(logged())).not.toMatch(/secret|127\.0\.0\.1|render\.example/);
    expect(JSON.stringify(logged())).not.toContain(API_TOKEN);
  });

  it("is written once, even if the client leaves after the answer has begun", async () => {
    standInBackend(() => pdf());
    const client = new AbortController();
    await render('{"source":"x"}', {}, {}, { signal: client.signal });
    client.abort();
    expect(logged()).toMatchObject([{ code: "ok" }]);
  });

  it("is one line of JSON, or absent, if the setting says so", async () => {
    await ask("/health", {}, { SERVICE_LOG_REQUESTS: "json" });
    await ask("/health", {}, { SERVICE_LOG_REQUESTS: "none" });
    const lines: unknown[] = log.mock.calls.flat();
    expect(lines).toEqual([expect.not.stringContaining("\n")]);
    expect(JSON.parse(String(lines[0]))).toMatchObject({ route: "/health", status: 200 });
  });

  it("is also written when a setting is not valid", async () => {
    await ask("/health", {}, { SERVICE_LOG_REQUESTS: "loud" });
    expect(logged()).toMatchObject([{ route: "/health", status: 503, code: "service_unavailable" }]);
  });
});

describe("the trace of a request", () => {
  it("is passed on to the backend and named in the log line", async () => {
    const requests = standInBackend(() => pdf());
    await render('{"source":"x"}', { traceparent: TRACEPARENT, tracestate: " vendor=1 , other=2" });
    expect(requests[0]?.headers.get("traceparent")).toBe(TRACEPARENT);
    expect(requests[0]?.headers.get("tracestate")).toBe("vendor=1,other=2");
    expect(logged()[0].traceId).toBe(TRACE_ID);
  });

  it.each([
    ["malformed", { traceparent: `${TRACEPARENT}-x`, tracestate: "vendor=1" }],
    ["absent", { tracestate: "vendor=1" }],
  ])("is not passed on when it is %s, and has the digits of the request id", async (_what, headers) => {
    const requests = standInBackend(() => pdf());
    const answer = await render('{"source":"x"}', headers);
    expect(requests[0]?.headers.has("traceparent")).toBe(false);
    expect(requests[0]?.headers.has("tracestate")).toBe(false);
    expect(logged()[0].traceId).toBe(answer.headers.get("X-Request-Id")?.replaceAll("-", ""));
  });
});

describe("Server-Timing", () => {
  const NAMES = /^receive;dur=\d+, validate;dur=\d+, origin;dur=\d+/;

  it.each([
    ["queue;dur=0.1, compile;dur=12.5", ", queue;dur=0.1, compile;dur=12.5"],
    ['db;desc="secret"', ""],
  ])(
    "has the phases of the edge, and those of the backend if this service can have written them: %s",
    async (field, passed) => {
      standInBackend(() => pdf({ "Server-Timing": field }));
      const timing = (await render('{"source":"x"}')).headers.get("Server-Timing") ?? "";
      expect(timing).toMatch(NAMES);
      expect(timing.replace(NAMES, "")).toBe(passed);
    },
  );

  it("is part of problems too", async () => {
    const answer = await render('{"source":1}');
    expect(answer.headers.get("Server-Timing")).toMatch(/^receive;dur=\d+, validate;dur=\d+$/);
  });

  it("is sent neither to callers without a token nor on other routes", async () => {
    expect((await render("{}", { "X-Service-Api-Token": "" })).headers.has("Server-Timing")).toBe(false);
    expect((await ask("/health")).headers.has("Server-Timing")).toBe(false);
  });
});

describe("a data point of Analytics Engine", () => {
  interface Point {
    indexes: string[];
    blobs: string[];
    doubles: number[];
  }

  /** As Cloudflare documents the limits of a data point. */
  function startDataset() {
    const points: Point[] = [];
    const writeDataPoint = (point: Point) => {
      if (point.indexes.length > 1 || point.blobs.length > 20 || point.doubles.length > 20) throw new Error("too many");
      if (point.indexes.some((index) => new TextEncoder().encode(index).length > 96)) throw new Error("index too long");
      points.push(point);
    };
    return { points, EDGE_ANALYTICS: { writeDataPoint } };
  }

  /** The columns of a point by their names. */
  function columns({ blobs, doubles }: Point) {
    return Object.fromEntries([
      ...ANALYTICS_BLOBS.map(([name], index) => [name, blobs[index]] as const),
      ...ANALYTICS_DOUBLES.map(
        ([name], index) => [name === "origin" ? "originMilliseconds" : name, doubles[index]] as const,
      ),
    ]);
  }

  it("is written for each request, whether it is logged or not", async () => {
    standInBackend(() => pdf());
    const { points, EDGE_ANALYTICS } = startDataset();
    await render('{"source":"x"}', {}, { EDGE_ANALYTICS, SERVICE_LOG_REQUESTS: "none" });
    await ask("/nowhere", {}, { EDGE_ANALYTICS });
    expect(points.map(({ indexes }) => indexes)).toEqual([["billing"], ["none"]]);
    expect(points.map(columns)).toEqual([
      {
        route: "/v1/render",
        method: "POST",
        code: "ok",
        caller: "billing",
        origin: "backend-1",
        cause: "",
        failures: "",
        status: 200,
        requestBytes: 14,
        responseBytes: 5,
        tries: 1,
        receive: expect.any(Number),
        validate: expect.any(Number),
        originMilliseconds: expect.any(Number),
        total: expect.any(Number),
      },
      expect.objectContaining({
        route: "none",
        code: "not_found",
        caller: "",
        status: 404,
        requestBytes: -1,
        receive: -1,
      }),
    ]);
    expect(logged()).toHaveLength(1);
  });

  it("keeps its columns: queries name them by their numbers", () => {
    const names = [...ANALYTICS_BLOBS, ...ANALYTICS_DOUBLES].map(([name]) => name).join(" ");
    expect(names).toBe(
      "route method code caller origin cause failures status requestBytes responseBytes tries receive validate origin total",
    );
  });

  it("that cannot be written is reported once, and no request fails", async () => {
    const EDGE_ANALYTICS = {
      writeDataPoint: () => {
        throw new Error("no dataset");
      },
    };
    for (let round = 0; round < 3; round++) expect((await ask("/health", {}, { EDGE_ANALYTICS })).status).toBe(200);
    expect(error).toHaveBeenCalledTimes(1);
    expect(logged()).toHaveLength(3);
    expect((await ask("/health", {}, { EDGE_ANALYTICS: "requests" })).status).toBe(200);
  });

  it("is accepted by the binding of the platform", async () => {
    expect(env).toHaveProperty("EDGE_ANALYTICS.writeDataPoint");
    expect((await ask("/health")).status).toBe(200);
    expect(error).not.toHaveBeenCalled();
  });
});

it("the log line of a request that failed names the error, without its stack", async () => {
  const ASSETS = { fetch: () => Promise.reject(new Error("no such file")) };
  expect((await ask("/error-codes.json", {}, { ASSETS })).status).toBe(503);
  expect(error.mock.calls[0]?.[0]).toMatchObject({ message: "request failed", error: "Error: no such file" });
});

describe("the platform's span of a request", () => {
  /** Stands in for Workers traces, which workerd by itself does not have. */
  async function spanOf(isTraced: boolean): Promise<unknown[]> {
    const setAttributes = vi.fn();
    const spy = vi.spyOn(tracing, "getActiveSpan");
    vi.mocked(spy, { partial: true }).mockReturnValue({ isTraced, setAttributes });
    const headers = { traceparent: TRACEPARENT };
    expect(
      (await ask("/health", { headers }, { SERVICE_LOG_REQUESTS: "none", EDGE_ANALYTICS: undefined })).status,
    ).toBe(200);
    spy.mockRestore();
    return setAttributes.mock.calls.flat();
  }

  it("names the ids that lead to the log lines and to the backend's spans", async () => {
    expect(await spanOf(true)).toEqual([
      expect.objectContaining({
        "http.route": "/health",
        "render.request_id": expect.stringMatching(/^[0-9a-f-]{36}$/),
        "render.trace_id": TRACE_ID,
        "render.outcome": "ok",
      }),
    ]);
    expect(log).not.toHaveBeenCalled();
  });

  it("gets no attributes if it is not sampled", async () => {
    expect(await spanOf(false)).toEqual([]);
  });
});

/** The backend's routes: authentication, requests that are refused before a render, and what operators see. */
import { describe, expect, it } from "vitest";
import { DEFAULT_LIMITS, limitsFingerprint } from "../../../rules/limits.ts";
import { renderInit, startSharedBackend, startTemporaryBackend } from "../../support/backend/test-backend.ts";
import { expectProblem } from "../../support/problems.ts";
import { expectRawProblem, sendRaw } from "../../support/service/raw-connection.ts";
import { BACKEND_TOKEN } from "../../support/tokens.ts";

const MAX_BODY_BYTES = 100_000;

const backend = await startSharedBackend({ SERVICE_MAX_REQUEST_BODY_BYTES: String(MAX_BODY_BYTES) });

const JSON_FIELD = "Content-Type: application/json";

const sendHead = (...fields: readonly string[]) => sendRaw(backend.url, ["POST /v1/render HTTP/1.1", ...fields]);

describe("the backend's token", () => {
  it.each([
    ["none", {}],
    ["a wrong one", { "X-Service-Backend-Token": "wrong" }],
    ["the beginning of the right one", { "X-Service-Backend-Token": BACKEND_TOKEN.slice(0, -1) }],
    ["a client's", { "X-Service-Api-Token": BACKEND_TOKEN }],
  ])("is required: %s is refused", async (_what, headers) => {
    const answer = await backend.fetch("/v1/render", {
      method: "POST",
      headers: { "Content-Type": "application/json", ...headers },
      body: '{"source":"x"}',
    });
    expect((await expectProblem(answer, "forbidden")).context).toEqual({});
  });

  it("is checked before the body is read, whatever length the body declares", async () => {
    for (const field of ["Content-Length: 1000", "Content-Length: 999999999", "Transfer-Encoding: chunked"]) {
      await expectRawProblem(await sendHead(JSON_FIELD, field), "forbidden");
    }
  });

  it.each(["nonsense", "a/b/c"])("is checked before the media type: %s", async (type) => {
    const init = { method: "POST", headers: { "Content-Type": type }, body: "x" };
    await expectProblem(await backend.fetch("/v1/render", init), "forbidden");
  });

  it("may be any of the configured ones", async () => {
    const other = await startTemporaryBackend({ SERVICE_BACKEND_TOKENS: "old, new" });
    for (const token of ["old", "new"]) {
      const answer = await other.render({ source: "x" }, { headers: { "X-Service-Backend-Token": token } });
      expect(answer.status).toBe(200);
    }
    await expectProblem(await other.render({ source: "x" }), "forbidden");
  });
});

describe("paths and methods", () => {
  it.each(["/", "/v1/render/", "/v1/constraints", "/V1/RENDER", "/%zz", "/constructor"])(
    "that do not exist are not found: %s",
    async (path) => {
      expect((await expectProblem(await backend.fetch(path), "not_found")).context).toEqual({});
    },
  );

  it.each([
    ["GET", "/v1/render", "POST, OPTIONS"],
    ["HEAD", "/v1/render", "POST, OPTIONS"],
    ["PUT", "/v1/render?x=1", "POST, OPTIONS"],
    ["QUERY", "/v1/render", "POST, OPTIONS"],
    ["POST", "/health", "GET, HEAD, OPTIONS"],
    ["PATCH", "/ready", "GET, HEAD, OPTIONS"],
    ["POST", "/metrics", "GET, HEAD, OPTIONS"],
  ])(
    "that do not match are refused with the allowed methods, as OPTIONS names them: %s %s",
    async (method, path, allowed) => {
      const options = await backend.fetch(path, { method: "OPTIONS" });
      expect([options.status, options.headers.get("Allow"), await options.text()]).toEqual([204, allowed, ""]);
      expect(options.headers.get("X-Request-Id")).not.toBeNull();
      const answer = await backend.fetch(path, { method, ...(method === "PUT" && { body: "x" }) });
      expect(answer.headers.get("Allow")).toBe(allowed);
      if (method === "HEAD") expect(answer.status).toBe(405);
      else expect((await expectProblem(answer, "method_not_allowed")).context).toEqual({});
    },
  );

  it("answer HEAD like GET, without the body", async () => {
    const answer = await backend.fetch("/health", { method: "HEAD" });
    expect([answer.status, await answer.text()]).toEqual([200, ""]);
  });
});

describe("a body over the limit", () => {
  it("is one byte larger than a body that is accepted", async () => {
    const shell = '{"source":"x","data":""}';
    const full = shell.replace('""', `"${" ".repeat(MAX_BODY_BYTES - shell.length)}"`);
    expect(full).toHaveLength(MAX_BODY_BYTES);
    expect((await backend.render(full)).status).toBe(200);
    await expectProblem(await backend.render(`${full} `), "request_too_large");
  });
});

describe("the media type of a body", () => {
  // All of them are in test/rules/request-head.test.ts. These are refused by Fastify first, or by nobody else.
  it.each(["text/plain", "application/json, text/plain", "a/b/c", "application/"])("must be JSON: %s", async (type) => {
    const answer = await backend.render({ source: "x" }, { headers: { "Content-Type": type } });
    expect((await expectProblem(answer, "invalid_request")).context).toEqual({});
  });
});

describe("a problem's instance", () => {
  const REQUEST_ID = "0b6cb2a4-6e0f-4a0b-9d5c-3a3c7f4f7b11";

  it("is the URL that the client requested, as forwarded by the edge, without its query", async () => {
    const answer = await backend.fetch("/v1/render?token=secret", {
      ...renderInit("{", {
        headers: {
          "X-Forwarded-Proto": "https",
          "X-Forwarded-Host": "render.example",
          "X-Request-Id": REQUEST_ID,
        },
      }),
    });
    const { instance } = await expectProblem(answer, "invalid_request");
    expect(instance).toBe(`https://render.example/v1/render#${REQUEST_ID}`);
  });

  it.each([
    ["/print", "/print"],
    ["/print/a-b/", "/print/a-b"],
    ["/../x", ""],
    ["//other.example", ""],
    ["/<script>", ""],
    ["print", ""],
    [`/${"a".repeat(256)}`, ""],
  ])("has the path below which a proxy says that it serves: %s", async (forwarded, prefix) => {
    const answer = await backend.fetch("/nowhere", { headers: { "X-Forwarded-Prefix": forwarded } });
    const { instance } = await expectProblem(answer, "not_found");
    expect(new URL(instance).pathname).toBe(`${prefix}/nowhere`);
  });

  it.each(["", "x", REQUEST_ID.toUpperCase(), `${REQUEST_ID}0`, `0${REQUEST_ID}`])(
    "ends in an id of its own if the one that arrives is none: %j",
    async (id) => {
      const answer = await backend.fetch("/nowhere", { headers: { "X-Request-Id": id } });
      const { instance } = await expectProblem(answer, "not_found");
      expect(instance).toMatch(/#[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
      expect(instance.toLowerCase()).not.toContain(REQUEST_ID);
    },
  );

  it.each(["a b", "", "<script>", "x/../y"])("is a valid URL even for the forwarded host %j", async (host) => {
    const answer = await backend.fetch("/nowhere", { headers: { "X-Forwarded-Host": host } });
    const { instance } = JSON.parse(await answer.text());
    expect(URL.canParse(instance, "http://base.example")).toBe(true);
    expect(instance).not.toContain("<");
  });
});

describe("operators", () => {
  it("see the health of the backend with the version of Typst", async () => {
    const answer = await backend.fetch("/health");
    expect(answer.status).toBe(200);
    expect(answer.headers.get("Content-Type")).toMatch(/^application\/json/);
    expect(answer.headers.get("X-Content-Type-Options")).toBe("nosniff");
    expect(await answer.json()).toEqual({ status: "ok", typst: "0.15.1", sandbox: "bubblewrap" });
  });

  it("see readiness until the backend is about to stop, and that it still renders until it refuses to", async () => {
    const draining = await startTemporaryBackend();
    expect(await (await draining.fetch("/ready")).json()).toEqual({ status: "ready" });
    expect((await draining.render({ source: "x" })).headers.get("X-Service-Load")).not.toContain("draining");
    draining.announceStop();
    await expectProblem(await draining.fetch("/ready"), "service_unavailable");
    const answer = await draining.render({ source: "x" });
    expect([answer.status, answer.headers.get("X-Service-Load")?.endsWith(",draining")]).toEqual([200, true]);
    // A connection that is kept would keep the backend from ending.
    expect(answer.headers.get("Connection")).toBe("close");
    draining.refuseRenders();
    draining.announceStop();
    await expectProblem(await draining.fetch("/ready"), "service_unavailable");
    await expectProblem(await draining.render({ source: "x" }), "service_unavailable");
    // Who has no token does not learn it.
    const headers = { "X-Service-Backend-Token": "wrong" };
    await expectProblem(await draining.render({ source: "x" }, { headers }), "forbidden");
    expect((await draining.fetch("/health")).status).toBe(200);
    expect((await draining.fetch("/metrics")).status).toBe(200);
  });

  it("see metrics that can be parsed, including those of the process", async () => {
    const answer = await backend.fetch("/metrics");
    expect(answer.headers.get("Content-Type")).toBe("text/plain; version=0.0.4; charset=utf-8");
    const names = (await backend.metrics()).map(({ name }) => name);
    expect(names).toEqual(expect.arrayContaining(["service_render_slots", "process_cpu_seconds_total"]));
  });

  it("see each render counted once, with its phases and its size", async () => {
    const own = await startTemporaryBackend();
    await (await own.render({ source: "x" })).bytes();
    await (await own.render({ source: "x", output: { format: "svg", archive: "zip" } })).bytes();
    await own.render({ source: "#nothing", output: { format: "png" } });
    await own.render({ source: "" });
    await own.render("x", { headers: { "X-Service-Backend-Token": "" } });
    const samples = await own.metrics();
    const counted = samples
      .filter(({ name, value }) => name === "service_render_requests_total" && value > 0)
      .map(({ labels, value }) => `${labels.format} ${labels.outcome} ${value}`);
    const expected = "none forbidden 1, none invalid_request 1, pdf ok 1, png template_compile_failed 1, svg ok 1";
    expect(counted.toSorted().join(", ")).toBe(expected);
    expect(await own.metric("service_render_phase_seconds_count", { phase: "compile" })).toBe(3);
    expect(await own.metric("service_render_phase_seconds_count", { phase: "archive" })).toBe(1);
    expect(await own.metric("service_render_output_bytes_count", { format: "pdf" })).toBe(1);
    const durations = ["ok", "template", "request", "service"].map((outcomeClass) =>
      own.metric("service_render_duration_seconds_count", { class: outcomeClass }),
    );
    expect(await Promise.all(durations)).toEqual([2, 1, 2, 0]);
    const seconds = (phase: string) => own.metric("service_render_phase_seconds_sum", { phase });
    const whole = await own.metric("service_render_duration_seconds_sum");
    expect(whole).toBeGreaterThan((await seconds("compile")) + (await seconds("delivery")));
  });

  it("see that an edge has other limits", async () => {
    const own = await startTemporaryBackend();
    const send = (limits: string) => own.render({ source: "x" }, { headers: { "X-Service-Limits": limits } });
    expect((await send(limitsFingerprint(DEFAULT_LIMITS))).status).toBe(200);
    expect(await own.metric("service_limits_mismatches_total")).toBe(0);
    expect((await send(limitsFingerprint({ ...DEFAULT_LIMITS, max_output_files: 63 }))).status).toBe(200);
    expect(await own.metric("service_limits_mismatches_total")).toBe(1);
  });
});

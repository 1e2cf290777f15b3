/** The edge's routes, inside workerd: what is open, what is protected, and the problems of everything else. */
import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import app from "../../edge/platform/cloudflare/worker.ts";
import { constraintsDocument, STATIC_DOCUMENTS } from "../../rules/constraints.ts";
import { DEFAULT_LIMITS } from "../../rules/limits.ts";
import { API_TOKEN } from "../support/tokens.ts";
import { BASE_URL, expectProblem, send } from "./send.ts";

const WITH_TOKEN = { headers: { "X-Service-Api-Token": API_TOKEN } };
const REQUEST_ID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** A body of one byte, and whether it has been read. */
function watchedBody() {
  let isRead = false;
  const body = new ReadableStream(
    {
      type: "bytes",
      pull(controller) {
        isRead = true;
        controller.enqueue(new Uint8Array(1));
        controller.close();
      },
    },
    { highWaterMark: 0 },
  );
  return { body, isRead: () => isRead };
}

/** A body of chunks of 1 MiB, as that of every request that arrives over the network. */
function endlessBody() {
  let pulledBytes = 0;
  const body = new ReadableStream(
    {
      type: "bytes",
      pull(controller) {
        pulledBytes += 1024 * 1024;
        controller.enqueue(new Uint8Array(1024 * 1024));
      },
    },
    { highWaterMark: 0 },
  );
  return { body, pulledBytes: () => pulledBytes };
}

describe("open routes", () => {
  it("answer /health with the status ok", async () => {
    const answer = await send("/health");
    expect(answer.status).toBe(200);
    expect(answer.headers.get("Content-Type")).toBe("application/json");
    expect(await answer.json()).toEqual({ status: "ok" });
    expect((await app.fetch(new Request("http://render.example/health"), env)).status).toBe(200);
  });

  it.each(Object.entries(STATIC_DOCUMENTS))("serve /%s without a token, as generated", async (name, document) => {
    const answer = await send(`/${name}`);
    expect(answer.status).toBe(200);
    expect(answer.headers.get("Content-Type")).toBe("application/json");
    expect(await answer.json()).toEqual(JSON.parse(JSON.stringify(document)));
  });

  it("serve a static document under another spelling of its path too", async () => {
    expect(await (await send("/output-rules%2Ejson")).json()).toHaveProperty("output_rules_version");
  });

  it("report a backend that is not there in /metrics and do not fail", async () => {
    const answer = await send("/metrics");
    expect(answer.status).toBe(200);
    expect(answer.headers.get("Content-Type")).toBe("text/plain; version=0.0.4; charset=utf-8");
    expect(await answer.text()).toContain('service_origin_absent{origin="backend-1"} 1\n');
  });

  it("give every response its own request id and forbid sniffing", async () => {
    const answers = await Promise.all(
      ["/health", "/health", "/error-codes.json", "/nowhere"].map((path) => send(path)),
    );
    const ids = answers.map((answer) => answer.headers.get("X-Request-Id") ?? "");
    expect(new Set(ids).size).toBe(ids.length);
    for (const id of ids) expect(id).toMatch(REQUEST_ID);
    for (const answer of answers) expect(answer.headers.get("X-Content-Type-Options")).toBe("nosniff");
  });
});

describe("the token", () => {
  const wrongTokens = [undefined, `${API_TOKEN}x`];

  it.each(
    wrongTokens.flatMap((token) => [
      ["GET", "/v1/constraints", token],
      ["POST", "/v1/render", token],
    ]),
  )("is rejected for %s %s when it is %j", async (method, path, token) => {
    const headers: Record<string, string> = token === undefined ? {} : { "X-Service-Api-Token": token };
    const body = await expectProblem(await send(path ?? "", { method: method ?? "", headers }), "forbidden");
    expect(body.context).toEqual({});
  });

  it("is checked before the body, of which only a bounded amount is read and discarded", async () => {
    const { body, pulledBytes } = endlessBody();
    // Directly to the application, because the runtime itself reads ahead.
    const request = new Request(`${BASE_URL}/v1/render`, { method: "POST", body });
    await expectProblem(await app.fetch(request, env), "forbidden");
    expect(pulledBytes()).toBeGreaterThan(60 * 1024 * 1024);
    expect(pulledBytes()).toBeLessThan(70 * 1024 * 1024);
  });

  it("is refused without reading the body of a client that waits to be asked for it", async () => {
    const { body, isRead } = watchedBody();
    const init = { method: "POST", headers: { Expect: "100-continue" }, body };
    await expectProblem(await app.fetch(new Request(`${BASE_URL}/v1/render`, init), env), "forbidden");
    expect(isRead()).toBe(false);
  });

  it("may be missing in any number of requests, and the body of each is read and discarded", async () => {
    // One caller may have 32 bodies discarded at once.
    for (let count = 0; count < 33; count++) {
      const { body, isRead } = watchedBody();
      await app.fetch(new Request(`${BASE_URL}/v1/render`, { method: "POST", body }), env);
      expect(isRead()).toBe(true);
    }
  });
});

it("a body that is too large is discarded, also if its client has waited to be asked for it", async () => {
  const { body, pulledBytes } = endlessBody();
  const init = {
    method: "POST",
    headers: { ...WITH_TOKEN.headers, "Content-Type": "application/json", Expect: "100-continue" },
    body,
  };
  await expectProblem(await app.fetch(new Request(`${BASE_URL}/v1/render`, init), env), "request_too_large");
  expect(pulledBytes()).toBeGreaterThan(80 * 1024 * 1024);
});

describe("GET /v1/constraints", () => {
  it("publishes the rules and the limits of the deployment", async () => {
    const answer = await send("/v1/constraints", WITH_TOKEN);
    expect(answer.headers.get("Content-Type")).toBe("application/json");
    expect(await answer.json()).toEqual(JSON.parse(JSON.stringify(constraintsDocument(DEFAULT_LIMITS))));
  });

  it("follows the settings", async () => {
    const settings = { ...env, SERVICE_MAX_INLINE_FILES: "2000", SERVICE_MAX_OUTPUT_FILES: "7" };
    const answer = await app.fetch(new Request(`${BASE_URL}/v1/constraints`, WITH_TOKEN), settings);
    const { limits } = await answer.json<{ limits: Record<string, number> }>();
    expect(limits).toMatchObject({ max_inline_files: 2000, effective_max_files: 1024, max_output_files: 7 });
  });

  it.each([
    ["SERVICE_MAX_INLINE_FILES", "many"],
    ["SERVICE_BODY_TIMEOUT_SECONDS", "0"],
    ["SERVICE_BACKEND_URLS", "ftp://backend"],
    ["SERVICE_API_TOKENS", "-name:token"],
    ["SERVICE_CORS_ORIGINS", "a.example"],
  ])("answers 503 at /health too when %s is %j", async (name, value) => {
    const answer = await app.fetch(new Request(`${BASE_URL}/health`), { ...env, [name]: value });
    await expectProblem(answer, "service_unavailable");
  });

  it("has a strong entity tag and answers 304 to a client that has it", async () => {
    const first = await send("/v1/constraints", WITH_TOKEN);
    const etag = first.headers.get("ETag") ?? "";
    expect(etag).toMatch(/^"[0-9a-f]+"$/);
    for (const condition of [etag, `"other", ${etag}`, `W/${etag}`, "*"]) {
      const headers = { ...WITH_TOKEN.headers, "If-None-Match": condition };
      for (const method of ["GET", "HEAD"]) {
        const answer = await send("/v1/constraints", { method, headers });
        expect([condition, answer.status, await answer.text()]).toEqual([condition, 304, ""]);
        expect(answer.headers.get("ETag")).toBe(etag);
        expect(answer.headers.get("Cache-Control")).toBe("private, no-cache");
      }
    }
    await expectProblem(await send("/v1/constraints", { headers: { "If-None-Match": etag } }), "forbidden");
    const other = await send("/v1/constraints", { headers: { ...WITH_TOKEN.headers, "If-None-Match": '"other"' } });
    expect(other.status).toBe(200);
  });
});

describe("unknown paths and methods", () => {
  it.each(["/v1", "/v1/", "/v1/render/", "/v1/Render", "/v2/render", "/static/error-codes.json", "/toString"])(
    "answers 404 at %s",
    async (path) => {
      await expectProblem(await send(path), "not_found");
    },
  );

  it.each([
    ["GET", "/v1/render", "POST, OPTIONS"],
    ["PUT", "/v1/render", "POST, OPTIONS"],
    ["POST", "/v1/constraints", "GET, HEAD, OPTIONS"],
    ["DELETE", "/health", "GET, HEAD, OPTIONS"],
    ["POST", "/metrics", "GET, HEAD, OPTIONS"],
    ["POST", "/error-codes.json", "GET, HEAD, OPTIONS"],
  ])("answer 405 to %s %s and name the allowed methods", async (method, path, allowed) => {
    const answer = await send(path, { method });
    expect(answer.headers.get("Allow")).toBe(allowed);
    await expectProblem(answer, "method_not_allowed");
  });

  it("answer OPTIONS with the allowed methods, and 404 for an unknown path", async () => {
    const answer = await send("/v1/render", { method: "OPTIONS" });
    expect([answer.status, answer.headers.get("Allow")]).toEqual([204, "POST, OPTIONS"]);
    await expectProblem(await send("/nowhere", { method: "OPTIONS" }), "not_found");
  });

  it("answer OPTIONS without reading its body: only that of a refused request is discarded", async () => {
    const { body, isRead } = watchedBody();
    const request = new Request(`${BASE_URL}/v1/render`, { method: "OPTIONS", body });
    expect((await app.fetch(request, env)).status).toBe(204);
    expect(isRead()).toBe(false);
  });
});

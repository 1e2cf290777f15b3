/** The edge's routes, inside workerd: what is open, and the constraints. What else there is of methods, targets and tokens: test/service/edge/raw-requests.test.ts. */
import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import app from "../../edge/platform/cloudflare/worker.ts";
import { constraintsDocument, STATIC_DOCUMENTS } from "../../rules/constraints.ts";
import { DEFAULT_LIMITS } from "../../rules/limits.ts";
import { API_TOKEN } from "../support/tokens.ts";
import { BASE_URL, expectProblem, send } from "./send.ts";

const WITH_TOKEN = { headers: { "X-Service-Api-Token": API_TOKEN } };
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

it("names the two slashes that a base address with a final slash makes", async () => {
  const { detail } = await expectProblem(await send("//v1/render", { method: "POST" }), "not_found");
  expect(detail).toContain("two slashes");
});

/** `/metrics` of the edge, inside workerd: open, for holders of a token, or not there. */
import { env } from "cloudflare:workers";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import app from "../../../edge/platform/cloudflare/worker.ts";
import { API_TOKEN, BACKEND_TOKEN } from "../../support/tokens.ts";
import { BASE_URL, expectProblem } from "../send.ts";

const PROTECTED = { ...env, SERVICE_METRICS_ACCESS: "token", SERVICE_METRICS_TOKENS: "scrape-1, scrape-2" };
const OFF = { ...env, SERVICE_METRICS_ACCESS: "off" };

const ask = (settings: object, init: RequestInit = {}, path = "/metrics") =>
  app.fetch(new Request(`${BASE_URL}${path}`, init), settings);
const authorization = (value: string) => ({ Authorization: value });

describe("/metrics", () => {
  it.each([
    ["by default", {}],
    ["when it is said so", { SERVICE_METRICS_ACCESS: "open" }],
    [
      "when it is said so, whatever tokens there are",
      { SERVICE_METRICS_ACCESS: " open ", SERVICE_METRICS_TOKENS: "x" },
    ],
  ])("is open %s", async (_when, settings) => {
    const answer = await ask({ ...env, ...settings });
    expect(answer.status).toBe(200);
    expect(await answer.text()).toContain("service_origin_up");
  });

  it.each([
    ["is open names no callers", {}, false],
    ["is protected names callers", PROTECTED, true],
  ])("that %s", async (_what, settings, namesCallers) => {
    vi.stubGlobal("fetch", async () => new Response('# TYPE renders counter\nrenders{caller="shop"} 1\n'));
    onTestFinished(() => void vi.unstubAllGlobals());
    const answer = await ask({ ...env, ...settings }, { headers: authorization("Bearer scrape-1") });
    expect((await answer.text()).includes("shop")).toBe(namesCallers);
  });

  it.each(["Bearer scrape-1", "Bearer scrape-2", "bearer scrape-1", "Bearer   scrape-1"])(
    "that is protected is there for %j",
    async (value) => {
      expect((await ask(PROTECTED, { headers: authorization(value) })).status).toBe(200);
    },
  );

  it.each<Record<string, string>>([
    {},
    { "X-Service-Api-Token": "scrape-1" },
    ...["", "Bearer", "Bearer ", "Bearer scrape", "Bearer scrape-11", "Bearer SCRAPE-1"].map(authorization),
    ...["Bearer scrape-1, scrape-2", "Bearer scrape-1 scrape-2", "scrape-1", "Basic scrape-1"].map(authorization),
    ...[`Basic ${btoa("x:scrape-1")}`, `Bearer ${API_TOKEN}`, `Bearer ${BACKEND_TOKEN}`].map(authorization),
  ])("that is protected refuses %j", async (headers) => {
    expect((await ask(PROTECTED, { headers, method: "HEAD" })).status).toBe(403);
    const { detail, context } = await expectProblem(await ask(PROTECTED, { headers }), "forbidden");
    expect(context).toEqual({});
    expect(detail).toContain("Authorization: Bearer");
  });

  it("that is protected still names its methods", async () => {
    const answer = await ask(PROTECTED, { method: "POST" });
    expect(answer.headers.get("Allow")).toBe("GET, HEAD, OPTIONS");
    await expectProblem(answer, "method_not_allowed");
    expect((await ask(PROTECTED, { method: "OPTIONS" })).status).toBe(204);
  });

  it("has tokens that open nothing else, and a caller's does not open it", async () => {
    const init = { headers: { "X-Service-Api-Token": "scrape-1", Authorization: "Bearer scrape-1" } };
    await expectProblem(await ask(PROTECTED, init, "/v1/constraints"), "forbidden");
  });

  it.each(["GET", "HEAD", "POST", "OPTIONS"])("that is off is like any unknown path for %s", async (method) => {
    const answer = await ask(OFF, { method });
    expect([answer.status, answer.headers.get("Allow")]).toEqual([404, null]);
    if (method === "HEAD") return;
    const other = await ask(OFF, { method }, "/metric");
    const [{ instance: _one, ...problem }, { instance: _other, ...expected }] = [
      await expectProblem(answer, "not_found"),
      await expectProblem(other, "not_found"),
    ];
    expect(problem).toEqual(expected);
  });

  it.each([
    ["SERVICE_METRICS_ACCESS", { SERVICE_METRICS_ACCESS: "closed" }],
    ["SERVICE_METRICS_TOKENS", { SERVICE_METRICS_ACCESS: "token" }],
    ["SERVICE_METRICS_TOKENS", { SERVICE_METRICS_ACCESS: "token", SERVICE_METRICS_TOKENS: " , " }],
    ["SERVICE_METRICS_TOKENS", { SERVICE_METRICS_TOKENS: "é" }],
  ])("is closed, and the service not healthy, while %s is not valid: %j", async (_name, settings) => {
    for (const path of ["/metrics", "/health"]) {
      await expectProblem(await ask({ ...env, ...settings }, {}, path), "service_unavailable");
    }
  });
});

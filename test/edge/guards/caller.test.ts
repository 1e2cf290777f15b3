/** Who may ask, inside workerd: the rate limit per caller with Miniflare's binding, and `/metrics` open, for holders of a token, or not there. */
import { env } from "cloudflare:workers";
import { afterEach, describe, expect, it, onTestFinished, vi } from "vitest";
import app from "../../../edge/platform/cloudflare/worker.ts";
import { API_TOKEN, BACKEND_TOKEN } from "../../support/tokens.ts";
import { BASE_URL, expectProblem } from "../send.ts";

/** Of `TEST_RATE_LIMITER` in vitest.config.ts. */
const LIMIT = 3;
/** With more, a request is over the limit even if the binding's period ends meanwhile. */
const MORE_THAN_TWO_PERIODS = 2 * LIMIT + 1;

/** The binding under test: each test has callers of its own. */
const LIMITED = { ...env, CALLER_RATE_LIMITER: env.TEST_RATE_LIMITER, SERVICE_API_TOKENS: "a:a1, a:a2, b:b1, c:c1" };

const render = (token: string, settings: object = LIMITED, body: BodyInit = "not JSON") =>
  app.fetch(
    new Request(`${BASE_URL}/v1/render`, { method: "POST", headers: { "X-Service-Api-Token": token }, body }),
    settings,
  );

/** The statuses of requests that the edge refuses by their body, if it gets as far as that. */
async function statuses(count: number, ...[token, settings]: Parameters<typeof render>): Promise<number[]> {
  const answers: number[] = [];
  for (let n = 0; n < count; n++) answers.push((await render(token, settings)).status);
  return answers;
}

/** A binding that behaves as `limit` does. */
const binding = (limit: RateLimit["limit"]) => ({ ...LIMITED, CALLER_RATE_LIMITER: { limit } });

afterEach(() => {
  vi.restoreAllMocks();
});

describe("a caller", () => {
  it("may send as many requests as the binding allows, with all of its tokens together", async () => {
    expect(await statuses(LIMIT, "a1")).toEqual([400, 400, 400]);
    expect(await statuses(MORE_THAN_TWO_PERIODS - LIMIT, "a2")).toContain(429);
  });

  it("that is over its rate learns when to try again", async () => {
    const settings = { ...binding(async () => ({ success: false })), SERVICE_RATE_LIMIT_PERIOD_SECONDS: "60" };
    const answer = await render("a1", settings);
    expect(answer.headers.get("Retry-After")).toBe("60");
    const { context } = await expectProblem(answer, "render_queue_full");
    expect(context).toEqual({ retry_after: 60 });
  });

  it("is limited by its name, never by its token, and not before its token is known", async () => {
    const keys: string[] = [];
    const settings = binding(async ({ key }) => ({ success: keys.push(key) < 0 }));
    await expectProblem(await render("wrong", settings), "forbidden");
    await expectProblem(await render("a2", settings), "render_queue_full");
    expect(keys).toEqual(["a"]);
  });

  it("always gets the constraints", async () => {
    const settings = binding(async () => ({ success: false }));
    const request = new Request(`${BASE_URL}/v1/constraints`, { headers: { "X-Service-Api-Token": "a1" } });
    expect((await app.fetch(request, settings)).status).toBe(200);
  });
});

describe("no request is refused because of a binding that", () => {
  it.each<[string, unknown]>([
    ["rejects", { limit: () => Promise.reject(new Error("broken")) }],
    [
      "throws",
      {
        limit: () => {
          throw new Error("broken");
        },
      },
    ],
    ["never answers", { limit: () => new Promise(() => {}) }],
    ["is not a rate-limit binding", "100"],
  ])("%s, and the operator is told", async (_what, limiter) => {
    const warn = vi.spyOn(console, "warn").mockImplementation(() => {});
    expect(await statuses(1, "a1", { ...LIMITED, CALLER_RATE_LIMITER: limiter })).toEqual([400]);
    const error = expect.stringMatching(/broken|1000 ms|not a function/);
    expect(warn).toHaveBeenCalledExactlyOnceWith(expect.objectContaining({ message: "rate limit not applied", error }));
  });
});

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

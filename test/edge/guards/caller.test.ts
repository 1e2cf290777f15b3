/** The rate limit per caller, inside workerd, with Miniflare's rate-limit binding. */
import { env } from "cloudflare:workers";
import { afterEach, describe, expect, it, vi } from "vitest";
import app from "../../../edge/platform/cloudflare/worker.ts";
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

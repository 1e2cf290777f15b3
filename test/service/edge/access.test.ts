/**
 * Who may use the edge, on real sockets: the rate limit per caller, pages of other origins, the token of the metrics.
 */
import { beforeAll, expect, it } from "vitest";
import { expectProblem } from "../../support/problems.ts";
import { startEdge } from "../../support/service/local-worker.ts";
import { ScriptedBackend } from "../../support/service/scripted-backend.ts";
import { clientOf } from "../../support/service/test-service.ts";
import { API_TOKEN, BACKEND_TOKEN } from "../../support/tokens.ts";

const ORIGIN = "https://app.example";
const RATE_LIMIT = 3;

let backend: ScriptedBackend;
let url: URL;

beforeAll(async () => {
  backend = await new ScriptedBackend().start();
  const edge = await startEdge(
    {
      SERVICE_API_TOKENS: `shop:${API_TOKEN}, other:other-token`,
      SERVICE_BACKEND_TOKEN: BACKEND_TOKEN,
      SERVICE_BACKEND_URLS: backend.url.origin,
      SERVICE_CORS_ORIGINS: ORIGIN,
      SERVICE_METRICS_ACCESS: "token",
      SERVICE_METRICS_TOKENS: "scrape-token",
      SERVICE_RATE_LIMIT_PERIOD_SECONDS: "60",
    },
    0,
    [{ name: "CALLER_RATE_LIMITER", namespace_id: "1001", simple: { limit: RATE_LIMIT, period: 60 } }],
  );
  url = edge.url;
  return async () => {
    await edge.stop();
    await backend.stop();
  };
});

const render = (token: string) =>
  clientOf(url).render({ source: "x" }, { headers: { "X-Service-Api-Token": token, Origin: ORIGIN } });

it("a rate limit as wrangler.toml configures it keeps requests of one caller from the backends, and lets those of another through", async () => {
  const answers: Response[] = [];
  // More than two periods allow.
  for (let n = 0; n < 2 * RATE_LIMIT + 1; n++) answers.push(await render(API_TOKEN));
  const refused = answers.filter(({ status }) => status === 429);
  expect(answers.slice(0, RATE_LIMIT).map(({ status }) => status)).toEqual([200, 200, 200]);
  expect(refused.length).toBeGreaterThan(0);
  expect(backend.renders).toHaveLength(answers.length - refused.length);
  for (const answer of refused) {
    expect(answer.headers.get("Retry-After")).toBe("60");
    expect(answer.headers.get("Access-Control-Allow-Origin")).toBe(ORIGIN);
    const { context } = await expectProblem(answer, "render_queue_full");
    expect(context).toEqual({ retry_after: 60 });
  }
  expect((await render("other-token")).status).toBe(200);
  expect(backend.renders.at(-1)?.["x-service-caller"]).toBe("other");
});

it("/metrics that needs a token asks no backend for a request without it", async () => {
  const { askedElsewhere } = backend;
  for (const headers of [{}, { "X-Service-Api-Token": API_TOKEN }, { Authorization: `Bearer ${API_TOKEN}` }]) {
    await expectProblem(await fetch(new URL("/metrics", url), { headers }), "forbidden");
  }
  expect(backend.askedElsewhere).toBe(askedElsewhere);
});

/**
 * Who may use the edge, on real sockets: the rate limit per caller, pages of other origins, the token of the metrics.
 */
import { beforeAll, describe, expect, it } from "vitest";
import { startEdge } from "../../../scripts/start/local-service.ts";
import { expectRawProblem, type RawAnswer, sendRaw } from "../../support/service/raw-connection.ts";
import { ScriptedBackend } from "../../support/service/scripted-backend.ts";
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

const send = (...head: readonly string[]) => sendRaw({ url, head });

function render(token: string): Promise<RawAnswer | null> {
  const body = '{"source":"x"}';
  const head = ["POST /v1/render HTTP/1.1", `X-Service-Api-Token: ${token}`, "Content-Type: application/json"];
  return sendRaw({ url, head: [...head, `Origin: ${ORIGIN}`, `Content-Length: ${body.length}`], body });
}

describe("a rate limit as wrangler.toml configures it", () => {
  it("keeps requests of one caller from the backends, and lets those of another through", async () => {
    const answers: (RawAnswer | null)[] = [];
    // More than two periods allow.
    for (let n = 0; n < 2 * RATE_LIMIT + 1; n++) answers.push(await render(API_TOKEN));
    const refused = answers.filter((answer) => answer?.status === 429);
    expect(answers.slice(0, RATE_LIMIT).map((answer) => answer?.status)).toEqual([200, 200, 200]);
    expect(refused.length).toBeGreaterThan(0);
    expect(backend.renders).toHaveLength(answers.length - refused.length);
    for (const answer of refused) {
      expect(answer?.headers.get("Retry-After")).toBe("60");
      expect(answer?.headers.get("Access-Control-Allow-Origin")).toBe(ORIGIN);
      const { context } = await expectRawProblem(answer, "render_queue_full");
      expect(context).toEqual({ retry_after: 60 });
    }
    expect((await render("other-token"))?.status).toBe(200);
    expect(backend.renders.at(-1)?.["x-service-caller"]).toBe("other");
  });
});

describe("/metrics that needs a token", () => {
  it("asks no backend for a request without it", async () => {
    const { askedElsewhere } = backend;
    for (const field of ["Accept: */*", `X-Service-Api-Token: ${API_TOKEN}`, `Authorization: Bearer ${API_TOKEN}`]) {
      await expectRawProblem(await send("GET /metrics HTTP/1.1", field), "forbidden");
    }
    expect(backend.askedElsewhere).toBe(askedElsewhere);
  });
});

/**
 * An edge and several real backends under load, while backends are killed, stopped and replaced: no render is lost, and
 * none is answered with the file of another.
 */
import { beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { ENDLESS, NO_TIME_LIMIT } from "../support/backend/bombs.ts";
import { metricsAt, sampleValue } from "../support/readers/metrics-text.ts";
import { startNodeEdge } from "../support/service/node-edge.ts";
import { declared, RawConnection, renderHead, renderRequest } from "../support/service/raw-connection.ts";
import { EDGE_PLATFORMS } from "../support/service/service-parts.ts";
import { startFleet, startFleetEdge, startLoad, type TestFleet } from "../support/service/test-fleet.ts";
import { backendEnvironment, clientOf } from "../support/service/test-service.ts";
import { API_TOKEN, BACKEND_TOKEN } from "../support/tokens.ts";

const CLIENTS = 4;
/** The number of renders that run or wait at a backend. */
async function occupied(url: string): Promise<number> {
  const samples = await metricsAt(url);
  return sampleValue(samples, "service_renders_running") + sampleValue(samples, "service_renders_waiting");
}

/** Two backends that these tests share. The last test leaves them with other settings. */
let pair: TestFleet;

beforeAll(async () => {
  // The test of an edge that is cut off needs renders that only it ends.
  pair = await startFleet(2, { ...backendEnvironment(), ...NO_TIME_LIMIT });
  return () => pair.stop();
});

it("an edge that is cut off at its deadline leaves no render behind, and another one serves", async () => {
  const tokens = { SERVICE_API_TOKENS: API_TOKEN, SERVICE_BACKEND_TOKEN: BACKEND_TOKEN };
  const edge = await startNodeEdge({
    ...tokens,
    SERVICE_BACKEND_URLS: pair.urls.join(" "),
    SERVICE_LOG_REQUESTS: "none",
  });
  await RawConnection.open(edge.url, renderRequest(JSON.stringify({ source: ENDLESS })));
  const total = async () => (await occupied(pair.berth(0).url)) + (await occupied(pair.berth(1).url));
  await expect.poll(total).toBe(1);
  // Until its deadline, it would wait for the render.
  expect(await edge.server.stop(0)).toBe(false);
  await expect.poll(total).toBe(0);
  const load = startLoad(CLIENTS, pair.edgeUrl);
  await load.more();
  expect(await load.end()).toMatchObject({ lost: [], wrong: [] });
});

/** What is sent, and what must come back: the status, and something of the answer that only this request gets. */
type Kind = (number: number) => { readonly body: object | string; readonly token?: string; readonly answer: unknown[] };

const MIXED: readonly Kind[] = [
  (number) => ({
    body: { source: "#set page(width: data * 1pt, height: 20pt)", data: number, output: { format: "svg" } },
    answer: [200, expect.stringContaining(`viewBox="0 0 ${number} 20"`)],
  }),
  (number) => ({
    body: { source: "x", [`field-${number}`]: 1 },
    answer: [400, expect.stringContaining(`"field-${number}"`)],
  }),
  (number) => ({
    body: { source: "x", files: { [`f${number}`]: { encoding: "text", content: "x".repeat(1_048_577) } } },
    answer: [413, expect.stringContaining(`"f${number}"`)],
  }),
  () => ({ body: { source: "#nothing" }, answer: [422, expect.stringContaining('"template_compile_failed"')] }),
  () => ({ body: "{", answer: [400, expect.stringContaining('"invalid_request"')] }),
  () => ({ body: { source: "x" }, token: "wrong", answer: [403, expect.stringContaining('"forbidden"')] }),
];

it("each of 120 mixed requests, many at once, gets its own answer", async () => {
  const REQUESTS = 120;
  const ids = new Set<string | null>();
  const { render } = clientOf(pair.edgeUrl());
  let next = 0;
  const client = async () => {
    while (next < REQUESTS) {
      const number = 100 + next++;
      const kind = MIXED[number % MIXED.length] ?? expect.unreachable();
      const { body, token = API_TOKEN, answer: expected } = kind(number);
      const answer = await render(body, { headers: { "X-Service-Api-Token": token } });
      ids.add(answer.headers.get("X-Request-Id"));
      expect([answer.status, await answer.text()]).toEqual(expected);
    }
  };
  await Promise.all(Array.from({ length: 3 * CLIENTS }, client));
  expect(ids.size).toBe(REQUESTS);
});

describe("under load", () => {
  it.each(EDGE_PLATFORMS)(
    "no render is lost or wrong while one of three backends is killed and comes back, with the edge on %s",
    async (platform) => {
      const fleet = await startFleet(3, backendEnvironment(), platform);
      onTestFinished(() => fleet.stop());
      const load = startLoad(CLIENTS, fleet.edgeUrl);
      await expect.poll(() => occupied(fleet.berth(0).url)).toBeGreaterThan(0);
      await fleet.berth(0).end("SIGKILL");
      await load.more();
      await fleet.berth(0).start();
      await load.more();
      const { lost, wrong, milliseconds } = await load.end();
      expect({ lost, wrong }).toEqual({ lost: [], wrong: [] });
      // The time budget of the edge.
      expect(Math.max(...milliseconds)).toBeLessThan(60_000);
    },
  );

  it("a client that reads slowly and one that sends slowly delay no others", async () => {
    const squares =
      '{"source":"#for n in range(12000) { place(dx: calc.rem(n, 90) * 1pt, square(size: 1pt)) }","output":{"format":"svg"}}';
    // It reads nothing before it is asked to.
    const request = renderRequest(squares, { "Accept-Encoding": "identity" });
    const reader = await RawConnection.open(pair.edgeUrl(), request);
    const sender = await RawConnection.open(pair.edgeUrl(), renderHead(declared(14)));
    const load = startLoad(CLIENTS, pair.edgeUrl);
    for (const piece of ['{"source', '":"x"', "}"]) {
      await load.more();
      await sender.write(piece);
    }
    expect(await load.end()).toMatchObject({ lost: [], wrong: [] });
    expect((await sender.answer())?.status).toBe(200);
    expect((await reader.answer())?.status).toBe(200);
  });

  // The backends of the first roll end at once, those of the second one after a drain delay.
  it("backends, an edge, a caller's token and that of the backends can be replaced one after another", async () => {
    let url = pair.edgeUrl();
    let token = API_TOKEN;
    const load = startLoad(
      CLIENTS,
      () => url,
      () => token,
    );
    const both = { SERVICE_BACKEND_TOKENS: `${BACKEND_TOKEN} new-token`, SERVICE_DRAIN_DELAY_SECONDS: "1" };
    expect(await pair.roll(both, () => load.more())).toEqual([0, 0]);
    await load.more();
    // Beside the old one, as Cloudflare replaces a Worker: requests that have begun end where they are.
    const newEdge = await startFleetEdge(pair.urls, {
      SERVICE_BACKEND_TOKEN: "new-token",
      SERVICE_API_TOKENS: `billing:${API_TOKEN} billing:new-token`,
    });
    onTestFinished(() => newEdge.stop());
    url = newEdge.url;
    await load.more();
    token = "new-token";
    expect(await pair.roll({ SERVICE_BACKEND_TOKENS: "new-token" }, () => load.more())).toEqual([0, 0]);
    await load.more();
    expect(await load.end()).toMatchObject({ lost: [], wrong: [] });
  });
});

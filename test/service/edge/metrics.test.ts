/** `/metrics` of the edge on real sockets: how often backends are asked, and a response that never ends. */
import { beforeAll, beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { metricsAt } from "../../support/readers/metrics-text.ts";
import { type EdgeStage, startEdgeStages, startEdges } from "../../support/service/edge-stage.ts";
import { EDGE_PLATFORMS } from "../../support/service/service-parts.ts";
import { clientOf } from "../../support/service/test-service.ts";
import { UNREACHABLE_URL } from "../../support/tokens.ts";

const MEBIBYTE = 1024 * 1024;

describe.each(EDGE_PLATFORMS)("the edge on %s", (platform) => {
  /** An edge that nobody has asked yet for each test: an answer is kept for some seconds. */
  let unused: EdgeStage[];
  let stage: EdgeStage;

  beforeAll(async () => {
    const { stages, stop } = await startEdgeStages(platform, {}, {}, {});
    unused = stages;
    return stop;
  });

  beforeEach(() => {
    stage = unused.pop() ?? expect.unreachable("there is an edge for each test");
    stage.backend.elsewhere = (response) => response.end("# HELP up Up.\n# TYPE up gauge\nup 1\n");
  });

  const SCRAPE_HEAD = "GET /metrics HTTP/1.1\r\nHost: edge.example\r\n\r\n";
  const KEPT_MILLISECONDS = 5000;

  it("/metrics asks a backend once for many scrapes, also during the first one, and names it by its position", async () => {
    const { backend } = stage;
    const answer = backend.elsewhere;
    const { promise: allHaveAsked, resolve: letAnswer } = Promise.withResolvers<void>();
    backend.elsewhere = (response) => void allHaveAsked.then(() => answer(response));
    const leaving = await stage.open(SCRAPE_HEAD);
    await expect.poll(() => backend.askedElsewhere).toBe(1);
    const clients = await Promise.all(Array.from({ length: 16 }, () => stage.open(SCRAPE_HEAD)));
    await stage.takenIn();
    // The others need not ask again because the one has left that came first.
    leaving.reset();
    await stage.takenIn();
    letAnswer();
    const texts = await Promise.all(clients.map(async (client) => (await client.answer())?.body));
    for (const text of texts) expect(text).toContain('up{origin="backend-1"} 1\n');
    await (await stage.open(SCRAPE_HEAD)).answer();
    expect(backend.askedElsewhere).toBe(1);
  });

  it("/metrics asks again after five seconds", async () => {
    const began = performance.now();
    const scrapesAfterAnother = async () => {
      expect((await (await stage.open(SCRAPE_HEAD)).answer())?.status).toBe(200);
      return stage.backend.askedElsewhere;
    };
    await expect.poll(scrapesAfterAnother).toBe(2);
    expect(performance.now() - began).toBeGreaterThanOrEqual(KEPT_MILLISECONDS);
  });

  it("/metrics considers a backend down whose metrics never end, and stops reading", async () => {
    let sent = 0;
    stage.backend.elsewhere = (response) => {
      const line = Buffer.alloc(64 * 1024, "x");
      const send = () => {
        while (!response.destroyed && sent < 200 * MEBIBYTE) {
          sent += line.length;
          if (!response.write(line)) {
            response.once("drain", send);
            return;
          }
        }
      };
      send();
    };
    const answer = await (await stage.open(SCRAPE_HEAD)).answer();
    expect(answer?.headers.get("Content-Type")).toBe("text/plain; version=0.0.4; charset=utf-8");
    expect(answer?.body).toContain('service_origin_absent{origin="backend-1"} 1\n');
    expect(sent).toBeLessThan(50 * MEBIBYTE);
  });
});

it("an edge in Node tells what it has refused while no backend is there to be told, and at once", async () => {
  const edges = await startEdges([{ SERVICE_BACKEND_URLS: UNREACHABLE_URL }, { SERVICE_BACKEND_URLS: "" }]);
  onTestFinished(() => edges.stop());
  for (const [index, cause] of ["no_backend_answered", "no_backends"].entries()) {
    const url = edges.urls[index] ?? expect.unreachable();
    const told = async () =>
      (await metricsAt(url)).filter(
        ({ name, labels }) => name === "service_edge_refusals_total" && labels.cause === cause,
      );
    for (const value of [0, 1, 2]) {
      expect(await told()).toMatchObject([{ value, labels: { code: "service_unavailable", cause } }]);
      expect((await clientOf(url).render({ source: "x" })).status).toBe(503);
    }
  }
});

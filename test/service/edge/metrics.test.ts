/** `/metrics` of the edge on real sockets: how often backends are asked, and a response that never ends. */
import { beforeEach, describe, expect, it } from "vitest";
import { type EdgeStage, startEdgeStage } from "../../support/service/edge-stage.ts";
import type { StandInBackend } from "../../support/service/stand-in-backend.ts";

const MEBIBYTE = 1024 * 1024;

let stage: EdgeStage;
let backend: StandInBackend;

/** An edge that nobody has asked yet for each test: an answer is kept for some seconds. */
beforeEach(async () => {
  stage = await startEdgeStage();
  backend = stage.backend;
  return () => stage.stop();
});

const open = (...writes: readonly string[]) => stage.open(...writes);

describe("/metrics", () => {
  const scrapeHead = "GET /metrics HTTP/1.1\r\nHost: edge.example\r\n\r\n";
  const KEPT_MILLISECONDS = 5000;

  it("asks a backend once for many scrapes, also during the first one, and names it by its position", async () => {
    const answer = backend.metrics;
    const { promise: allHaveAsked, resolve: letAnswer } = Promise.withResolvers<void>();
    backend.metrics = (response) => void allHaveAsked.then(() => answer(response));
    const clients = await Promise.all(Array.from({ length: 16 }, () => open(scrapeHead)));
    await stage.takenIn();
    letAnswer();
    const texts = await Promise.all(clients.map(async (client) => (await client.answer())?.body));
    for (const text of texts) expect(text).toContain('up{origin="backend-1"} 1\n');
    await (await open(scrapeHead)).answer();
    expect(backend.scrapes).toBe(1);
  });

  it("asks again after five seconds", async () => {
    const began = performance.now();
    const scrapesAfterAnother = async () => {
      expect((await (await open(scrapeHead)).answer())?.status).toBe(200);
      return backend.scrapes;
    };
    await expect.poll(scrapesAfterAnother).toBe(2);
    expect(performance.now() - began).toBeGreaterThanOrEqual(KEPT_MILLISECONDS);
  });

  it("considers a backend down whose metrics never end, and stops reading", async () => {
    let sent = 0;
    backend.metrics = (response) => {
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
    const answer = await (await open(scrapeHead)).answer();
    expect(answer?.body).toContain('service_origin_absent{origin="backend-1"} 1\n');
    expect(sent).toBeLessThan(50 * MEBIBYTE);
  });
});

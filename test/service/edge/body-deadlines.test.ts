/** Bodies that arrive late, slowly or never at the edge, on real sockets. */
import { setTimeout as delay } from "node:timers/promises";
import { describe, expect, it, onTestFinished } from "vitest";
import { type EdgeStage, startEdgeStage } from "../../support/service/edge-stage.ts";
import { CHUNKED, chunk, declared, renderHead } from "../../support/service/raw-connection.ts";

const SMALL_BODY = '{"source":"x"}';

async function stageFor(bodyTimeoutSeconds: number): Promise<EdgeStage> {
  const stage = await startEdgeStage({ SERVICE_BODY_TIMEOUT_SECONDS: String(bodyTimeoutSeconds) });
  onTestFinished(() => stage.stop());
  return stage;
}

describe("a body that does not arrive", () => {
  it("is rejected after ten seconds of silence, and the connection is closed; a slow one is accepted", async () => {
    const stage = await stageFor(900);
    const started = performance.now();
    const silent = [
      await stage.open(renderHead(CHUNKED), chunk("{")),
      await stage.open(renderHead(declared(1000))),
      await stage.open(renderHead(declared(1000)), "{"),
    ];
    const answers = silent.map((client) => client.answer());
    const slow = await stage.open(renderHead(CHUNKED));
    for (const character of SMALL_BODY) {
      await slow.write(chunk(character));
      // A slow client is what this is about.
      await delay(100);
    }
    await slow.write("0\r\n\r\n");
    expect((await slow.answer())?.status).toBe(200);
    for (const answer of await Promise.all(answers)) {
      expect(answer?.status).toBe(400);
      expect(JSON.parse(answer?.body ?? "")).toMatchObject({
        code: "invalid_request",
        detail: "The body did not arrive in time.",
        context: {},
      });
    }
    expect((performance.now() - started) / 1000).toBeGreaterThan(9.9);
    for (const client of silent) expect(await client.closed()).toBe(true);
  });

  it("is rejected at its deadline, although a byte arrives now and then", async () => {
    const stage = await stageFor(2);
    const client = await stage.open(renderHead(CHUNKED));
    const dribble = setInterval(() => void client.write(chunk(" ")), 100);
    onTestFinished(() => clearInterval(dribble));
    const answer = await client.answer();
    expect(answer?.status).toBe(400);
    expect(JSON.parse(answer?.body ?? "")).toMatchObject({
      code: "invalid_request",
      detail: "The body did not arrive in time.",
    });
  });
});

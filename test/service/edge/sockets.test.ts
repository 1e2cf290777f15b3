/** The edge on real sockets, with clients that leave, hold uploads back, send too much or too late. */
import { setTimeout as delay } from "node:timers/promises";
import { beforeAll, beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { bodyOfSize, type EdgeStage, edgeBytes, startEdgeStages } from "../../support/service/edge-stage.ts";
import {
  CHUNKED,
  chunk,
  declared,
  RawConnection,
  renderHead,
  renderRequest,
} from "../../support/service/raw-connection.ts";
import type { ScriptedBackend } from "../../support/service/scripted-backend.ts";
import { EDGE_PLATFORMS } from "../../support/service/service-parts.ts";
import { API_TOKEN } from "../../support/tokens.ts";

const MEBIBYTE = 1024 * 1024;
const SMALL_BODY = '{"source":"x"}';
const OTHER_TOKEN = "token-of-another-caller";

/** What 512 idle uploads take, and the refusal of a thousand. Each read of 64 KiB would take 100 MB more. */
const MAX_IDLE_GROWTH_BYTES = 160 * MEBIBYTE;

const OUTPUT_LIMIT = MEBIBYTE;

/** A client that writes this and nothing more, its answer, and when that came. */
function stopWriting({ url }: EdgeStage, writes: readonly (Uint8Array | string)[]) {
  const began = performance.now();
  const client = new RawConnection(url);
  for (const bytes of writes) void client.write(bytes);
  const answered = client.answer().then((answer) => ({ answer, milliseconds: performance.now() - began }));
  return { client, answered };
}

describe.each(EDGE_PLATFORMS)("the edge on %s", (platform) => {
  let stage: EdgeStage;
  let impatientStage: EdgeStage;
  let limitedStage: EdgeStage;
  let backend: ScriptedBackend;
  /** They are silent from the beginning, so that they have been answered when a test asks. */
  let silent: readonly ReturnType<typeof stopWriting>[];

  beforeAll(async () => {
    const { stages, stop } = await startEdgeStages(
      platform,
      // On a busy machine, large uploads take minutes.
      { SERVICE_API_TOKENS: `${API_TOKEN}, other:${OTHER_TOKEN}`, SERVICE_BODY_TIMEOUT_SECONDS: "900" },
      { SERVICE_BODY_TIMEOUT_SECONDS: "2" },
      { SERVICE_MAX_OUTPUT_BYTES: String(OUTPUT_LIMIT) },
    );
    const next = () => stages.shift() ?? expect.unreachable("there is a stage for each of the settings");
    [stage, impatientStage, limitedStage] = [next(), next(), next()];
    backend = stage.backend;
    silent = [[renderHead(CHUNKED), chunk("{")], [renderHead(declared(1000))], [renderHead(declared(1000)), "{"]].map(
      (writes) => stopWriting(limitedStage, writes),
    );
    return stop;
  });

  beforeEach(() => {
    backend.behaviour = (response) => backend.answer(response);
  });

  const hold = () => {
    backend.behaviour = () => {};
  };

  const open = (...writes: readonly (Uint8Array | string)[]) => stage.open(...writes);

  async function renderStatus(body: string, token = API_TOKEN): Promise<number> {
    const client = await open(renderRequest(body, { "X-Service-Api-Token": token }));
    return (await client.answer())?.status ?? 0;
  }

  describe("the memory for bodies", () => {
    it("is divided among callers: one with slow uploads leaves enough for the largest body of another", async () => {
      const slow = await Promise.all(Array.from({ length: 6 }, () => open(renderHead(declared(20 * MEBIBYTE)))));
      for (const client of slow) void client.write(" ".repeat(15 * MEBIBYTE));
      // On a busy machine, one that has its memory is silent for longer than others wait for theirs.
      const timer = setInterval(() => {
        for (const client of slow) void client.write(" ");
      }, 2000);
      onTestFinished(() => clearInterval(timer));
      const answers = slow.map((client) => client.nextAnswer());
      const statuses: (number | undefined)[] = [];
      for (const answer of answers) void answer.then((given) => statuses.push(given?.status));
      await expect.poll(() => statuses).toContain(429);
      expect(await renderStatus(bodyOfSize(20 * MEBIBYTE), OTHER_TOKEN)).toBe(200);
      // Those that have their memory get a response: their bodies are complete, and not JSON.
      for (const client of slow) void client.write(" ".repeat(5 * MEBIBYTE));
      const rejected = (await Promise.all(answers)).filter((answer) => answer !== null && answer.status !== 400);
      expect(rejected.length).toBeGreaterThan(0);
      expect(rejected.length).toBeLessThan(slow.length);
      for (const answer of rejected) {
        if (answer === null) continue;
        const { status, headers, body } = answer;
        const problem = JSON.parse(body);
        expect([status, problem.code, problem.origin]).toEqual([429, "render_queue_full", "capacity"]);
        expect(headers.get("Retry-After")).toBe(String(problem.context.retry_after));
        expect(problem.context.retry_after).toBeGreaterThan(0);
      }
    });
  });

  it("six bodies of 20 MiB at once are validated, or refused for lack of memory, and the edge goes on serving", async () => {
    const file = `{"encoding":"base64","content":"${"QUJD".repeat(MEBIBYTE / 4)}"}`;
    const files = Array.from({ length: 19 }, (_, index) => `"image-${index}.png":${file}`);
    // Wrong at its very end, so that it is validated to the end and nothing is rendered.
    const body = `{"files":{${files.join(",")}},"source":"x","output":{"format":"svg","ppi":72}}`;
    const statuses = await Promise.all(Array.from({ length: 6 }, () => renderStatus(body)));
    expect([400, 429]).toEqual(expect.arrayContaining(statuses));
    expect(statuses.filter((status) => status === 400).length).toBeGreaterThanOrEqual(3);
    expect(await renderStatus(SMALL_BODY)).toBe(200);
  });

  describe("uploads that do not go on", () => {
    const IDLE = 1500;
    /** Half of what an isolate reads at the same time. */
    const SHARE = 512;

    it("are refused at once beyond the share of their caller, and others are served", async () => {
      const before = edgeBytes(platform);
      const clients = await Promise.all(
        Array.from({ length: IDLE }, (_, index) => open(renderHead(index % 2 === 0 ? CHUNKED : declared(1000)))),
      );
      let answered = 0;
      for (const client of clients) void client.answer().then(() => answered++);
      await expect.poll(() => answered).toBeGreaterThanOrEqual(IDLE - SHARE);
      expect(edgeBytes(platform) - before).toBeLessThan(MAX_IDLE_GROWTH_BYTES);
      expect(await renderStatus(SMALL_BODY, OTHER_TOKEN)).toBe(200);
      // On a busy machine, those that wait may have been silent for too long: then others take their places.
      const refusal = async () => {
        const answer = await (await open(renderRequest(SMALL_BODY))).answer();
        if (answer?.status !== 429) await Promise.all(Array.from({ length: SHARE }, () => open(renderHead(CHUNKED))));
        return answer;
      };
      await expect.poll(refusal).toMatchObject({
        status: 429,
        body: expect.stringMatching(/"code":"render_queue_full".*"retry_after":2\b/),
      });
      // The declared size is judged before the uploads are counted.
      const tooLarge = await open(renderHead(declared(21 * MEBIBYTE)));
      expect((await tooLarge.answer())?.status).toBe(413);
      for (const client of clients) client.reset();
      await expect.poll(() => renderStatus(SMALL_BODY)).toBe(200);
    });

    it("make room again when their clients close them, and when they are refused", async () => {
      const idle = Array.from({ length: SHARE }, () => open(renderHead(CHUNKED)));
      const clients = await Promise.all(idle);
      await expect.poll(() => renderStatus(SMALL_BODY)).toBe(429);
      for (const client of clients.slice(0, 2)) client.socket.end();
      await expect.poll(() => renderStatus(SMALL_BODY)).toBe(200);
      for (const client of clients) await client.write(chunk("{}"));
      for (const client of clients.slice(2)) await client.write("0\r\n\r\n");
      for (const client of clients.slice(2)) expect((await client.answer())?.status).toBe(400);
      expect(await renderStatus(SMALL_BODY)).toBe(200);
    });
  });

  /**
   * The answer to a request that could be written whole. The edge waits half a second, in which a busy machine may not
   * write.
   */
  async function answerAfter(head: string, pieces: readonly (Uint8Array | string)[]) {
    for (let attempt = 0; attempt < 5; attempt++) {
      const client = await open(head);
      let isWritten = true;
      for (const piece of pieces) isWritten &&= await client.write(piece);
      if (!isWritten) continue;
      const { status, body } = (await client.answer()) ?? { status: 0, body: "{}" };
      return { status, problem: JSON.parse(body) };
    }
    throw new Error("the edge has closed each connection before the end of its body");
  }

  it("an answer that does not say how long it is is cut off beyond the output limit, and does not look complete", async () => {
    limitedStage.backend.behaviour = (response) => {
      response.writeHead(200, { "Content-Type": "application/pdf" });
      response.write(Buffer.alloc(OUTPUT_LIMIT / 2, " "));
      response.end(Buffer.alloc(OUTPUT_LIMIT / 2 + 1, " "));
    };
    const client = await limitedStage.open(renderRequest(SMALL_BODY, { Connection: "close" }));
    const bytes = await client.readToEnd();
    expect(bytes.toString("latin1")).toMatch(/^HTTP\/1.1 200 /);
    expect(bytes.length).toBeLessThan(OUTPUT_LIMIT + 4096);
    expect(bytes.subarray(-5).toString()).not.toBe("0\r\n\r\n");
  });

  describe("a client that leaves", () => {
    it("ends its request to the backend", async () => {
      hold();
      const clients = await Promise.all(Array.from({ length: 20 }, () => open(renderRequest(SMALL_BODY))));
      await expect.poll(backend.countOpen).toBe(20);
      for (const client of clients) client.reset();
      await expect.poll(backend.countOpen).toBe(0);
    });
  });

  describe("a client that writes its whole body before it reads", () => {
    it.each([
      ["declared", 21, declared(21 * MEBIBYTE)],
      ["declared", 30, declared(30 * MEBIBYTE)],
      ["in chunks", 30, CHUNKED],
    ])("gets its complete 413: %s, %i MiB", async (_how, size, fields) => {
      const body = Buffer.alloc(size * MEBIBYTE, " ");
      const pieces = fields === CHUNKED ? [chunk(body), "0\r\n\r\n"] : [body];
      const { status, problem } = await answerAfter(renderHead(fields), pieces);
      expect([status, problem.code]).toEqual([413, "request_too_large"]);
    });

    it.each([
      ["a wrong token", { "X-Service-Api-Token": "wrong" }, "", 403, "forbidden"],
      ["a wrong media type", { "Content-Type": "text/plain" }, "", 400, "invalid_request"],
      ["an unknown path", {}, "/v1/nothing", 404, "not_found"],
      ["a path for other methods", {}, "/v1/constraints", 405, "method_not_allowed"],
    ])("gets its complete problem: %s", async (_what, fields, path, status, code) => {
      const size = 4 * MEBIBYTE;
      const head = renderHead({ ...declared(size), ...fields }).replace("/v1/render", path || "/v1/render");
      const answer = await answerAfter(head, [Buffer.alloc(size, " ")]);
      expect([answer.status, answer.problem.code]).toEqual([status, code]);
    });

    it("is cut off when it never ends", async () => {
      const client = await open(renderHead({ ...CHUNKED, "X-Service-Api-Token": "wrong" }));
      const piece = chunk(Buffer.alloc(MEBIBYTE, " "));
      const answer = client.answer();
      let written = 0;
      while (written < 500 && (await client.write(piece))) written++;
      expect(written).toBeLessThan(200);
      expect((await answer)?.status ?? 403).toBe(403);
      await client.expectClosed();
    });
  });

  describe("a body that does not arrive", () => {
    it("is rejected after ten seconds of silence, and the connection is closed; a slow one is accepted", async () => {
      const slow = await limitedStage.open(renderHead(CHUNKED));
      for (const character of SMALL_BODY) {
        await slow.write(chunk(character));
        // A slow client is what this is about.
        await delay(100);
      }
      await slow.write("0\r\n\r\n");
      expect((await slow.answer())?.status).toBe(200);
      for (const { answered } of silent) {
        const { answer, milliseconds } = await answered;
        expect(milliseconds).toBeGreaterThan(9900);
        expect(answer?.status).toBe(400);
        expect(JSON.parse(answer?.body ?? "")).toMatchObject({
          code: "invalid_request",
          detail: "The body did not arrive in time.",
          context: {},
        });
      }
      for (const { client } of silent) await client.expectClosed();
    });

    it("is rejected at its deadline, although a byte arrives now and then", async () => {
      const client = await impatientStage.open(renderHead(CHUNKED));
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
});

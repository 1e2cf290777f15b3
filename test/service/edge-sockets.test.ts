/**
 * The edge on real sockets, with clients that leave, hold uploads back or send too much.
 */
import { setTimeout as delay } from "node:timers/promises";
import { beforeAll, beforeEach, describe, expect, it } from "vitest";
import { type EdgeStage, startEdgeStage } from "../support/edge-stage.ts";
import { CHUNKED, chunk, declared, renderHead } from "../support/raw-connection.ts";
import type { StandInBackend } from "../support/stand-in-backend.ts";
import { API_TOKEN } from "../support/tokens.ts";

const MEBIBYTE = 1024 * 1024;
const SMALL_BODY = '{"source":"x"}';
const OTHER_TOKEN = "token-of-another-caller";

let stage: EdgeStage;
let backend: StandInBackend;

beforeAll(async () => {
  stage = await startEdgeStage({ SERVICE_API_TOKENS: `${API_TOKEN}, other:${OTHER_TOKEN}` });
  backend = stage.backend;
  return () => stage.stop();
});

beforeEach(() => {
  backend.answersAtOnce = true;
});

const open = (...writes: readonly (Uint8Array | string)[]) => stage.open(...writes);

/** A valid request of this many bytes, nearly all of them in `data`. */
function bodyOf(size: number): string {
  const piece = "x".repeat(500_000);
  const count = Math.floor((size - 100) / (piece.length + 3));
  const start = `{"source":"x","data":[${Array.from({ length: count }, () => `"${piece}"`).join(",")}]`;
  return `${start}${" ".repeat(size - start.length - 1)}}`;
}

async function renderStatus(body: string, token = API_TOKEN): Promise<number> {
  const client = await open(renderHead({ "Content-Length": String(body.length), "X-Service-Api-Token": token }), body);
  return (await client.answer())?.status ?? 0;
}

describe("the memory for bodies", () => {
  it("is free again after uploads that were reset after a byte or none", async () => {
    for (let round = 0; round < 8; round++) {
      const clients = [
        await open(renderHead(CHUNKED), chunk("{")),
        await open(renderHead(declared(4 * MEBIBYTE)), "{"),
        await open(renderHead(CHUNKED)),
        await open(renderHead(declared(20 * MEBIBYTE)), " ".repeat(3 * MEBIBYTE)),
      ];
      await delay(30);
      for (const client of clients) client.reset();
    }
    await delay(100);
    expect(await renderStatus(SMALL_BODY)).toBe(200);
    expect(await renderStatus(bodyOf(20 * MEBIBYTE))).toBe(200);
  });

  it("is free again after renders whose clients have disconnected", async () => {
    backend.answersAtOnce = false;
    const body = bodyOf(10 * MEBIBYTE);
    for (let round = 0; round < 10; round++) {
      const client = await open(renderHead(declared(body.length)), body);
      await expect.poll(backend.openRenders).toBe(1);
      client.reset();
      await expect.poll(backend.openRenders).toBe(0);
    }
    backend.answersAtOnce = true;
    expect(await renderStatus(bodyOf(20 * MEBIBYTE))).toBe(200);
  });

  it("is not held by uploads that send nothing", async () => {
    for (let index = 0; index < 16; index++) {
      await open(renderHead(CHUNKED), chunk("{"));
      await open(renderHead(declared(20 * MEBIBYTE)));
    }
    expect(await renderStatus(SMALL_BODY)).toBe(200);
    expect(await renderStatus(bodyOf(20 * MEBIBYTE))).toBe(200);
  });

  it("is free again once a body is forwarded, however long its render takes", async () => {
    backend.answersAtOnce = false;
    const body = bodyOf(16 * MEBIBYTE);
    for (let index = 1; index <= 6; index++) {
      await open(renderHead(declared(body.length)), body);
      await expect.poll(backend.openRenders).toBe(index);
    }
    backend.answersAtOnce = true;
    expect(await renderStatus(bodyOf(20 * MEBIBYTE))).toBe(200);
  });

  it("is divided among callers: one with slow uploads leaves enough for the largest body of another", async () => {
    const slow = await Promise.all(Array.from({ length: 6 }, () => open(renderHead(declared(20 * MEBIBYTE)))));
    for (const client of slow) void client.write(" ".repeat(15 * MEBIBYTE));
    const answers = slow.map((client) => client.answer());
    await delay(1000);
    expect(await renderStatus(bodyOf(20 * MEBIBYTE), OTHER_TOKEN)).toBe(200);
    expect((await Promise.race(answers))?.status).toBe(429);
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

describe("a client that leaves", () => {
  it("has not left when it has only finished writing", async () => {
    const client = await open(renderHead(declared(SMALL_BODY.length)), SMALL_BODY);
    client.socket.end();
    expect((await client.answer())?.status).toBe(200);
  });

  it("ends its request to the backend", async () => {
    backend.answersAtOnce = false;
    const clients = await Promise.all(
      Array.from({ length: 20 }, () => open(renderHead(declared(SMALL_BODY.length)), SMALL_BODY)),
    );
    await expect.poll(backend.openRenders).toBe(20);
    for (const client of clients) client.reset();
    await expect.poll(backend.openRenders).toBe(0);
  });
});

describe("a client that writes its whole body before it reads", () => {
  it.each([21, 25, 30])("gets its complete 413, with %i MiB declared", async (size) => {
    const client = await open(renderHead(declared(size * MEBIBYTE)));
    expect(await client.write(Buffer.alloc(size * MEBIBYTE, " "))).toBe(true);
    const answer = await client.answer();
    expect(answer?.status).toBe(413);
    const { code, context } = JSON.parse(answer?.body ?? "");
    expect([code, context.declared_size]).toEqual(["request_too_large", size * MEBIBYTE]);
  });

  it.each([21, 25, 30])("gets its complete 413, with %i MiB in chunks", async (size) => {
    const client = await open(renderHead(CHUNKED));
    const piece = chunk(Buffer.alloc(MEBIBYTE, " "));
    for (let index = 0; index < size; index++) expect(await client.write(piece)).toBe(true);
    await client.write("0\r\n\r\n");
    const answer = await client.answer();
    expect(answer?.status).toBe(413);
    expect(JSON.parse(answer?.body ?? "")).toMatchObject({ code: "request_too_large" });
  });

  it.each([
    ["a wrong token", { "X-Service-Api-Token": "wrong" }, "", 403, "forbidden"],
    ["a wrong media type", { "Content-Type": "text/plain" }, "", 400, "invalid_request"],
    ["an unknown path", {}, "/v1/nothing", 404, "not_found"],
    ["a path for other methods", {}, "/v1/constraints", 405, "method_not_allowed"],
  ])("gets its complete problem: %s", async (_what, fields, path, status, code) => {
    const size = 4 * MEBIBYTE;
    const head = renderHead({ ...declared(size), ...fields }).replace("/v1/render", path || "/v1/render");
    const client = await open(head);
    expect(await client.write(Buffer.alloc(size, " "))).toBe(true);
    const answer = await client.answer();
    expect(answer?.status).toBe(status);
    expect(JSON.parse(answer?.body ?? "").code).toBe(code);
  });

  it("is cut off when it never ends", async () => {
    const client = await open(renderHead({ ...CHUNKED, "X-Service-Api-Token": "wrong" }));
    const piece = chunk(Buffer.alloc(MEBIBYTE, " "));
    const answer = client.answer();
    let written = 0;
    while (written < 500 && (await client.write(piece))) written++;
    expect(written).toBeLessThan(200);
    expect((await answer)?.status ?? 403).toBe(403);
    expect(await client.closed()).toBe(true);
  });

  it("gets its response when it never begins to write", async () => {
    const client = await open(renderHead({ ...declared(1000), "X-Service-Api-Token": "wrong" }));
    expect((await client.answer())?.status).toBe(403);
  });
});

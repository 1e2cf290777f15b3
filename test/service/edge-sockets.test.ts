/**
 * The edge on real sockets, with clients that leave, stay silent, send too much or read late. The Worker runs in workerd
 * without anything in front of it, since proxies hide from it that a client has gone; the backend is a stand-in.
 */
import { setTimeout as delay } from "node:timers/promises";
import { beforeAll, beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { type LocalEdge, startEdge } from "../../scripts/local-service.ts";
import { API_TOKEN, BACKEND_TOKEN } from "../tokens.ts";
import { chunk, RawClient, renderHead } from "./support/raw-client.ts";
import { type StandInBackend, startStandInBackend } from "./support/stand-in-backend.ts";

const MEBIBYTE = 1024 * 1024;
const BODY_TIMEOUT_SECONDS = 14;
const SMALL_BODY = '{"source":"x"}';
const OTHER_TOKEN = "token-of-another-caller";

let backend: StandInBackend;
let edge: LocalEdge;

beforeAll(async () => {
  backend = await startStandInBackend();
  edge = await startEdge(
    {
      SERVICE_API_TOKENS: `${API_TOKEN}, other:${OTHER_TOKEN}`,
      SERVICE_BACKEND_TOKEN: BACKEND_TOKEN,
      SERVICE_BACKEND_URLS: backend.url.origin,
      SERVICE_BODY_TIMEOUT_SECONDS: String(BODY_TIMEOUT_SECONDS),
    },
    0,
  );
  return async () => {
    await edge.stop();
    await backend.stop();
  };
});

beforeEach(() => {
  backend.answersAtOnce = true;
});

async function open(...writes: readonly (Uint8Array | string)[]): Promise<RawClient> {
  const client = await RawClient.open(edge.url);
  onTestFinished(() => client.reset());
  for (const bytes of writes) await client.write(bytes);
  return client;
}

/** A valid request of so many bytes, nearly all of them in `data`. */
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

const CHUNKED = { "Transfer-Encoding": "chunked" };
const declared = (size: number) => ({ "Content-Length": String(size) });

describe("the room for bodies", () => {
  it("is as before after uploads that were reset, of a byte or of nothing", async () => {
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

  it("is as before after renders whose clients have gone", async () => {
    backend.answersAtOnce = false;
    const body = bodyOf(10 * MEBIBYTE);
    for (let round = 0; round < 10; round++) {
      const client = await open(renderHead(declared(body.length)), body);
      await expect.poll(backend.openRenders, { timeout: 10_000 }).toBe(1);
      client.reset();
      await expect.poll(backend.openRenders, { timeout: 10_000 }).toBe(0);
    }
    backend.answersAtOnce = true;
    expect(await renderStatus(bodyOf(20 * MEBIBYTE))).toBe(200);
  });

  it("is not held by uploads that are silent", async () => {
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
      await expect.poll(backend.openRenders, { timeout: 10_000 }).toBe(index);
    }
    backend.answersAtOnce = true;
    expect(await renderStatus(bodyOf(20 * MEBIBYTE))).toBe(200);
  });

  it("is shared out by caller: one with slow uploads leaves another the largest body", async () => {
    const slow = await Promise.all(Array.from({ length: 6 }, () => open(renderHead(declared(20 * MEBIBYTE)))));
    for (const client of slow) void client.write(" ".repeat(15 * MEBIBYTE));
    await delay(1000);
    expect(await renderStatus(bodyOf(20 * MEBIBYTE), OTHER_TOKEN)).toBe(200);
    const answers = await Promise.all(slow.map((client) => client.answer()));
    // Those that had their room, and did not go on, are given up for their silence.
    const refused = answers.filter((answer) => answer !== null && answer.status !== 400);
    expect(refused.length).toBeGreaterThan(0);
    expect(refused.length).toBeLessThan(slow.length);
    for (const answer of refused) {
      if (answer === null) continue;
      const { status, headers, body } = answer;
      const problem = JSON.parse(body);
      expect([status, problem.code, problem.origin]).toEqual([429, "render_queue_full", "capacity"]);
      expect(headers.get("Retry-After")).toBe(String(problem.context.retry_after));
      expect(problem.context.retry_after).toBeGreaterThan(0);
    }
  });
});

describe("a body that does not arrive", () => {
  it("is given up after ten seconds of silence, and the connection is closed", async () => {
    const clients = [
      await open(renderHead(CHUNKED), chunk("{")),
      await open(renderHead(declared(1000))),
      await open(renderHead(declared(1000)), "{"),
    ];
    for (const client of clients) {
      const answer = await client.answer(13_000);
      expect(answer?.status).toBe(400);
      expect(JSON.parse(answer?.body ?? "")).toMatchObject({
        code: "invalid_request",
        detail: "The body did not arrive in time.",
        context: {},
      });
      expect(await client.closed(5000)).toBe(true);
    }
  });

  it("is given up after its whole time, though a byte comes now and then", async () => {
    const client = await open(renderHead(CHUNKED));
    const dribble = setInterval(() => void client.write(chunk(" ")), 200);
    onTestFinished(() => clearInterval(dribble));
    const answer = await client.answer((BODY_TIMEOUT_SECONDS + 5) * 1000);
    expect(answer?.status).toBe(400);
    expect(JSON.parse(answer?.body ?? "")).toMatchObject({ code: "invalid_request" });
  });

  it("may be slow", async () => {
    const client = await open(renderHead(CHUNKED));
    for (const character of SMALL_BODY) {
      await client.write(chunk(character));
      await delay(100);
    }
    await client.write("0\r\n\r\n");
    expect((await client.answer())?.status).toBe(200);
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
    await expect.poll(backend.openRenders, { timeout: 10_000 }).toBe(20);
    for (const client of clients) client.reset();
    await expect.poll(backend.openRenders, { timeout: 5000 }).toBe(0);
  });
});

describe("a client that writes its whole body before it reads", () => {
  it.each([21, 25, 30])("gets its 413 whole, with %i MiB declared", async (size) => {
    const client = await open(renderHead(declared(size * MEBIBYTE)));
    expect(await client.write(Buffer.alloc(size * MEBIBYTE, " "))).toBe(true);
    const answer = await client.answer();
    expect(answer?.status).toBe(413);
    const { code, context } = JSON.parse(answer?.body ?? "");
    expect([code, context.declared_size]).toEqual(["request_too_large", size * MEBIBYTE]);
  });

  it.each([21, 25, 30])("gets its 413 whole, with %i MiB in chunks", async (size) => {
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
  ])("gets its problem whole: %s", async (_what, fields, path, status, code) => {
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
    expect(await client.closed(10_000)).toBe(true);
  });

  it("gets its answer without much delay when it never begins", async () => {
    const client = await open(renderHead({ ...declared(1000), "X-Service-Api-Token": "wrong" }));
    expect((await client.answer(8000))?.status).toBe(403);
  });
});

describe("/metrics", () => {
  const scrapeHead = "GET /metrics HTTP/1.1\r\nHost: edge.example\r\n\r\n";
  const KEPT_MILLISECONDS = 5000;

  it("asks a backend once for many scrapes, also while the first is under way, and names it by its place", async () => {
    await delay(KEPT_MILLISECONDS + 100);
    const before = backend.scrapes;
    const slow = backend.metrics;
    backend.metrics = (response) => void setTimeout(() => slow(response), 300);
    onTestFinished(() => {
      backend.metrics = slow;
    });
    const clients = await Promise.all(Array.from({ length: 16 }, () => open(scrapeHead)));
    const texts = await Promise.all(clients.map(async (client) => (await client.answer())?.body));
    for (const text of texts) expect(text).toContain('up{origin="backend-1"} 1\n');
    await (await open(scrapeHead)).answer();
    expect(backend.scrapes - before).toBe(1);
  });

  it("asks again after five seconds", async () => {
    await (await open(scrapeHead)).answer();
    const before = backend.scrapes;
    await delay(KEPT_MILLISECONDS + 100);
    expect((await (await open(scrapeHead)).answer())?.status).toBe(200);
    expect(backend.scrapes - before).toBe(1);
  });

  it("goes on when the one who asked first has gone", async () => {
    await delay(KEPT_MILLISECONDS + 100);
    const before = backend.scrapes;
    const answering = backend.metrics;
    backend.metrics = () => {};
    const first = await open(scrapeHead);
    await expect.poll(() => backend.scrapes).toBe(before + 1);
    const second = await open(scrapeHead);
    await delay(100);
    backend.metrics = answering;
    first.reset();
    expect((await second.answer(3000))?.body).toContain('service_origin_up{origin="backend-1"} 1\n');
  });

  it("takes a backend for down whose metrics never end, without reading on", async () => {
    await delay(KEPT_MILLISECONDS + 100);
    const answering = backend.metrics;
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
    onTestFinished(() => {
      backend.metrics = answering;
    });
    const answer = await (await open(scrapeHead)).answer();
    expect(answer?.body).toContain('service_origin_up{origin="backend-1"} 0\n');
    expect(sent).toBeLessThan(50 * MEBIBYTE);
  });
});

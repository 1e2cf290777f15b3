/**
 * The edge on real sockets with origins that fail in every way: who gets a render, when it is tried again, and what the
 * client hears in the end.
 */
import { setTimeout as delay } from "node:timers/promises";
import { describe, expect, it, onTestFinished } from "vitest";
import { LOOPBACK, startEdge, takeFreePort } from "../../scripts/local-service.ts";
import { expectProblem } from "../support/problems.ts";
import { RawConnection, renderHead } from "../support/raw-connection.ts";
import { type Behaviour, problemAnswer, ScriptedOrigin } from "../support/scripted-origin.ts";
import { API_TOKEN, BACKEND_TOKEN } from "../support/tokens.ts";

const RENDERS = 12;
const LOAD = "X-Service-Load";

interface Stage {
  readonly url: URL;
  readonly origins: readonly ScriptedOrigin[];
  render(body?: string): Promise<Response>;
  /** The texts of so many renders, one after another, and of more until the origin has been asked. */
  renderMany(count: number, asked?: ScriptedOrigin): Promise<string[]>;
}

/** An edge with the origins `a`, `b` and so on, which answer unless the test scripts something else. */
async function startStage(
  count: number,
  { otherEntries = [] as string[], settings = {} as Record<string, string> } = {},
): Promise<Stage> {
  const origins = await Promise.all([..."abcd"].slice(0, count).map((name) => new ScriptedOrigin(name).start()));
  const edge = await startEdge(
    {
      SERVICE_API_TOKENS: API_TOKEN,
      SERVICE_BACKEND_TOKEN: BACKEND_TOKEN,
      SERVICE_BACKEND_URLS: [...origins.map(({ entry }) => entry), ...otherEntries].join(" "),
      ...settings,
    },
    0,
  );
  onTestFinished(async () => {
    await edge.stop();
    for (const origin of origins) await origin.stop();
  });
  const render = (body = '{"source":"x"}') =>
    fetch(new URL("/v1/render", edge.url), {
      method: "POST",
      headers: { "X-Service-Api-Token": API_TOKEN, "Content-Type": "application/json" },
      body,
    });
  return {
    url: edge.url,
    origins,
    render,
    renderMany: async (renders, asked) => {
      const texts: string[] = [];
      while (texts.length < renders || asked?.requests.length === 0) texts.push(await (await render()).text());
      return texts;
    },
  };
}

async function startPair(options: Parameters<typeof startStage>[1] = {}) {
  const stage = await startStage(2, options);
  const [a, b] = stage.origins;
  if (a === undefined || b === undefined) throw new Error("there are two origins");
  return { ...stage, a, b };
}

const BY_B = "%PDF by b";

/** An answer that no backend gives. */
const foreign =
  (status: number, mediaType: string, code?: string): Behaviour =>
  (response) =>
    response
      .writeHead(status, { "Content-Type": mediaType, ...(code !== undefined && { "X-Service-Problem-Code": code }) })
      .end("<html>");

/** Ways in which an origin fails once it has the whole request. */
const FAILURES: readonly (readonly [string, Behaviour])[] = [
  ["answers 503", problemAnswer("service_unavailable")],
  ["answers 403, as to a wrong token", problemAnswer("forbidden")],
  ["answers 404", problemAnswer("not_found")],
  ["is a proxy that answers 502 with a page", (response) => response.writeHead(502).end("<html>")],
  ["is a proxy that answers 200 with a page", foreign(200, "text/html")],
  ["is a server that answers 200 without a media type", (response) => response.writeHead(200).end("%PDF")],
  ["is a server that answers 200 with a problem's media type", foreign(200, "application/problem+json")],
  ["answers 200 with two media types", foreign(200, "application/pdf, text/html")],
  ...[400, 413, 500].map((status): readonly [string, Behaviour] => [
    `is a proxy that answers ${status} with a problem of its own`,
    foreign(status, "application/problem+json"),
  ]),
  ["answers 400 with a problem of another status", foreign(400, "application/problem+json", "render_failed")],
  ["answers 500 with a problem that there is not", foreign(500, "application/problem+json", "constructor")],
  ["redirects", (response) => response.writeHead(302, { Location: "http://169.254.169.254/" }).end()],
  ["resets the connection", (response) => response.socket?.resetAndDestroy()],
  ["closes the connection", (response) => response.socket?.end()],
  ["answers with what is not HTTP", (response) => response.socket?.end("garbage\r\n\r\n")],
  ["breaks off in the head of its answer", (response) => response.socket?.end("HTTP/1.1 200 OK\r\nContent-Ty")],
];

describe("one of two origins", () => {
  it.each(FAILURES)("%s: no render is lost, and it is soon left alone", async (_what, behaviour) => {
    const { a, b, renderMany } = await startPair();
    a.behaviour = behaviour;
    const texts = await renderMany(RENDERS, a);
    expect(new Set(texts)).toEqual(new Set([BY_B]));
    expect(a.requests.length).toBeLessThanOrEqual(2);
    expect(b.requests).toHaveLength(texts.length);
  });

  it("is not there at all: no render is lost", async () => {
    const { renderMany } = await startStage(1, { otherEntries: [`http://${LOOPBACK}:${await takeFreePort()}`] });
    expect(new Set(await renderMany(RENDERS))).toEqual(new Set(["%PDF by a"]));
  });

  it("is full: the other gets its renders", async () => {
    const { a, renderMany } = await startPair();
    a.behaviour = problemAnswer("render_queue_full", { "Retry-After": "7", [LOAD]: "running=1,waiting=9,slots=1" });
    expect(new Set(await renderMany(RENDERS, a))).toEqual(new Set([BY_B]));
    expect(a.requests.length).toBeLessThanOrEqual(2);
  });

  it("hangs: its render goes to the other within seconds", async () => {
    const { a, renderMany } = await startPair();
    a.isAlive = false;
    a.behaviour = () => {};
    expect(new Set(await renderMany(4, a))).toEqual(new Set([BY_B]));
    expect(a.requests).toHaveLength(1);
    await expect.poll(() => a.abandoned).toBe(a.requests.length);
  });

  it("is slow, but alive: its render is waited for", async () => {
    const { origins, render } = await startStage(1);
    const [a] = origins;
    if (a === undefined) throw new Error("there is an origin");
    a.behaviour = (response) => void setTimeout(() => a.answer(response), 7000);
    expect(await (await render()).text()).toBe("%PDF by a");
    expect(a.requests).toHaveLength(1);
    expect(a.probes).toBeGreaterThanOrEqual(1);
  });

  it("gets work again after it has come back", async () => {
    const { a, renderMany } = await startPair();
    await renderMany(1, a);
    await a.stop();
    await renderMany(8);
    await a.start();
    await expect.poll(async () => (await renderMany(4)).includes("%PDF by a")).toBe(true);
  });

  it("is about to stop: it gets no more renders, and loses none that it has begun", async () => {
    const { a, b, renderMany } = await startPair();
    a.behaviour = (response) => a.answer(response, { [LOAD]: "running=0,waiting=0,slots=2,draining" });
    const texts = await renderMany(RENDERS, a);
    expect(texts.filter((text) => text !== BY_B)).toHaveLength(1);
    expect(a.requests.length + b.requests.length).toBe(texts.length);
  });

  it("has a long queue: the other gets the next renders", async () => {
    const { a, b, renderMany } = await startPair();
    a.behaviour = (response) => a.answer(response, { [LOAD]: "running=2,waiting=50,slots=2" });
    b.behaviour = (response) => b.answer(response, { [LOAD]: "running=0,waiting=0,slots=2" });
    await renderMany(RENDERS, a);
    expect(a.requests).toHaveLength(1);
  });
});

describe("a render that is tried again", () => {
  it("arrives byte for byte, also when it is large", async () => {
    const { a, b, render } = await startPair();
    a.behaviour = (response) => response.socket?.resetAndDestroy();
    const piece = "ä".repeat(400_000);
    const body = JSON.stringify({ source: "x", data: Array.from({ length: 20 }, () => piece) });
    // Until chance has sent one to `a`, which fails.
    while (a.requests.length === 0) expect((await render(body)).status).toBe(200);
    const sent = Buffer.from(body);
    for (const { body: received } of [...a.requests, ...b.requests]) expect(received.equals(sent)).toBe(true);
  }, 60_000);

  it("keeps its request id, and tells each origin how long the edge still waits", async () => {
    const { a, b, render } = await startPair();
    a.behaviour = (response) => void setTimeout(problemAnswer("service_unavailable"), 300, response);
    const ids: (string | null)[] = [];
    while (a.requests.length === 0) ids.push((await render()).headers.get("X-Request-Id"));
    const idOf = ({ headers }: { headers: object }) => new Headers({ ...headers }).get("X-Request-Id");
    const patienceOf = ({ headers }: { headers: object }) =>
      Number(new Headers({ ...headers }).get("X-Service-Patience-Milliseconds"));
    expect(b.requests.map(idOf)).toEqual(ids);
    const [first] = a.requests;
    const second = b.requests.at(-1);
    if (first === undefined || second === undefined) throw new Error("both were asked");
    expect(idOf(first)).toBe(idOf(second));
    expect(patienceOf(first)).toBeLessThanOrEqual(60_000);
    expect(patienceOf(first)).toBeGreaterThan(50_000);
    expect(patienceOf(second)).toBeLessThanOrEqual(patienceOf(first) - 290);
  });

  it("is not tried again once an answer has begun", async () => {
    const { origins, url } = await startStage(3);
    for (const origin of origins) {
      origin.behaviour = (response) => {
        response.writeHead(200, { "Content-Type": "application/pdf", "Content-Length": "1000" }).write("%PDF");
        setTimeout(() => response.socket?.resetAndDestroy(), 50);
      };
    }
    const client = await RawConnection.open(url);
    onTestFinished(() => client.reset());
    await client.write(`${renderHead({ "Content-Length": "14" })}{"source":"x"}`);
    expect(await client.closed()).toBe(true);
    expect(origins.flatMap(({ requests }) => requests)).toHaveLength(1);
  });

  it("is not tried again when its client has left", async () => {
    const { origins, url } = await startStage(3);
    for (const origin of origins) origin.behaviour = () => {};
    const requests = () => origins.flatMap((origin) => origin.requests);
    const client = await RawConnection.open(url);
    await client.write(`${renderHead({ "Content-Length": "14" })}{"source":"x"}`);
    await expect.poll(() => requests().length).toBe(1);
    client.reset();
    await expect.poll(() => origins.reduce((sum, { abandoned }) => sum + abandoned, 0)).toBe(1);
    await delay(500);
    expect(requests()).toHaveLength(1);
  });

  it("that brings down each backend that has it brings down two and no more", async () => {
    const { origins, render } = await startStage(4);
    for (const origin of origins) origin.behaviour = (response) => response.socket?.resetAndDestroy();
    await expectProblem(await render(), "service_unavailable");
    expect(origins.flatMap(({ requests }) => requests)).toHaveLength(2);
  });
});

describe("a request without a usable URL", () => {
  it.each([
    ["a host with a space", { Host: "a b" }],
    ["a host with a port that is none", { Host: "edge.example:port" }],
    ["a host with a path, which would hide the path that is asked for", { Host: "edge.example/v1/render?" }],
    ["a host with a query", { Host: "edge.example?" }],
    ["a host with a user name", { Host: "user@edge.example" }],
  ])("is refused, and no origin is blamed for it: %s", async (_what, fields) => {
    const { origins, url } = await startStage(1, { settings: { SERVICE_CORS_ORIGINS: "*" } });
    const body = '{"source":"x"}';
    for (const head of [
      renderHead({ "Content-Length": String(body.length), ...fields }) + body,
      `GET /health HTTP/1.1\r\nHost: ${fields.Host}\r\n\r\n`,
    ]) {
      const client = await RawConnection.open(url);
      onTestFinished(() => client.reset());
      await client.write(head);
      // Its `instance` may have no host.
      const answer = await client.answer();
      expect([answer?.status, JSON.parse(answer?.body ?? "")]).toMatchObject([400, { code: "invalid_request" }]);
    }
    expect(origins[0]?.requests).toEqual([]);
  });
});

describe("when no origin can answer, the client is told", () => {
  it("that the service is full, with the shortest time to wait", async () => {
    const { a, b, render } = await startPair();
    a.behaviour = problemAnswer("render_queue_full", { "Retry-After": "7" });
    b.behaviour = problemAnswer("render_queue_full", { "Retry-After": "3" });
    const answer = await render();
    expect(answer.headers.get("Retry-After")).toBe("3");
    expect((await expectProblem(answer, "render_queue_full")).context).toEqual({ retry_after: 3 });
    expect(a.requests.length + b.requests.length).toBe(2);
  });

  it("that it is full, when one origin is full and the other gone", async () => {
    const { a, b, render } = await startPair();
    await a.stop();
    b.behaviour = problemAnswer("render_queue_full", { "Retry-After": "3" });
    await expectProblem(await render(), "render_queue_full");
  });

  it("that it has failed, when all are gone", async () => {
    const { a, b, render } = await startPair();
    await a.stop();
    await b.stop();
    await expectProblem(await render(), "service_unavailable");
  });

  it("that it has failed, when the only origin does not answer in time", async () => {
    const { a, b, render } = await startPair({
      settings: {
        SERVICE_QUEUE_DEADLINE_SECONDS: "1",
        SERVICE_RENDER_TIMEOUT_SECONDS: "1",
        SERVICE_BACKEND_TIMEOUT_SECONDS: "3",
      },
    });
    a.behaviour = () => {};
    b.behaviour = () => {};
    await expectProblem(await render(), "service_unavailable");
    expect(a.requests.length + b.requests.length).toBe(1);
  });

  it("nothing about the addresses of origins", async () => {
    const { origins, render, url } = await startStage(1);
    await origins[0]?.stop();
    const metrics = await (await fetch(new URL("/metrics", url))).text();
    expect(metrics).toContain('service_origin_up{origin="a"} 0');
    expect(metrics + (await (await render()).text())).not.toContain(origins[0]?.entry.split("://")[1]);
  });
});

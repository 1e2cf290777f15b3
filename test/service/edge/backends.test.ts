/**
 * The edge on real sockets with backends that fail in every way: who gets a render, when it is tried again, and what
 * the client hears in the end.
 */
import { once } from "node:events";
import type { IncomingHttpHeaders, ServerResponse } from "node:http";
import { beforeAll, describe, expect, it } from "vitest";
import { expectProblem } from "../../support/problems.ts";
import { type EdgeSettings, startEdges } from "../../support/service/edge-stage.ts";
import { RawConnection, renderRequest } from "../../support/service/raw-connection.ts";
import { type Behaviour, problemAnswer, ScriptedBackend } from "../../support/service/scripted-backend.ts";
import { EDGE_PLATFORMS } from "../../support/service/service-parts.ts";
import { clientOf } from "../../support/service/test-service.ts";

const BODY = '{"source":"x"}';
const RENDERS = 12;
/** Of renders while a backend is avoided, which takes seconds. */
const SELDOM = { interval: 500 };
const LOAD = "X-Service-Load";

type Stage = ReturnType<typeof stageOf>;

function stageOf(url: URL, origins: readonly ScriptedBackend[]) {
  const render = (body = BODY) => clientOf(url).render(body);
  return {
    url,
    origins,
    render,
    /** The texts of so many renders, one after another, and of more until `asked` has received a request. */
    renderMany: async (renders: number, asked?: ScriptedBackend) => {
      const texts: string[] = [];
      while (texts.length < renders || asked?.renders.length === 0) texts.push(await (await render()).text());
      return texts;
    },
  };
}

const LONG_PATIENCE = { SERVICE_BACKEND_TIMEOUT_SECONDS: "53" };
const SHORT_PATIENCE = {
  SERVICE_QUEUE_DEADLINE_SECONDS: "1",
  SERVICE_RENDER_TIMEOUT_SECONDS: "1",
  SERVICE_BACKEND_TIMEOUT_SECONDS: "3",
};

/** The edges that the tests take, each of which is used once: of so many, by backends and settings. */
const EDGES: readonly (readonly [origins: number, edges: number, settings?: EdgeSettings])[] = [
  [1, 2],
  [2, 15],
  [3, 5],
  [4, 1],
  [2, 1, LONG_PATIENCE],
  [2, 1, SHORT_PATIENCE],
];
describe.each(EDGE_PLATFORMS)("the edge on %s", (platform) => {
  /** Edges that no test has used. */
  const unused: { readonly count: number; readonly settings: EdgeSettings | undefined; readonly stage: Stage }[] = [];

  beforeAll(async () => {
    const wanted = EDGES.flatMap(([count, edges, settings]) =>
      Array.from({ length: edges }, () => ({ count, settings })),
    );
    const groups = await Promise.all(
      wanted.map(({ count }) =>
        Promise.all([..."abcd"].slice(0, count).map((name) => new ScriptedBackend(name).start())),
      ),
    );
    const { urls, stop } = await startEdges(
      wanted.map(({ settings }, index) => ({
        SERVICE_BACKEND_URLS: (groups[index] ?? []).map(({ entry }) => entry).join(" "),
        ...settings,
      })),
      platform,
    );
    for (const [index, url] of urls.entries()) {
      const { count = 0, settings } = wanted[index] ?? {};
      unused.push({ count, settings, stage: stageOf(url, groups[index] ?? []) });
    }
    return async () => {
      await stop();
      for (const origin of groups.flat()) await origin.stop();
    };
  });

  /** An edge with the backends `a`, `b` and so on, which answer unless the test scripts something else. */
  function takeStage(count: number, settings?: EdgeSettings): Stage {
    const index = unused.findIndex((one) => one.count === count && one.settings === settings);
    const [taken] = index < 0 ? [] : unused.splice(index, 1);
    return taken?.stage ?? expect.unreachable("EDGES has too few of these");
  }

  function takePair(settings?: EdgeSettings) {
    const stage = takeStage(2, settings);
    const [a, b] = stage.origins;
    if (a === undefined || b === undefined) throw new Error("there are two origins");
    return { ...stage, a, b };
  }

  const BY_B = "%PDF by b";

  /** An answer that no backend gives. */
  const foreign =
    (status: number, mediaType: string): Behaviour =>
    (response) =>
      response.writeHead(status, { "Content-Type": mediaType }).end("<html>");

  /** Ways in which a backend fails once it has the whole request. */
  const FAILURES: readonly (readonly [string, Behaviour])[] = [
    ["answers 503", problemAnswer("service_unavailable")],
    ["is a proxy that answers 502 with a page", foreign(502, "text/html")],
    ["is a proxy that answers 200 with a page", foreign(200, "text/html")],
    ["is a server that answers 200 without a media type", (response) => response.writeHead(200).end("%PDF")],
    ["is a proxy that answers 413 with its own problem", foreign(413, "application/problem+json")],
    ["resets the connection", (response) => response.socket?.resetAndDestroy()],
    ["answers with what is not HTTP", (response) => response.socket?.end("garbage\r\n\r\n")],
    ["breaks off in the head of its answer", (response) => response.socket?.end("HTTP/1.1 200 OK\r\nContent-Ty")],
  ];

  describe("one of two origins", () => {
    it.each(FAILURES)("%s: no render is lost, and it soon gets no more of them", async (_what, behaviour) => {
      const { a, b, renderMany } = takePair();
      a.behaviour = behaviour;
      const texts = await renderMany(RENDERS, a);
      expect(new Set(texts)).toEqual(new Set([BY_B]));
      expect(a.renders.length).toBeLessThanOrEqual(2);
      expect(a.probes).toBeGreaterThan(0);
      expect(b.renders).toHaveLength(texts.length);
    });

    it("is about to stop: it gets no more renders, and loses none that it has begun", async () => {
      const { a, b, renderMany } = takePair();
      a.behaviour = (response) => a.answer(response, { [LOAD]: "running=0,waiting=0,slots=2,draining" });
      const texts = await renderMany(RENDERS, a);
      expect(texts.filter((text) => text !== BY_B)).toHaveLength(1);
      expect(a.renders.length + b.renders.length).toBe(texts.length);
    });
  });

  // They wait for seconds and need little of the processor: they do so side by side.
  describe("of origins that are slow", { concurrent: true }, () => {
    const whenFull = problemAnswer("render_queue_full", { "Retry-After": "1" });

    it.each<[string, number, (origin: ScriptedBackend) => Behaviour]>([
      ["one of two is slow, but renders", 3, (origin) => (response) => origin.answer(response)],
      ["one of two is slow, and so full that it has no slot for a probe", 2, () => whenFull],
    ])("%s: it is waited for", async (_what, probes, probeAnswer) => {
      const { a, b, render } = takePair();
      let answer = () => {};
      for (const origin of [a, b]) {
        origin.behaviour = (response) => {
          answer = () => origin.answer(response);
        };
        origin.probeBehaviour = (response, request) => {
          probeAnswer(origin)(response, request);
          if (a.probes + b.probes === probes) answer();
        };
      }
      expect((await render()).status).toBe(200);
      expect(a.renders.length + b.renders.length).toBe(1);
    });

    it("one of two gets work again after it has come back", async ({ expect }) => {
      const { a, renderMany } = takePair();
      await renderMany(1, a);
      await a.stop();
      await renderMany(8);
      await a.start();
      await expect.poll(async () => (await renderMany(4)).includes("%PDF by a"), SELDOM).toBe(true);
    });

    it("if only one may be asked and it does not answer in time, the client is told so", async () => {
      const { a, b, render } = takePair(SHORT_PATIENCE);
      a.behaviour = () => {};
      b.behaviour = () => {};
      await expectProblem(await render(), "service_unavailable");
      expect(a.renders.length + b.renders.length).toBe(1);
    });
  });

  describe("a render that is tried again", () => {
    it("arrives byte for byte, also when it is large", async () => {
      const { a, b, render } = takePair();
      const received: Buffer[] = [];
      a.behaviour = (response, request) => {
        received.push(request.body);
        response.socket?.resetAndDestroy();
      };
      b.behaviour = (response, request) => {
        received.push(request.body);
        b.answer(response);
      };
      for (const origin of [a, b]) origin.probeBehaviour = (response) => origin.answer(response);
      const piece = "ä".repeat(400_000);
      const body = JSON.stringify({ source: "x", data: Array.from({ length: 20 }, () => piece) });
      // Until chance has sent one to `a`, which fails.
      while (a.renders.length === 0) expect((await render(body)).status).toBe(200);
      expect(received.length).toBeGreaterThan(1);
      for (const bytes of received) expect(bytes.equals(Buffer.from(body))).toBe(true);
    });

    it("keeps its request id, and tells each origin how long the edge still waits", async () => {
      const { a, b, render } = takePair(LONG_PATIENCE);
      // The time that passes here is what the second backend must not be promised.
      a.behaviour = (response) => void setTimeout(problemAnswer("service_unavailable"), 300, response);
      const ids: (string | null)[] = [];
      while (a.renders.length === 0) ids.push((await render()).headers.get("X-Request-Id"));
      const idOf = (headers: IncomingHttpHeaders) => headers["x-request-id"];
      const timeBudgetOf = (headers: IncomingHttpHeaders) => Number(headers["x-service-patience-milliseconds"]);
      expect(b.renders.map(idOf)).toEqual(ids);
      const [first] = a.renders;
      const second = b.renders.at(-1);
      if (first === undefined || second === undefined) throw new Error("both were asked");
      expect(idOf(first)).toBe(idOf(second));
      expect(timeBudgetOf(first)).toBeLessThanOrEqual(53_000);
      expect(timeBudgetOf(first)).toBeGreaterThan(50_000);
      expect(timeBudgetOf(second)).toBeLessThanOrEqual(timeBudgetOf(first) - 290);
    });

    it("is not tried again once an answer has begun", async () => {
      const { origins, url } = takeStage(3);
      let breakOff: () => void = () => {};
      for (const origin of origins) {
        origin.behaviour = (response) => {
          response.writeHead(200, { "Content-Type": "application/pdf", "Content-Length": "1000" }).write("%PDF");
          breakOff = () => response.socket?.resetAndDestroy();
        };
      }
      const client = await RawConnection.open(url, renderRequest(BODY));
      await once(client.socket.resume(), "data");
      breakOff();
      await client.expectClosed();
      expect(origins.flatMap(({ renders }) => renders)).toHaveLength(1);
    });

    it("is not tried again when its client has left", async () => {
      const { origins, url } = takeStage(3);
      for (const origin of origins) origin.behaviour = () => {};
      const requests = () => origins.flatMap((origin) => origin.renders);
      const client = await RawConnection.open(url, renderRequest(BODY));
      await expect.poll(() => requests().length).toBe(1);
      client.reset();
      await expect.poll(() => origins.reduce((sum, { abandoned }) => sum + abandoned, 0)).toBe(1);
      // The isolate does one thing after another: once it has answered this, it would have begun the other.
      await fetch(new URL("/metrics", url));
      expect(requests()).toHaveLength(1);
    });

    it("that brings down each backend that has it brings down two and no more", async () => {
      const { origins, render } = takeStage(4);
      for (const origin of origins) origin.behaviour = (response) => response.socket?.resetAndDestroy();
      await expectProblem(await render(), "service_unavailable");
      expect(origins.flatMap(({ renders }) => renders)).toHaveLength(2);
    });
  });

  describe("an answer that blames the request", () => {
    /** What makes each backend answer so. */
    const POISON = '{"source":"poison"}';
    const rawAnswer: Behaviour = (response) =>
      response.socket?.end("HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
    const refusals: readonly (readonly [string, Behaviour])[] = [
      ["with a problem", problemAnswer("invalid_request")],
      ["as Node itself", rawAnswer],
      ["as a proxy", foreign(413, "text/html")],
    ];

    it.each(refusals)(
      "%s: the render is tried elsewhere, fails as a fault of the service, and no origin is avoided for it",
      async (_what, refuse) => {
        const { origins, render, renderMany } = takeStage(3);
        for (const origin of origins) {
          origin.behaviour = (response, request) => {
            if (request.body.toString() === POISON) refuse(response, request);
            else origin.answer(response);
          };
        }
        for (let count = 0; count < 4; count++) await expectProblem(await render(POISON), "service_unavailable");
        for (const origin of origins) expect(origin.renders.length).toBeGreaterThan(0);
        for (const origin of origins) origin.renders.length = 0;
        const texts = await renderMany(60);
        expect(new Set(texts)).toEqual(new Set(["%PDF by a", "%PDF by b", "%PDF by c"]));
        const [poisoned] = origins;
        if (poisoned !== undefined) poisoned.behaviour = refuse;
        expect(new Set(await renderMany(RENDERS, poisoned))).not.toContain("%PDF by a");
      },
    );
  });

  it("an origin is not avoided because clients reset their renders, nor does that end the probes of one that failed", async () => {
    const { a, b, url, renderMany } = takePair();
    let begun = 0;
    b.behaviour = (response, request) => {
      if (request.body.includes("endless")) begun++;
      else b.answer(response);
    };
    a.behaviour = (response) => response.socket?.resetAndDestroy();
    await renderMany(1, a);
    a.behaviour = (response, request) => {
      if (request.body.includes("endless")) begun++;
      a.answer(response);
    };
    // The client that a probe was begun for is gone before its result.
    const probes: (() => void)[] = [];
    a.probeBehaviour = (response) => void probes.push(() => a.answer(response));
    const endless = '{"source":"endless"}';
    let isOver = false;
    const leaving = (async () => {
      while (!isOver) {
        const [before, gone] = [begun, b.abandoned];
        const client = await RawConnection.open(url, renderRequest(endless));
        await expect.poll(() => begun).toBeGreaterThan(before);
        client.reset();
        await expect.poll(() => b.abandoned > gone || isOver).toBe(true);
        for (const answer of probes.splice(0)) answer();
      }
    })();
    await expect.poll(async () => (await renderMany(1)).includes("%PDF by a"), SELDOM).toBe(true);
    isOver = true;
    await leaving;
    expect(b.renders.length).toBeGreaterThan(0);
  });

  it("no redirect is followed: neither a render nor the edge's token goes to its target", async () => {
    const { a, b, renderMany, url } = takePair();
    // The only status that workerd would follow after a body that it cannot send again: as a GET, with the same fields.
    const redirect = (response: ServerResponse) => response.writeHead(303, { Location: `${b.url.origin}/x` }).end();
    a.behaviour = redirect;
    a.elsewhere = redirect;
    await renderMany(RENDERS, a);
    expect([b.askedElsewhere, a.probes > 0]).toEqual([0, true]);
    await fetch(new URL("/metrics", url));
    await fetch(new URL("/capabilities.json", url));
    expect([a.askedElsewhere, b.askedElsewhere]).toEqual([2, 2]);
  });

  it("what a caller adds to the header fields of a render at its origin is bounded", async () => {
    const { origins, url } = takeStage(1);
    const [origin] = origins;
    const host = `${"a".repeat(63)}.${"b".repeat(63)}.${"c".repeat(63)}.${"d".repeat(61)}:65535`;
    const tracestate = Array.from({ length: 32 }, (_, index) => `k${index}=${"v".repeat(200)}`).join(",");
    const fields = {
      Host: host,
      traceparent: `00-${"a".repeat(32)}-${"b".repeat(16)}-01`,
      tracestate,
      Cookie: "c".repeat(3000),
    };
    const client = await RawConnection.open(url, renderRequest(BODY, fields));
    expect((await client.answer())?.status).toBe(200);
    const headers = origin?.renders[0] ?? {};
    expect(headers["x-forwarded-host"]).toBe(host);
    expect(JSON.stringify(headers).length).toBeLessThan(2500);
  });

  describe("when no origin can answer, the client is told", () => {
    it("nothing about the addresses of origins", async () => {
      const { origins, render, url } = takeStage(1);
      await origins[0]?.stop();
      const metrics = await (await fetch(new URL("/metrics", url))).text();
      expect(metrics).toContain('service_origin_absent{origin="a"} 1');
      expect(metrics + (await (await render()).text())).not.toContain(origins[0]?.entry.split("://")[1]);
    });
  });
});

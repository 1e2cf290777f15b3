/**
 * The edge on real sockets with backends that fail in every way: who gets a render, when it is tried again, and what
 * the client hears in the end.
 */
import { once } from "node:events";
import { createServer } from "node:http";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { startConfiguredWorkers } from "../../../scripts/start/local-service.ts";
import { closeServer, listenOnLoopback } from "../../support/loopback-server.ts";
import { expectProblem } from "../../support/problems.ts";
import { RawConnection, renderHead } from "../../support/service/raw-connection.ts";
import { type Behaviour, problemAnswer, ScriptedBackend } from "../../support/service/scripted-backend.ts";
import { API_TOKEN, BACKEND_TOKEN } from "../../support/tokens.ts";

const RENDERS = 12;
/** Of renders while a backend is avoided, which takes seconds. */
const SELDOM = { interval: 500 };
const LOAD = "X-Service-Load";

interface Stage {
  readonly url: URL;
  readonly origins: readonly ScriptedBackend[];
  render(body?: string): Promise<Response>;
  /** The texts of `count` renders, one after another, and of more until `asked` has received a request. */
  renderMany(count: number, asked?: ScriptedBackend): Promise<string[]>;
}

type Settings = Readonly<Record<string, string>>;

interface StageOptions {
  /** The number of its backends. */
  readonly count: number;
  readonly otherEntries?: readonly string[];
  readonly settings?: Settings;
}

const ACCESS = { SERVICE_ACCESS_CLIENT_ID: "id.access", SERVICE_ACCESS_CLIENT_SECRET: "secret" };
const CORS = { SERVICE_CORS_ORIGINS: "*" };
const LONG_PATIENCE = { SERVICE_BACKEND_TIMEOUT_SECONDS: "53" };
const SHORT_PATIENCE = {
  SERVICE_QUEUE_DEADLINE_SECONDS: "1",
  SERVICE_RENDER_TIMEOUT_SECONDS: "1",
  SERVICE_BACKEND_TIMEOUT_SECONDS: "3",
};

/**
 * The edges that the tests take, each of which is used once. One workerd runs all of them: its start costs more than
 * theirs.
 */
const EDGES: readonly (readonly [origins: number, edges: number, settings?: Settings])[] = [
  [1, 2],
  [2, 30],
  [3, 9],
  [4, 1],
  [1, 1, ACCESS],
  [1, 1, CORS],
  [2, 1, LONG_PATIENCE],
  [2, 1, SHORT_PATIENCE],
];
/** Edges that no test has used, by the number of their backends and their settings. */
const unused = new Map<string, Stage[]>();
const keyOf = (origins: number, settings: Settings = {}) => JSON.stringify([origins, settings]);

beforeAll(async () => {
  const wanted = EDGES.flatMap(([count, edges, settings]) =>
    Array.from({ length: edges }, () => ({ count, ...(settings && { settings }) })),
  );
  const stages = await startStages(wanted);
  for (const [index, { count, settings }] of wanted.entries()) {
    const stage = stages[index];
    const key = keyOf(count, settings);
    if (stage !== undefined) unused.set(key, [...(unused.get(key) ?? []), stage]);
  }
});

/** An edge with the backends `a`, `b` and so on, which answer unless the test scripts something else. */
function takeStage(count: number, settings?: Settings): Stage {
  const stage = unused.get(keyOf(count, settings))?.pop();
  if (stage === undefined) throw new Error("EDGES has too few of these");
  return stage;
}

/** Edges in one workerd, each with backends of its own. */
async function startStages(wanted: readonly StageOptions[]): Promise<Stage[]> {
  const startOrigins = (count: number) =>
    Promise.all([..."abcd"].slice(0, count).map((name) => new ScriptedBackend(name).start()));
  const groups = await Promise.all(wanted.map(({ count }) => startOrigins(count)));
  const bindings = wanted.map(({ otherEntries = [], settings }, index) => ({
    SERVICE_API_TOKENS: API_TOKEN,
    SERVICE_BACKEND_TOKEN: BACKEND_TOKEN,
    SERVICE_BACKEND_URLS: [...(groups[index] ?? []).map(({ entry }) => entry), ...otherEntries].join(" "),
    ...settings,
  }));
  const { urls, stop } = await startConfiguredWorkers(bindings, 0);
  stops.push(stop, ...groups.flat().map((origin) => () => origin.stop()));
  return urls.map((url, index) => stageOf(url, groups[index] ?? []));
}

const stops: (() => Promise<void>)[] = [];
afterAll(async () => {
  for (const stop of stops) await stop();
});

function stageOf(url: URL, origins: readonly ScriptedBackend[]): Stage {
  const render = (body = '{"source":"x"}') =>
    fetch(new URL("/v1/render", url), {
      method: "POST",
      headers: { "X-Service-Api-Token": API_TOKEN, "Content-Type": "application/json" },
      body,
    });
  return {
    url,
    origins,
    render,
    renderMany: async (renders, asked) => {
      const texts: string[] = [];
      while (texts.length < renders || asked?.requests.length === 0) texts.push(await (await render()).text());
      return texts;
    },
  };
}

function takePair(settings?: Settings) {
  const stage = takeStage(2, settings);
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

/** Ways in which a backend fails once it has the whole request. */
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
    `is a proxy that answers ${status} with its own problem`,
    foreign(status, "application/problem+json"),
  ]),
  ["answers 400 with a problem of another status", foreign(400, "application/problem+json", "render_failed")],
  [
    "is a proxy that answers a page with a problem's status and code",
    foreign(422, "text/html", "template_compile_failed"),
  ],
  ["answers 500 with a problem that there is not", foreign(500, "application/problem+json", "constructor")],
  ["resets the connection", (response) => response.socket?.resetAndDestroy()],
  ["closes the connection", (response) => response.socket?.end()],
  ["answers with what is not HTTP", (response) => response.socket?.end("garbage\r\n\r\n")],
  ["breaks off in the head of its answer", (response) => response.socket?.end("HTTP/1.1 200 OK\r\nContent-Ty")],
];

describe("one of two origins", () => {
  it.each(FAILURES)("%s: no render is lost, and it soon gets no more of them", async (_what, behaviour) => {
    const { a, b, renderMany } = takePair();
    a.behaviour = behaviour;
    const texts = await renderMany(RENDERS, a);
    expect(new Set(texts)).toEqual(new Set([BY_B]));
    expect(a.requests.length).toBeLessThanOrEqual(2);
    expect(a.probes).toBeGreaterThan(0);
    expect(b.requests).toHaveLength(texts.length);
  });

  it("is not there at all: no render is lost", async () => {
    const { a, renderMany } = takePair();
    await a.stop();
    expect(new Set(await renderMany(RENDERS))).toEqual(new Set([BY_B]));
  });

  it("is full: the other gets its renders", async () => {
    const { a, renderMany } = takePair();
    a.behaviour = problemAnswer("render_queue_full", { "Retry-After": "7", [LOAD]: "running=1,waiting=9,slots=1" });
    expect(new Set(await renderMany(RENDERS, a))).toEqual(new Set([BY_B]));
    expect(a.requests.length).toBeLessThanOrEqual(2);
  });

  const whenFull = problemAnswer("render_queue_full", { "Retry-After": "1" });

  it.each<[string, number, (origin: ScriptedBackend) => Behaviour]>([
    ["is slow, but renders", 3, (origin) => (response) => origin.answer(response)],
    ["is slow, and so full that it has no slot for a probe", 2, () => whenFull],
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
    expect(a.requests.length + b.requests.length).toBe(1);
  });

  it("gets work again after it has come back", async () => {
    const { a, renderMany } = takePair();
    await renderMany(1, a);
    await a.stop();
    await renderMany(8);
    await a.start();
    await expect.poll(async () => (await renderMany(4)).includes("%PDF by a"), SELDOM).toBe(true);
  });

  it("is about to stop: it gets no more renders, and loses none that it has begun", async () => {
    const { a, b, renderMany } = takePair();
    a.behaviour = (response) => a.answer(response, { [LOAD]: "running=0,waiting=0,slots=2,draining" });
    const texts = await renderMany(RENDERS, a);
    expect(texts.filter((text) => text !== BY_B)).toHaveLength(1);
    expect(a.requests.length + b.requests.length).toBe(texts.length);
  });

  it("has a long queue: the other gets the next renders", async () => {
    const { a, b, renderMany } = takePair();
    a.behaviour = (response) => a.answer(response, { [LOAD]: "running=2,waiting=50,slots=2" });
    b.behaviour = (response) => b.answer(response, { [LOAD]: "running=0,waiting=0,slots=2" });
    await renderMany(RENDERS, a);
    expect(a.requests).toHaveLength(1);
  });
});

describe("a render that is tried again", () => {
  it("arrives byte for byte, also when it is large", async () => {
    const { a, b, render } = takePair();
    a.behaviour = (response) => response.socket?.resetAndDestroy();
    const piece = "ä".repeat(400_000);
    const body = JSON.stringify({ source: "x", data: Array.from({ length: 20 }, () => piece) });
    // Until chance has sent one to `a`, which fails.
    while (a.requests.length === 0) expect((await render(body)).status).toBe(200);
    const sent = Buffer.from(body);
    for (const { body: received } of [...a.requests, ...b.requests]) expect(received.equals(sent)).toBe(true);
  });

  it("keeps its request id, and tells each origin how long the edge still waits", async () => {
    const { a, b, render } = takePair(LONG_PATIENCE);
    // The time that passes here is what the second backend must not be promised.
    a.behaviour = (response) => void setTimeout(problemAnswer("service_unavailable"), 300, response);
    const ids: (string | null)[] = [];
    while (a.requests.length === 0) ids.push((await render()).headers.get("X-Request-Id"));
    const idOf = ({ headers }: { headers: object }) => new Headers({ ...headers }).get("X-Request-Id");
    const timeBudgetOf = ({ headers }: { headers: object }) =>
      Number(new Headers({ ...headers }).get("X-Service-Patience-Milliseconds"));
    expect(b.requests.map(idOf)).toEqual(ids);
    const [first] = a.requests;
    const second = b.requests.at(-1);
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
    const client = await RawConnection.open(url);
    onTestFinished(() => client.reset());
    await client.write(`${renderHead({ "Content-Length": "14" })}{"source":"x"}`);
    await once(client.socket.resume(), "data");
    breakOff();
    expect(await client.closed()).toBe(true);
    expect(origins.flatMap(({ requests }) => requests)).toHaveLength(1);
  });

  it("is not tried again when its client has left", async () => {
    const { origins, url } = takeStage(3);
    for (const origin of origins) origin.behaviour = () => {};
    const requests = () => origins.flatMap((origin) => origin.requests);
    const client = await RawConnection.open(url);
    await client.write(`${renderHead({ "Content-Length": "14" })}{"source":"x"}`);
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
    expect(origins.flatMap(({ requests }) => requests)).toHaveLength(2);
  });
});

describe("one of three origins answers /health, and its renders never end", () => {
  it("costs the renders that it has some seconds, and later ones nothing", async () => {
    const { origins, render } = takeStage(3);
    const [grey] = origins;
    if (grey === undefined) throw new Error("there are three origins");
    grey.behaviour = () => {};
    const timed = async () => {
      const began = performance.now();
      const answer = await render();
      return { status: answer.status, seconds: (performance.now() - began) / 1000 };
    };
    const first: Awaited<ReturnType<typeof timed>>[] = [];
    while (grey.requests.length === 0) first.push(...(await Promise.all([timed(), timed(), timed()])));
    expect(first.map(({ status }) => status)).toEqual(first.map(() => 200));
    // 3 s of silence, 5 s for the probe, and a look each second.
    expect(Math.max(...first.map(({ seconds }) => seconds))).toBeLessThan(20);
    const asked = grey.requests.length;
    for (let count = 0; count < 2 * RENDERS; count++) expect((await timed()).status).toBe(200);
    expect(grey.requests).toHaveLength(asked);
    grey.behaviour = (response) => grey.answer(response);
    // A probe brings it back.
    await expect.poll(async () => (await (await render()).text()) === "%PDF by a", SELDOM).toBe(true);
  });
});

describe("an answer that blames the request", () => {
  /** What makes each backend answer so. */
  const POISON = '{"source":"poison"}';
  const rawAnswer: Behaviour = (response) =>
    response.socket?.end("HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
  const codes = ["invalid_request", "invalid_file_data", "request_too_large", "string_too_large"] as const;

  const refusals: readonly (readonly [string, Behaviour])[] = [
    ...codes.map((code): readonly [string, Behaviour] => [`with ${code}`, problemAnswer(code)]),
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
      for (const origin of origins) expect(origin.requests.length).toBeGreaterThan(0);
      for (const origin of origins) origin.requests.length = 0;
      const texts = await renderMany(60);
      expect(new Set(texts)).toEqual(new Set(["%PDF by a", "%PDF by b", "%PDF by c"]));
      const [poisoned] = origins;
      if (poisoned !== undefined) poisoned.behaviour = refuse;
      expect(new Set(await renderMany(RENDERS, poisoned))).not.toContain("%PDF by a");
    },
  );

  it("of a backend whose link is stalled: another one renders", async () => {
    const { a, renderMany } = takePair();
    a.behaviour = problemAnswer("invalid_request");
    expect(new Set(await renderMany(RENDERS, a))).toEqual(new Set([BY_B]));
  });
});

it("an origin is not avoided because documents end in 500", async () => {
  const { a, b, render, renderMany } = takePair();
  for (const origin of [a, b]) {
    origin.behaviour = (response, request) => {
      if (request.body.includes("poison")) problemAnswer("render_failed")(response, request);
      else origin.answer(response);
    };
  }
  for (let count = 0; count < 8; count++) expect((await render('{"source":"poison"}')).status).toBe(500);
  expect(new Set(await renderMany(40))).toEqual(new Set(["%PDF by a", BY_B]));
  expect(a.probes + b.probes).toBe(0);
});

it("an origin is not avoided because clients reset their renders, nor does that end the probes of one that failed", async () => {
  const { a, b, url, renderMany } = takePair();
  b.behaviour = (response, request) => {
    if (request.body.includes("endless")) return;
    b.answer(response);
  };
  a.behaviour = (response) => response.socket?.resetAndDestroy();
  await renderMany(1, a);
  a.behaviour = (response) => a.answer(response);
  // The client that a probe was begun for is gone before its result.
  const probes: (() => void)[] = [];
  a.probeBehaviour = (response) => void probes.push(() => a.answer(response));
  const endless = '{"source":"endless"}';
  const begun = () => [...a.requests, ...b.requests].filter(({ body }) => body.includes("endless")).length;
  let isOver = false;
  const leaving = (async () => {
    while (!isOver) {
      const client = await RawConnection.open(url);
      const [before, gone] = [begun(), b.abandoned];
      await client.write(`${renderHead({ "Content-Length": String(endless.length) })}${endless}`);
      await expect.poll(begun).toBeGreaterThan(before);
      client.reset();
      await expect.poll(() => b.abandoned > gone || isOver).toBe(true);
      for (const answer of probes.splice(0)) answer();
    }
  })();
  await expect.poll(async () => (await renderMany(1)).includes("%PDF by a"), SELDOM).toBe(true);
  isOver = true;
  await leaving;
  expect(b.requests.length).toBeGreaterThan(0);
});

it("no redirect is followed: neither a render nor the edge's token goes to its target", async () => {
  const target = await new ScriptedBackend("target").start();
  onTestFinished(() => target.stop());
  const targetUrl = target.entry.slice("target=".length);
  let redirected = 0;
  const server = createServer((request, response) => {
    redirected++;
    request.resume();
    // The only one that workerd would follow after a body that it cannot send again: as a GET, with the same header
    // fields.
    response.writeHead(303, { Location: `${targetUrl}${request.url}` }).end();
  });
  const redirecting = await listenOnLoopback(server);
  onTestFinished(() => closeServer(server));
  let reached = 0;
  target.elsewhere = () => reached++;
  const [stage] = await startStages([{ count: 1, otherEntries: [redirecting.origin] }]);
  if (stage === undefined) throw new Error("no edge has been started");
  const { origins, renderMany, url } = stage;
  while (redirected < 4) await renderMany(1);
  const renders = redirected;
  await fetch(new URL("/metrics", url));
  await fetch(new URL("/capabilities.json", url));
  expect(redirected).toBeGreaterThan(renders);
  expect([origins[0]?.requests.length, target.requests.length, target.probes, reached]).toEqual([
    expect.any(Number),
    0,
    0,
    0,
  ]);
});

describe("Cloudflare Access", () => {
  it("gets its service token with each request to a URL", async () => {
    const { origins, render } = takeStage(1, ACCESS);
    expect((await render()).status).toBe(200);
    expect(origins[0]?.requests[0]?.headers).toMatchObject({
      "cf-access-client-id": "id.access",
      "cf-access-client-secret": "secret",
    });
  });
});

it("what a caller adds to the header fields of a render at its origin is bounded", async () => {
  const { origins, url } = takeStage(1);
  const [origin] = origins;
  const body = '{"source":"x"}';
  const host = `${"a".repeat(63)}.${"b".repeat(63)}.${"c".repeat(63)}.${"d".repeat(61)}:65535`;
  const tracestate = Array.from({ length: 32 }, (_, index) => `k${index}=${"v".repeat(200)}`).join(",");
  const client = await RawConnection.open(url);
  onTestFinished(() => client.reset());
  const fields = {
    Host: host,
    traceparent: `00-${"a".repeat(32)}-${"b".repeat(16)}-01`,
    tracestate,
    Cookie: "c".repeat(3000),
  };
  await client.write(renderHead({ "Content-Length": String(body.length), ...fields }) + body);
  expect((await client.answer())?.status).toBe(200);
  const headers = origin?.requests[0]?.headers ?? {};
  expect(headers["x-forwarded-host"]).toBe(host);
  expect(JSON.stringify(headers).length).toBeLessThan(2500);
});

describe("a request without a usable URL", () => {
  let stage: Stage;

  beforeAll(() => {
    stage = takeStage(1, CORS);
  });

  it.each([
    ["a host with a space", { Host: "a b" }],
    ["a host with an invalid port", { Host: "edge.example:port" }],
    ["a host with a path, which would hide the path that is asked for", { Host: "edge.example/v1/render?" }],
    ["a host with a query", { Host: "edge.example?" }],
    ["a host with a user name", { Host: "user@edge.example" }],
    ["a host that is longer than any name", { Host: `${"a".repeat(254)}:65535` }],
    ["a host of 7 KB", { Host: "a".repeat(7000) }],
  ])("is refused, and no origin is blamed for it: %s", async (_what, fields) => {
    const { origins, url } = stage;
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
    const { a, b, render } = takePair();
    a.behaviour = problemAnswer("render_queue_full", { "Retry-After": "7" });
    b.behaviour = problemAnswer("render_queue_full", { "Retry-After": "3" });
    const answer = await render();
    expect(answer.headers.get("Retry-After")).toBe("3");
    expect((await expectProblem(answer, "render_queue_full")).context).toEqual({ retry_after: 3 });
    expect(a.requests.length + b.requests.length).toBe(2);
  });

  it("that it has failed, when the only origin does not answer in time", async () => {
    const { a, b, render } = takePair(SHORT_PATIENCE);
    a.behaviour = () => {};
    b.behaviour = () => {};
    await expectProblem(await render(), "service_unavailable");
    expect(a.requests.length + b.requests.length).toBe(1);
  });

  it("nothing about the addresses of origins", async () => {
    const { origins, render, url } = takeStage(1);
    await origins[0]?.stop();
    const metrics = await (await fetch(new URL("/metrics", url))).text();
    expect(metrics).toContain('service_origin_absent{origin="a"} 1');
    expect(metrics + (await (await render()).text())).not.toContain(origins[0]?.entry.split("://")[1]);
  });
});

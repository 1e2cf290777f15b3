/** The edge's server in Node: what a client may hold, in which order it is answered, and how the server stops. */
import { once } from "node:events";
import type { ServerResponse } from "node:http";
import { afterEach, beforeAll, beforeEach, describe, expect, it, onTestFinished } from "vitest";
import type { Capacity } from "../../../../edge/platform/node/open-files.ts";
import { expectProblem } from "../../../support/problems.ts";
import { startNodeEdge } from "../../../support/service/node-edge.ts";
import {
  CHUNKED,
  chunk,
  declared,
  type RawAnswer,
  RawConnection,
  renderHead,
  renderRequest,
} from "../../../support/service/raw-connection.ts";
import { ScriptedBackend } from "../../../support/service/scripted-backend.ts";
import { API_TOKEN, BACKEND_TOKEN } from "../../../support/tokens.ts";

const CAPACITY: Capacity = {
  connections: 8,
  requests: { render: 3, file: 1, health: 1, document: 1 },
  waitingRenders: 3,
  idleToBackends: 2,
  toBackends: 8,
};
const HEALTH = "GET /health HTTP/1.1\r\nHost: edge.example\r\n\r\n";
const FILE = "GET /playground/typst-compiler.bin HTTP/1.1\r\nHost: edge.example\r\n\r\n";
const BODY = '{"source":"x"}';

let backend: ScriptedBackend;
/** The answers that no test has given yet. */
let held: ServerResponse[];
const holding = (response: ServerResponse) => void held.push(response);

beforeAll(async () => {
  backend = await new ScriptedBackend().start();
  return () => backend.stop();
});
beforeEach(() => {
  held = [];
  backend.behaviour = (response) => backend.answer(response);
});
afterEach(() => {
  for (const response of held) response.destroy();
});

async function startEdge(settings: Readonly<Record<string, string>> = {}, capacity = CAPACITY) {
  const lines: Record<string, unknown>[] = [];
  // One caller alone gets half of the renders.
  const own = { SERVICE_API_TOKENS: API_TOKEN, SERVICE_BACKEND_TOKEN: BACKEND_TOKEN, SERVICE_LOG_REQUESTS: "json" };
  const environment = { ...own, SERVICE_BACKEND_URLS: backend.url.origin, ...settings };
  const edge = await startNodeEdge(environment, { capacity, log: (line) => lines.push(JSON.parse(line)) });
  onTestFinished(edge.stop);
  const open = (...writes: readonly (Uint8Array | string)[]) => RawConnection.open(edge.url, ...writes);
  return { ...edge, open, lines, health: async () => (await (await open(HEALTH)).answer())?.status };
}

function problemOf(answer: RawAnswer | null, code: Parameters<typeof expectProblem>[1]) {
  const { status, headers, body } = answer ?? expect.unreachable("it is answered");
  return expectProblem(new Response(body, { status, headers }), code);
}

describe("connections", () => {
  it("that have been idle for longest are closed when there are too many, and the newest is answered", async () => {
    const { server, open, health } = await startEdge();
    const idle = [];
    for (let n = 0; n < CAPACITY.connections; n++) idle.push(await open());
    await expect.poll(() => server.openConnections).toBe(CAPACITY.connections);
    const first = once(idle[0]?.socket.resume() ?? expect.unreachable(), "close");
    expect(server.takeCounts()).toBeNull();
    expect(await health()).toBe(200);
    await first;
    expect(idle.slice(1).every(({ socket }) => socket.readyState === "open")).toBe(true);
    expect(server.takeCounts()).toEqual({ idleConnectionsClosed: 1, connectionsRefused: 0, requestsRefused: 0 });
  });

  it("are kept for as long as the setting says, which the answer tells", async () => {
    const { open } = await startEdge({ SERVICE_IDLE_CONNECTION_SECONDS: "650" });
    expect((await (await open(HEALTH)).answer())?.headers.get("Keep-Alive")).toBe("timeout=650");
    const { open: openDefault } = await startEdge();
    expect((await (await openDefault(HEALTH)).answer())?.headers.get("Keep-Alive")).toBe("timeout=75");
  });

  it("with more than 64 requests that wait are closed", async () => {
    backend.behaviour = holding;
    const { open } = await startEdge();
    const kept = await open(renderRequest(BODY) + HEALTH.repeat(63));
    await (await open(renderRequest(BODY) + HEALTH.repeat(64))).expectClosed();
    expect(kept.socket.readyState).toBe("open");
  });
});

describe("places", () => {
  it("of renders do not take those of health checks, and a refusal is logged", async () => {
    backend.behaviour = holding;
    // A place for each, and half of them to one caller.
    const { open, lines, health } = await startEdge({ SERVICE_API_TOKENS: `${API_TOKEN}, b:b, c:c` });
    for (const token of [API_TOKEN, "b"]) await open(renderRequest(BODY, { "X-Service-Api-Token": token }));
    await open(renderHead({ ...CHUNKED, "X-Service-Api-Token": "c" }));
    await expect.poll(() => held.length).toBeGreaterThan(0);
    const refused = await (await open(renderRequest(BODY, { "X-Forwarded-Proto": "https" }))).answer();
    const problem = await problemOf(refused, "render_queue_full");
    expect(problem.instance).toMatch(/^https:\/\/edge\.example\/v1\/render#[0-9a-f-]{36}$/);
    expect(lines).toContainEqual(expect.objectContaining({ status: 429, capacityCause: "open_requests" }));
    expect(await health()).toBe(200);
  });

  it("of slow readers of static files are only those of static files", async () => {
    const { open, health } = await startEdge();
    const slow = await open(FILE);
    await expect.poll(async () => (await (await open(FILE)).answer())?.status).toBe(429);
    expect(await health()).toBe(200);
    expect((await (await open(renderRequest(BODY))).answer())?.status).toBe(200);
    slow.reset();
    await expect
      .poll(async () => {
        const again = await open("GET /error-codes.json HTTP/1.1\r\nHost: edge.example\r\n\r\n");
        return (await again.answer())?.status;
      })
      .toBe(200);
  });
});

describe("requests that are sent ahead on one connection", () => {
  it("are answered one after another, in their order", async () => {
    backend.behaviour = holding;
    const { open } = await startEdge();
    const client = await open(renderRequest(BODY) + renderRequest(BODY) + HEALTH);
    for (const name of ["a", "b"]) {
      await expect.poll(() => held.length).toBe(1);
      held.shift()?.writeHead(200, { "Content-Type": "application/pdf", "Content-Length": 1 }).end(name);
      expect((await client.nextAnswer())?.body).toBe(name);
    }
    expect((await client.nextAnswer())?.body).toBe('{"status":"ok"}');
  });

  it("are answered before something that cannot be read, and then the connection is closed", async () => {
    backend.behaviour = holding;
    const { open } = await startEdge();
    const client = await open(`${renderRequest(BODY)}\x00\x01`);
    await expect.poll(() => held.length).toBe(1);
    backend.answer(held[0] ?? expect.unreachable());
    const text = String(await client.readToEnd());
    expect(text).toMatch(/^HTTP\/1\.1 200 [\s\S]*Connection: close[\s\S]*%PDF/);
    expect(text.match(/HTTP\/1\.1 /g)).toHaveLength(1);
  });
});

const HOST = "Host: edge.example\r\n";
const UNREADABLE: Readonly<Record<string, string>> = {
  "no HTTP at all": "\x16\x03\x01\x02\x00\r\n\r\n",
  "an unknown method": `BREW /health HTTP/1.1\r\n${HOST}\r\n`,
  CONNECT: `CONNECT edge.example:80 HTTP/1.1\r\n${HOST}\r\n`,
  "no version": "GET /health\r\n\r\n",
  "a folded header field": `GET /health HTTP/1.1\r\n${HOST}X: a\r\n b\r\n\r\n`,
  "a space before the colon": `GET /health HTTP/1.1\r\n${HOST}X : a\r\n\r\n`,
  "two hosts": `GET /health HTTP/1.1\r\n${HOST}${HOST}\r\n`,
  "two lengths": `${renderHead({ ...declared(2), "content-length": "3" })}{} `,
  "a length and chunks": renderHead({ ...declared(2), ...CHUNKED }) + chunk("{}"),
  "another coding than chunks": renderHead({ "Transfer-Encoding": "xchunked" }) + chunk("{}"),
  "chunks in HTTP/1.0": renderHead(CHUNKED).replace("HTTP/1.1", "HTTP/1.0") + chunk("{}"),
  "a head of a mebibyte": renderHead({ "X-Long": "x".repeat(1024 * 1024) }),
  "the start of a head, then nothing": "GET /hea",
};

it.each(Object.entries(UNREADABLE))("answers with a problem, and does nothing: %s", async (_name, text) => {
  const { open } = await startEdge();
  const sent = backend.renders.length;
  const client = await open();
  client.socket.allowHalfOpen = true;
  client.socket.end(text, "latin1");
  const answer = (await client.answer()) ?? expect.unreachable("it is answered");
  expect(JSON.parse(answer.body)).toMatchObject({
    code: "invalid_request",
    status: 400,
    instance: expect.stringContaining(`#${answer.headers.get("X-Request-Id")}`),
  });
  for (const [name, value] of [
    ["Content-Type", "application/problem+json"],
    ["Cache-Control", "no-store"],
    ["X-Content-Type-Options", "nosniff"],
    ["Connection", "close"],
  ] as const)
    expect(answer.headers.get(name)).toBe(value);
  await client.expectClosed();
  expect(backend.renders.length).toBe(sent);
});

it("answers 400 to a body whose chunks cannot be read", async () => {
  const { open } = await startEdge();
  const client = await open(renderHead(CHUNKED), chunk("{"));
  await client.write("zz\r\n");
  const problem = await problemOf(await client.answer(), "invalid_request");
  expect(problem.detail).toBe("The body did not arrive completely.");
});

it("asks for a body only when it reads it, and an HTTP/1.0 client not at all", async () => {
  const { open } = await startEdge();
  const expecting = { ...declared(BODY.length), Expect: "100-continue" };
  const refused = await open(renderHead({ ...expecting, "X-Service-Api-Token": "wrong" }));
  expect((await refused.answer())?.status).toBe(403);
  const client = await open(renderHead(expecting));
  const [interim] = await once(client.socket.resume(), "data");
  expect(String(interim)).toContain("100 Continue");
  client.socket.pause();
  await client.write(BODY);
  expect((await client.answer())?.status).toBe(200);
  const old = await open(renderHead(expecting).replace("HTTP/1.1", "HTTP/1.0") + BODY);
  expect(String(await old.readToEnd())).toMatch(/^HTTP\/1\.1 200 /);
});

it("answers a client that has only closed its half of the connection", async () => {
  backend.behaviour = holding;
  const { open } = await startEdge();
  const client = await open(renderRequest(BODY));
  client.socket.allowHalfOpen = true;
  client.socket.end();
  await expect.poll(() => held.length).toBe(1);
  backend.answer(held[0] ?? expect.unreachable());
  // What shows whether it still reads.
  expect(String(await client.readToEnd())).toMatch(/^HTTP\/1\.1 100 Continue\r\n\r\nHTTP\/1\.1 200 OK\r\n[\s\S]*%PDF/);
});

it("says nothing of a backend whose client has left, and tries no other", async () => {
  backend.behaviour = holding;
  const { open, lines } = await startEdge();
  const sent = backend.renders.length;
  const client = await open(renderRequest(BODY));
  await expect.poll(() => held.length).toBe(1);
  client.reset();
  await expect.poll(() => lines.length).toBeGreaterThan(0);
  await expect.poll(backend.countOpen).toBe(0);
  expect(lines).toMatchObject([{ message: "request", code: "client_gone" }]);
  expect(backend.renders.length).toBe(sent + 1);
});

describe("a stop", () => {
  it("waits for what is in flight, whose answer says that the connection ends, and not for half a head", async () => {
    backend.behaviour = holding;
    const edge = await startEdge();
    const [client, half] = [await edge.open(renderRequest(BODY)), await edge.open("GET /hea")];
    await expect.poll(() => held.length).toBe(1);
    const stopped = edge.stop();
    await half.expectClosed();
    backend.answer(held[0] ?? expect.unreachable());
    const answer = await client.answer();
    expect([answer?.status, answer?.headers.get("Connection")]).toEqual([200, "close"]);
    await stopped;
  });

  it("answers a request that was on its way on an idle connection", async () => {
    const edge = await startEdge();
    const client = await edge.open(HEALTH);
    expect((await client.nextAnswer())?.status).toBe(200);
    const stopped = edge.stop();
    await client.write(HEALTH);
    const answer = await client.answer();
    expect([answer?.status, answer?.headers.get("Connection")]).toEqual([200, "close"]);
    await stopped;
  });

  it("ends at its deadline, whatever a client does", async () => {
    backend.behaviour = holding;
    const edge = await startEdge();
    const client = await edge.open(renderRequest(BODY));
    await expect.poll(() => held.length).toBe(1);
    expect(await edge.server.stop(600)).toBe(false);
    await client.expectClosed();
  });
});

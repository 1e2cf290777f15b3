/** The edge's server in Node: what a client may hold, in which order it is answered, and how the server stops. */
import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import type { ServerResponse } from "node:http";
import { join } from "node:path";
import { afterEach, beforeAll, beforeEach, describe, expect, it, onTestFinished, vi } from "vitest";
import type { Capacity } from "../../../../edge/platform/node/open-files.ts";
import { EdgeServer } from "../../../../edge/platform/node/server.ts";
import { StaticFiles } from "../../../../edge/platform/node/static-files.ts";
import type { Answer } from "../../../../edge/platform/platform.ts";
import { LOOPBACK, takeFreePort } from "../../../../scripts/start/local-service.ts";
import { expectProblem } from "../../../support/problems.ts";
import { startNodeEdge } from "../../../support/service/node-edge.ts";
import {
  CHUNKED,
  type RawAnswer,
  RawConnection,
  renderHead,
  renderRequest,
} from "../../../support/service/raw-connection.ts";
import { ScriptedBackend } from "../../../support/service/scripted-backend.ts";
import { makeTemporaryFolder } from "../../../support/temporary-folder.ts";
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
const MORE_THAN_BUFFERS_HOLD = 32 * 1024 * 1024;

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

async function startEdge(settings: Readonly<Record<string, string>> = {}, capacity = CAPACITY, files?: StaticFiles) {
  const lines: Record<string, unknown>[] = [];
  // One caller alone gets half of the renders.
  const own = { SERVICE_API_TOKENS: API_TOKEN, SERVICE_BACKEND_TOKEN: BACKEND_TOKEN, SERVICE_LOG_REQUESTS: "json" };
  const environment = { ...own, SERVICE_BACKEND_URLS: backend.url.origin, ...settings };
  const edge = await startNodeEdge(environment, {
    capacity,
    ...(files !== undefined && { files }),
    log: (line) => lines.push(JSON.parse(line)),
  });
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
    expect((await (await openDefault(HEALTH)).answer())?.headers.get("Keep-Alive")).toBe("timeout=95");
  });

  const longHead = HEALTH.replace("\r\n\r\n", `\r\nX-Long: ${"x".repeat(60_000)}\r\n\r\n`);
  it.each([
    ["64 requests", HEALTH, 64],
    ["128 KiB of heads", longHead, 3],
  ])("on which more than %s wait are closed", async (_what, head, count) => {
    backend.behaviour = holding;
    // No connection is closed because it is idle.
    const { open } = await startEdge({ SERVICE_IDLE_CONNECTION_SECONDS: "650" });
    const kept = await open(renderRequest(BODY) + head.repeat(count - 1));
    await (await open(renderRequest(BODY) + head.repeat(count))).expectClosed();
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

  it("of renders are for requests with a token: others take none, however long they send", async () => {
    const { open } = await startEdge();
    const others = Array.from({ length: CAPACITY.requests.render }, () =>
      open(renderHead({ ...CHUNKED, "X-Service-Api-Token": "x" })),
    );
    await Promise.all(others);
    expect((await (await open(renderRequest(BODY))).answer())?.status).toBe(200);
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

it.each([
  ["longer", 40_000],
  ["shorter", 10],
])(
  "breaks off a static file that is %s than its index says, whose rest would be taken for the next answer",
  async (_than, bytes) => {
    const folder = await makeTemporaryFolder("edge-files-");
    await writeFile(join(folder, "file"), "x".repeat(bytes));
    const described = { contentType: "application/json", entityTag: "1", bytes: 30_000 };
    const forms = { identity: { file: "file", bytes: 30_000 } };
    const files = new StaticFiles(folder, new Map([["/error-codes.json", { ...described, forms }]]));
    const { open } = await startEdge({}, CAPACITY, files);
    const connection = await open(`GET /error-codes.json HTTP/1.1\r\nHost: edge.example\r\n\r\n${HEALTH}`);
    const answer = await connection.answer();
    await connection.expectClosed();
    expect(answer?.body ?? "").not.toContain("HTTP/1.1");
  },
);

describe("requests that are sent ahead on one connection", () => {
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

it("answers what cannot be read with a problem like any other, and closes the connection", async () => {
  const { open } = await startEdge();
  const client = await open("\x16\x03\x01\x02\x00\r\n\r\n");
  const { headers, body } = (await client.answer()) ?? expect.unreachable("it is answered");
  expect(JSON.parse(body)).toMatchObject({
    code: "invalid_request",
    status: 400,
    instance: expect.stringContaining(`#${headers.get("X-Request-Id")}`),
  });
  for (const [name, value] of [
    ["Content-Type", "application/problem+json"],
    ["Cache-Control", "no-store"],
    ["X-Content-Type-Options", "nosniff"],
    ["Connection", "close"],
  ] as const)
    expect(headers.get(name)).toBe(value);
  await client.expectClosed();
});

it("cuts off an answer that its client does not read, and nothing that waits behind another answer", async () => {
  vi.useFakeTimers({ toFake: ["setInterval", "performance"] });
  onTestFinished(() => void vi.useRealTimers());
  const later: ((answer: Answer) => void)[] = [];
  const server = new EdgeServer({
    capacity: CAPACITY,
    idleConnectionSeconds: 75,
    answer: ({ url }) => {
      if (!url.endsWith("/health"))
        return Promise.resolve({ status: 200, headers: {}, body: Buffer.alloc(MORE_THAN_BUFFERS_HOLD) });
      return new Promise((resolve) => later.push(resolve));
    },
    refuse: () => expect.unreachable("all can be read"),
  });
  onTestFinished(async () => void (await server.stop(0)));
  const url = new URL(`http://${LOOPBACK}:${await takeFreePort()}`);
  await server.listen(Number(url.port), url.hostname);
  const client = await RawConnection.open(url, HEALTH + HEALTH);
  await RawConnection.open(url, FILE);
  const answerNext = async () => {
    await expect.poll(() => later.length).toBe(1);
    later.pop()?.({ status: 200, headers: {}, body: "x" });
    expect((await client.nextAnswer())?.body).toBe("x");
  };
  await answerNext();
  await expect.poll(() => later.length).toBe(1);
  const openAfterMinutes = () => {
    vi.advanceTimersByTime(60_000);
    return server.openConnections;
  };
  await expect.poll(openAfterMinutes).toBe(1);
  await answerNext();
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

  it("answers on connections that Node had not taken yet, or on which the first request was on its way", async () => {
    const edge = await startEdge({}, { ...CAPACITY, connections: 32 });
    const clients = ["", "", HEALTH, HEALTH].map((request) => edge.open(request));
    // They are connected, and no turn of the loop has taken them.
    await new Promise<void>((resolve) => process.nextTick(resolve));
    vi.useFakeTimers({ toFake: ["setTimeout", "performance"] });
    onTestFinished(() => void vi.useRealTimers());
    const stopped = edge.server.stop(10_000);
    const [first, second, ...others] = await Promise.all(clients);
    const statusOf = async (client: RawConnection | undefined) => (await client?.answer())?.status;
    expect(await Promise.all(others.map(statusOf))).toEqual([200, 200]);
    await first?.write(HEALTH);
    expect(await statusOf(first)).toBe(200);
    await vi.advanceTimersByTimeAsync(1_000);
    await second?.expectClosed();
    expect(await stopped).toBe(true);
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

/** The gate in front of a server that stands for workerd. */
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { expect, it, onTestFinished } from "vitest";
import { Gate } from "../../gate/gate.ts";
import { LOOPBACK, takeFreePort } from "../../scripts/start/local-service.ts";
import { closeServer, listenOnLoopback } from "../support/loopback-server.ts";
import { type ContractCode, expectProblem } from "../support/problems.ts";
import {
  CHUNKED,
  chunk,
  declared,
  type RawAnswer,
  RawConnection,
  renderHead,
  renderRequest,
} from "../support/service/raw-connection.ts";

const CAPACITY = { connections: 8, requests: 4, posts: 3, renders: 1 };
const HEALTH = "GET /health HTTP/1.1\r\nHost: edge.example\r\n\r\n";

type Behaviour = (request: IncomingMessage, response: ServerResponse) => void;

/** Every answer of the edge has one. */
const WITH_ID = { "X-Request-Id": "1" };

async function startGate(behaviour: Behaviour, ...options: readonly number[]) {
  const server = createServer(behaviour).on("checkContinue", behaviour);
  const { port } = await listenOnLoopback(server);
  onTestFinished(() => closeServer(server));
  const gate = new Gate(Number(port), CAPACITY, ...options);
  const url = new URL(`http://${LOOPBACK}:${await takeFreePort()}`);
  await gate.listen(Number(url.port), LOOPBACK);
  return { gate, open: (...writes: readonly (Uint8Array | string)[]) => RawConnection.open(url, ...writes) };
}

function problemOf(answer: RawAnswer | null, code: ContractCode) {
  const { status, headers, body } = answer ?? expect.unreachable("it is answered");
  return expectProblem(new Response(body, { status, headers }), code);
}

const ok: Behaviour = (_request, response) => void response.end("ok");

/** Holds the answers of all requests until the test asks for them. */
function holding() {
  const held: ServerResponse[] = [];
  const hold: Behaviour = (request, response) => void request.resume().on("end", () => held.push(response));
  return { held, hold };
}

it("passes method, target, header fields and body on as they are, without those of the connection", async () => {
  const seen: string[] = [];
  const { open } = await startGate((request, response) => {
    seen.push(`${request.method} ${request.url}`, ...request.rawHeaders);
    response.writeHead(
      404,
      "Nothing here",
      ["X-Twice", "a", "X-Twice", "b", "Keep-Alive", "x", "Content-Length", "3"].concat("X-Request-Id", "1"),
    );
    request.pipe(response);
  });
  const fields = {
    Connection: "close, x-service-api-token, content-length",
    "Keep-Alive": "1",
    TE: "trailers",
    "X-Forwarded-Proto": "https",
    ...declared(3),
  };
  const client = await open(
    `${renderHead(fields).replace("/v1/render", "//a%2F?b=[c]").replace("Host", "X-Twice: ä\r\nhOST")}abc`,
  );
  const answer = await client.answer();
  expect(seen.slice(0, 5)).toEqual(["POST //a%2F?b=[c]", "X-Twice", "Ã¤", "hOST", "edge.example"]);
  for (const name of ["TE", "Keep-Alive"]) expect(seen).not.toContain(name);
  expect(seen).toContain("X-Service-Api-Token");
  expect(seen.slice(seen.indexOf("X-Forwarded-Proto"))).toEqual([
    "X-Forwarded-Proto",
    "https",
    "Content-Length",
    "3",
    "Connection",
    "close",
  ]);
  expect([answer?.status, answer?.headers.get("X-Twice"), answer?.body]).toEqual([404, "a, b", "abc"]);
});

it("closes the connection that has been idle for longest when there are too many, and answers the newest", async () => {
  const { gate, open } = await startGate(ok);
  const idle = [];
  for (let n = 0; n < CAPACITY.connections; n++) idle.push(await open());
  const first = once(idle[0]?.socket.resume() ?? expect.unreachable(), "close");
  expect(gate.takeCounts()).toBeNull();
  expect((await (await open(HEALTH)).answer())?.status).toBe(200);
  await first;
  expect(idle.slice(1).every(({ socket }) => socket.readyState === "open")).toBe(true);
  expect(gate.takeCounts()).toEqual({ idleConnectionsClosed: 1, connectionsRefused: 0, requestsRefused: 0 });
});

it("refuses renders beyond their number, still answers a health check, and is free again", async () => {
  const { held, hold } = holding();
  const { gate, open } = await startGate((request, response) =>
    (request.url === "/health" ? ok : hold)(request, response),
  );
  const waiting = [];
  for (let n = 0; n < CAPACITY.posts; n++) waiting.push(await open(renderRequest("{}")));
  await expect.poll(() => held.length).toBe(CAPACITY.posts);
  const refused = await (await open(renderRequest("{}", { "X-Forwarded-Proto": "https" }))).answer();
  const problem = await problemOf(refused, "render_queue_full");
  expect(problem.instance).toMatch(/^https:\/\/edge\.example\/v1\/render#[0-9a-f-]{36}$/);
  expect(refused?.headers.get("Retry-After")).toBe("1");
  expect((await (await open(HEALTH)).answer())?.status).toBe(200);
  expect(gate.takeCounts()).toEqual({ idleConnectionsClosed: 0, connectionsRefused: 0, requestsRefused: 1 });
  for (const response of held) response.end("done");
  for (const client of waiting) expect((await client.answer())?.body).toBe("done");
  expect((await (await open(HEALTH)).answer())?.status).toBe(200);
});

it("resets the connection to workerd when the client leaves", async () => {
  const { held, hold } = holding();
  const { open } = await startGate(hold);
  const client = await open(renderRequest("{}"));
  await expect.poll(() => held.length).toBe(1);
  const { socket } = held[0]?.req ?? expect.unreachable();
  const reset = once(socket, "error");
  client.socket.destroy();
  expect(await reset).toMatchObject([{ code: "ECONNRESET" }]);
});

it("answers a client that has only closed its half of the connection", async () => {
  const { held, hold } = holding();
  const { open } = await startGate(hold);
  const client = await open(renderRequest("{}"));
  client.socket.allowHalfOpen = true;
  client.socket.end();
  await expect.poll(() => held.length).toBe(1);
  held[0]?.end("done");
  const answer = String(await client.readToEnd());
  // What shows whether it still reads.
  expect(answer).toMatch(/^HTTP\/1\.1 100 Continue\r\n\r\nHTTP\/1\.1 200 OK\r\n[\s\S]*done$/);
});

const HOST = "Host: edge.example\r\n";
const UNREADABLE: Readonly<Record<string, string>> = {
  "no HTTP at all": "\x16\x03\x01\x02\x00\r\n\r\n",
  "an unknown method": `BREW /health HTTP/1.1\r\n${HOST}\r\n`,
  CONNECT: `CONNECT edge.example:80 HTTP/1.1\r\n${HOST}\r\n`,
  "no version": "GET /health\r\n\r\n",
  "HTTP/2.0": `GET /health HTTP/2.0\r\n${HOST}\r\n`,
  "a folded header field": `GET /health HTTP/1.1\r\n${HOST}X: a\r\n b\r\n\r\n`,
  "a space before the colon": `GET /health HTTP/1.1\r\n${HOST}X : a\r\n\r\n`,
  "two lengths": `${renderHead({ ...declared(2), "content-length": "3" })}{} `,
  "a length and chunks": renderHead({ ...declared(2), ...CHUNKED }) + chunk("{}"),
  "another coding than chunks": renderHead({ "Transfer-Encoding": "xchunked" }) + chunk("{}"),
  "chunks in HTTP/1.0": renderHead(CHUNKED).replace("HTTP/1.1", "HTTP/1.0") + chunk("{}"),
  "a head of 64 KiB": renderHead({ "X-Long": "x".repeat(64 * 1024) }),
  "a head of a mebibyte": renderHead({ "X-Long": "x".repeat(1024 * 1024) }),
  "the start of a head, then nothing": "GET /hea",
};

it.each(Object.entries(UNREADABLE))("answers with a problem, and passes nothing on: %s", async (_name, text) => {
  let passed = 0;
  const { open } = await startGate((request, response) => {
    passed++;
    ok(request, response);
  });
  const client = await open();
  client.socket.allowHalfOpen = true;
  client.socket.end(text, "latin1");
  const answer = (await client.answer()) ?? expect.unreachable("it is answered");
  expect(answer.status).toBe(400);
  expect(JSON.parse(answer.body)).toMatchObject({
    code: "invalid_request",
    origin: "request",
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
  expect(passed).toBe(0);
});

it("answers what comes before something unreadable, and then closes", async () => {
  const { held, hold } = holding();
  const { open } = await startGate(hold);
  const client = await open(`${renderRequest("{}")}\x00\x01`);
  await expect.poll(() => held.length).toBe(1);
  held[0]?.end("done");
  const text = String(await client.readToEnd());
  expect(text).toMatch(/^HTTP\/1\.1 200 [\s\S]*Connection: close[\s\S]*done/);
  expect(text.match(/HTTP\/1\.1 /g)).toHaveLength(1);
});

it("answers 400 to a body whose chunks cannot be read, and lets go of it", async () => {
  const seen: IncomingMessage[] = [];
  const { open } = await startGate((request) => void seen.push(request.on("error", () => {})));
  const client = await open(renderHead(CHUNKED), chunk("{"));
  await expect.poll(() => seen.length).toBe(1);
  await client.write("zz\r\n");
  const problem = await problemOf(await client.answer(), "invalid_request");
  expect(problem.detail).toBe("The body did not arrive completely.");
  await expect.poll(() => seen[0]?.socket.destroyed).toBe(true);
});

it.each([
  [400, "invalid_request"],
  [501, "invalid_request"],
  [500, "service_unavailable"],
] as const)("makes a problem of an answer that is workerd's own: %d", async (status, code) => {
  const { open } = await startGate((_request, response) => void response.writeHead(status).end("text"));
  await problemOf(await (await open(renderRequest("{}"))).answer(), code);
});

it("passes on one request of a connection at a time, and answers in their order", async () => {
  const { held, hold } = holding();
  const { gate, open } = await startGate(hold);
  const client = await open(renderRequest("{}") + HEALTH + HEALTH);
  for (const name of ["a", "b"]) {
    await expect.poll(() => held.length).toBe(1);
    held
      .shift()
      ?.writeHead(200, { ...WITH_ID, "Content-Length": 1 })
      .end(name);
    expect((await client.nextAnswer())?.body).toBe(name);
  }
  await expect.poll(() => held.length).toBe(1);
  // It is not idle, though two of its requests have been answered.
  for (let n = 0; n < CAPACITY.connections; n++) await open();
  held
    .shift()
    ?.writeHead(200, { ...WITH_ID, "Content-Length": 1 })
    .end("c");
  expect((await client.nextAnswer())?.body).toBe("c");
  expect(gate.takeCounts()).toMatchObject({ connectionsRefused: 0, requestsRefused: 0 });
});

it("keeps nothing of a client that has sent many requests and left", async () => {
  const { held, hold } = holding();
  const { open } = await startGate(hold);
  for (let n = 0; n < 2 * CAPACITY.requests; n++) {
    const client = await open(HEALTH.repeat(32));
    await expect.poll(() => held.length).toBe(1);
    const { socket } = held.shift()?.req ?? expect.unreachable();
    client.reset();
    await expect.poll(() => socket.destroyed).toBe(true);
  }
  const last = await open(HEALTH);
  await expect.poll(() => held.length).toBe(1);
  held[0]?.end("ok");
  expect((await last.answer())?.status).toBe(200);
});

it("closes a connection with more than 64 requests that wait", async () => {
  const { hold } = holding();
  const { open } = await startGate(hold);
  const kept = await open(HEALTH.repeat(64));
  await (await open(HEALTH.repeat(65))).expectClosed();
  expect(kept.socket.readyState).toBe("open");
});

it("closes the connection of a client that does not read its answer", async () => {
  const { gate, open } = await startGate((_request, response) => void response.end(Buffer.alloc(32 * 1024 * 1024)), 50);
  const client = await open(HEALTH);
  const closed = once(client.socket, "close");
  // It notices only when it reads.
  await expect.poll(() => gate.countOpen()).toBe(0);
  client.socket.resume();
  await closed;
});

it("lets a client send its body to the end before it closes the connection of one that it refuses", async () => {
  const { held, hold } = holding();
  const { open } = await startGate(hold);
  for (let n = 0; n < CAPACITY.posts; n++) await open(renderRequest("{}"));
  await expect.poll(() => held.length).toBe(CAPACITY.posts);
  const client = await open(renderHead(declared(8 * 1024 * 1024)), " ".repeat(1024));
  expect(await client.write(" ".repeat(8 * 1024 * 1024 - 1024))).toBe(true);
  await problemOf(await client.answer(), "render_queue_full");
});

it("passes a head on whose body has not begun", async () => {
  const { open } = await startGate(
    (_request, response) => void response.writeHead(403, { ...WITH_ID, "Content-Length": 0 }).end(),
  );
  expect((await (await open(renderHead(declared(2)))).answer())?.status).toBe(403);
});

it("asks an HTTP/1.0 client for no body, and answers it", async () => {
  const { open } = await startGate((request, response) => {
    response.writeContinue();
    request.pipe(response);
  });
  const head = renderHead({ ...declared(2), Expect: "100-continue" }).replace("HTTP/1.1", "HTTP/1.0");
  const text = String(await (await open(`${head}{}`)).readToEnd());
  expect(text).toMatch(/^HTTP\/1\.1 200 [\s\S]*\{\}$/);
});

it("asks for a body only when workerd does", async () => {
  const { open } = await startGate((request, response) => {
    if (request.headers["x-body"] === "no")
      return void response.writeHead(413, { ...WITH_ID, "Content-Length": 0 }).end();
    response.writeContinue();
    response.setHeader("Content-Length", 2);
    request.pipe(response);
  });
  const expecting = (body: string) => renderHead({ ...declared(2), Expect: "100-continue", "X-Body": body });
  expect((await (await open(expecting("no"))).answer())?.status).toBe(413);
  const client = await open(expecting("yes"));
  const [interim] = await once(client.socket.resume(), "data");
  expect(String(interim)).toContain("100 Continue");
  client.socket.pause();
  await client.write("{}");
  expect((await client.answer())?.body).toBe("{}");
});

it("answers before the body is complete, and ends the connection", async () => {
  const { open } = await startGate((_request, response) => void response.writeHead(413, WITH_ID).end("too large"));
  const client = await open(renderHead(CHUNKED), chunk("{"));
  const answer = await client.answer();
  expect([answer?.status, answer?.headers.get("Connection"), answer?.body]).toEqual([
    413,
    "close",
    expect.stringContaining("too large"),
  ]);
});

it("breaks an answer off that breaks off", async () => {
  const { open } = await startGate((_request, response) => {
    response.writeHead(200, { "Content-Length": "9" }).write("abc", () => response.destroy());
  });
  const client = await open(renderRequest("{}"));
  await once(client.socket.resume(), "close");
});

it("answers 503 when workerd has gone", async () => {
  const gate = new Gate(await takeFreePort(), CAPACITY);
  const url = new URL(`http://${LOOPBACK}:${await takeFreePort()}`);
  await gate.listen(Number(url.port), LOOPBACK);
  const answer = await (await RawConnection.open(url, renderRequest("{}"))).answer();
  await problemOf(answer, "service_unavailable");
});

it("ends once everything in flight is answered", async () => {
  const { held, hold } = holding();
  const { gate, open } = await startGate(hold);
  const client = await open(renderRequest("{}"));
  await expect.poll(() => held.length).toBe(1);
  const closed = gate.close();
  held[0]?.end("done");
  expect((await client.answer())?.body).toBe("done");
  await closed;
});

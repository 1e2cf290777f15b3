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

async function startGate(behaviour: Behaviour, capacity = CAPACITY) {
  const server = createServer(behaviour).on("checkContinue", behaviour);
  const { port } = await listenOnLoopback(server);
  onTestFinished(() => closeServer(server));
  const gate = new Gate(Number(port), capacity);
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
    response.writeHead(404, "Nothing here", ["X-Twice", "a", "X-Twice", "b", "Keep-Alive", "x", "Content-Length", "3"]);
    request.pipe(response);
  });
  const fields = {
    Connection: "close, x-hop",
    "X-Hop": "1",
    TE: "trailers",
    "X-Forwarded-Proto": "https",
    ...declared(3),
  };
  const client = await open(
    `${renderHead(fields).replace("/v1/render", "//a%2F?b=[c]").replace("Host", "X-Twice: ä\r\nhOST")}abc`,
  );
  const answer = await client.answer();
  expect(seen.slice(0, 5)).toEqual(["POST //a%2F?b=[c]", "X-Twice", "Ã¤", "hOST", "edge.example"]);
  for (const name of ["TE", "X-Hop", "x-hop"]) expect(seen).not.toContain(name);
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
  client.socket.end();
  expect(await reset).toMatchObject([{ code: "ECONNRESET" }]);
});

it("asks for a body only when workerd does", async () => {
  const { open } = await startGate((request, response) => {
    if (request.headers["x-body"] === "no") return void response.writeHead(413).end();
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
  const { open } = await startGate((_request, response) => void response.writeHead(413).end("too large"));
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

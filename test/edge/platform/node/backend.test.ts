/** What the edge in Node reads of a backend's answer as text: within its limit, and until its deadline on the monotonic clock. */
import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import { beforeAll, expect, it } from "vitest";
import { fetchText } from "../../../../edge/backends/backend.ts";
import { BackendConnections } from "../../../../edge/platform/node/backend.ts";
import { closeServer, listenOnLoopback } from "../../../support/loopback-server.ts";

const LONG_MILLISECONDS = 60_000;
const connections = new BackendConnections({ idleToBackends: 1, toBackends: 4 });
let url: URL;
let held: ServerResponse | null = null;

beforeAll(async () => {
  const server = createServer(({ url }, response) => {
    response.writeHead(200, { "Content-Length": url?.slice(1) }).flushHeaders();
    held = response;
  });
  url = await listenOnLoopback(server);
  return async () => {
    connections.close();
    await closeServer(server);
  };
});

/** @param length of the answer, as its head says */
const fetchFrom = (length: number, timeoutMilliseconds = LONG_MILLISECONDS) =>
  fetchText(connections.open({ kind: "url", name: "backend-1", url }, null), `/${length}`, {
    maxBytes: 4,
    timeoutMilliseconds,
  });

/** The answer, once its head has been sent. */
async function answered(): Promise<ServerResponse> {
  await expect.poll(() => held).not.toBeNull();
  const response = held ?? expect.unreachable("the server has been asked");
  held = null;
  return response;
}

it("waits for a text that comes after the head, as long as its deadline is ahead", async () => {
  const text = fetchFrom(4);
  const response = await answered();
  // A later turn of the event loop than any timer that is due already.
  setTimeout(() => response.end("text"), 20);
  expect(await text).toBe("text");
});

it("gives up a text that is one byte too long, or not there by its deadline, and its connection", async () => {
  const long = fetchFrom(5);
  const tooLong = await answered();
  tooLong.write("texts");
  expect(await long).toBeNull();
  await once(tooLong, "close");
  const late = fetchFrom(4, 200);
  const tooLate = await answered();
  expect(await late).toBeNull();
  await once(tooLate, "close");
});

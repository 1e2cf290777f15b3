/** What the edge in Node reads of a backend's answer as text: within its limit, and until its deadline on the monotonic clock. */
import { createServer, type ServerResponse } from "node:http";
import { beforeAll, expect, it } from "vitest";
import { MONOTONIC_CLOCK } from "../../../../edge/clock.ts";
import { BackendConnections } from "../../../../edge/platform/node/backend.ts";
import { closeServer, listenOnLoopback } from "../../../support/loopback-server.ts";

const LONG_MILLISECONDS = 60_000;
const connections = new BackendConnections({ idleToBackends: 1, toBackends: 4 });
let url: URL;
let held: ServerResponse | null = null;

beforeAll(async () => {
  const server = createServer((_request, response) => {
    response.flushHeaders();
    held = response;
  });
  url = await listenOnLoopback(server);
  return async () => {
    connections.close();
    await closeServer(server);
  };
});

/** @returns an answer whose head is here, and whose body has not begun */
async function beginAnswer() {
  const backend = connections.open({ kind: "url", name: "backend-1", url }, null);
  const { signal } = new AbortController();
  const answer = await backend.send({ method: "GET", path: "/metrics", headers: {}, body: null, signal });
  return { answer, response: held ?? expect.unreachable("the server has been asked") };
}

it("waits for a text that comes after the head, as long as its deadline is ahead", async () => {
  const { answer, response } = await beginAnswer();
  const text = answer.readText(4, MONOTONIC_CLOCK.now() + LONG_MILLISECONDS);
  // A later turn of the event loop than any timer that is due already.
  setTimeout(() => response.end("text"), 20);
  expect(await text).toBe("text");
});

it("gives up a text that is one byte too long, or not there by its deadline", async () => {
  const long = await beginAnswer();
  long.response.write("texts");
  expect(await long.answer.readText(4, MONOTONIC_CLOCK.now() + LONG_MILLISECONDS)).toBeNull();
  const late = await beginAnswer();
  expect(await late.answer.readText(4, MONOTONIC_CLOCK.now())).toBeNull();
});

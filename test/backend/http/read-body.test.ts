/** The deadlines for a body that arrives slowly. */
import { once } from "node:events";
import { createServer, type IncomingMessage } from "node:http";
import { connect } from "node:net";
import { describe, expect, it, onTestFinished } from "vitest";
import { ByteBudget } from "../../../backend/admission/byte-budget.ts";
import { type BodyReading, readBody } from "../../../backend/http/read-body.ts";
import { DEFAULT_LIMITS } from "../../../rules/limits.ts";
import { closeServer, listenOnLoopback } from "../../support/loopback-server.ts";

const MEBIBYTE = 1024 ** 2;

/** The result of reading a body that arrives piece by piece. */
async function readSlowly(pieces: AsyncIterable<string>, silenceMilliseconds: number): Promise<BodyReading> {
  const memory = new ByteBudget({ maxBytes: MEBIBYTE, maxBytesPerRequest: MEBIBYTE }).open("slow");
  const server = createServer();
  const { port, hostname } = await listenOnLoopback(server);
  onTestFinished(() => closeServer(server));
  const socket = connect(Number(port), hostname);
  socket.write("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n");
  const [message]: IncomingMessage[] = await once(server, "request");
  if (message === undefined) throw new Error("no request has come");
  const reading = readBody(message, DEFAULT_LIMITS, memory, { totalMilliseconds: 1000, silenceMilliseconds });
  void (async () => {
    for await (const piece of pieces) if (!socket.destroyed) socket.write(piece);
  })();
  return reading.finally(() => socket.destroy());
}

async function* every(milliseconds: number): AsyncGenerator<string> {
  for (let count = 0; count < 50; count++) {
    await new Promise((resolve) => setTimeout(resolve, milliseconds));
    yield "x";
  }
}

describe("the memory of bodies", () => {
  it.each([
    ["silent", 5000, 200],
    ["steady, and takes too long as a whole", 40, 900],
  ])("is released by a body that is %s", async (_what, pauseMilliseconds, silenceMilliseconds) => {
    const reading = await readSlowly(every(pauseMilliseconds), silenceMilliseconds);
    expect(reading).toMatchObject({ kind: "refused", problem: { code: "invalid_request" } });
  });
});

/**
 * What the edge finds out about backends that do not take a render, on real sockets and in bare workerd: nobody there,
 * a connection that breaks on the way, a backend that had the request and said nothing, one behind a slow link, and one
 * that is full.
 */
import { createServer as createHttpServer, type ServerResponse } from "node:http";
import { createServer, type Server, type Socket } from "node:net";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { CAUSES } from "../../../rules/causes.ts";
import { startBackend, startConfiguredWorkers, takeFreePort } from "../../../scripts/start/local-service.ts";
import { ENDLESS, NO_TIME_LIMIT } from "../../support/backend/bombs.ts";
import { closeServer, listenOnLoopback } from "../../support/loopback-server.ts";
import { type MetricSample, parseMetrics, sampleValue } from "../../support/readers/metrics-text.ts";
import { FaultyLink } from "../../support/service/faulty-link.ts";
import { sendWithoutReading } from "../../support/service/raw-connection.ts";
import { answerWithFile, type StandInBackend, startStandInBackend } from "../../support/service/stand-in-backend.ts";
import { backendEnvironment } from "../../support/service/test-service.ts";
import { API_TOKEN, BACKEND_TOKEN, UNREACHABLE_URL } from "../../support/tokens.ts";

const KIBIBYTE = 1024;
const MEBIBYTE = 1024 * KIBIBYTE;
const SIZES = [30, 64 * KIBIBYTE, 100_000, MEBIBYTE, 20 * MEBIBYTE - 1] as const;

/** How many edges of a test are new, so that they know nothing of their backends. */
const FRESH_EDGES = 5;
const BACKEND_COUNTS = [2, 4, 100] as const;

/** A valid request of this many bytes. No string in it is longer than the limit. */
function bodyOf(size: number, source = "x"): string {
  const piece = `"${"x".repeat(500_000)}"`;
  const empty = JSON.stringify({ source, data: [] });
  const pieces = Array.from({ length: Math.floor((size - empty.length) / (piece.length + 1)) }, () => piece);
  const start = `${empty.slice(0, -2)}${pieces.join(",")}]`;
  return `${start}${" ".repeat(size - start.length - 1)}}`;
}

async function render(edge: URL, body: string): Promise<{ status: number; code: string; detail: string }> {
  const headers = { "X-Service-Api-Token": API_TOKEN, "Content-Type": "application/json" };
  const answer = await fetch(new URL("/v1/render", edge), { method: "POST", headers, body });
  const text = await answer.text();
  const { code, detail } = answer.ok ? { code: "", detail: "" } : JSON.parse(text);
  return { status: answer.status, code: String(code), detail: String(detail) };
}

/** Listens, and does this with each connection. */
async function listen(serve: (socket: Socket) => void, options: { pauseOnConnect?: boolean } = {}): Promise<URL> {
  const sockets = new Set<Socket>();
  const server: Server = createServer(options, (socket) => {
    sockets.add(socket.on("error", () => {}).on("close", () => sockets.delete(socket)));
    serve(socket);
  });
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return listenOnLoopback(server);
}

/** New edges in one workerd, each with these backends. */
async function startEdges(
  count: number,
  backends: readonly string[],
  settings: Readonly<Record<string, string>> = {},
): Promise<readonly URL[]> {
  const bindings = {
    SERVICE_API_TOKENS: API_TOKEN,
    SERVICE_BACKEND_TOKEN: BACKEND_TOKEN,
    SERVICE_BACKEND_URLS: backends.join(" "),
    SERVICE_LOG_REQUESTS: "none",
    ...settings,
  };
  const { urls, stop } = await startConfiguredWorkers(
    Array.from({ length: count }, () => bindings),
    0,
  );
  onTestFinished(stop);
  return urls;
}

/** Reads a request to its end, by its length. */
function afterRequest(socket: Socket, act: () => void, enough = Number.POSITIVE_INFINITY): void {
  let text = "";
  let bytes = 0;
  socket.on("data", (piece: Buffer) => {
    bytes += piece.length;
    if (text.length < 4096) text += piece.toString("latin1");
    const head = text.indexOf("\r\n\r\n");
    const length = Number(/content-length: ([0-9]+)/i.exec(text)?.[1] ?? 0);
    if (head >= 0 && bytes >= Math.min(enough, head + 4 + length)) act();
  });
}

describe("an attempt on a backend", () => {
  const NOBODY = "One could not be reached (2 times).";
  const LOST = "One was sent the whole request and did not answer (2 times).";

  /** What a render of each size ends in, each at an edge that knows nothing of the backend. */
  async function expectFailures(backend: string, sizes: readonly number[], detail: string): Promise<void> {
    const edges = await startEdges(sizes.length, [backend]);
    for (const [index, size] of sizes.entries()) {
      const edge = edges[index] ?? expect.unreachable("each size has an edge");
      expect(await render(edge, bodyOf(size)), `${size} bytes`).toMatchObject({
        status: 503,
        detail: expect.stringContaining(detail),
      });
    }
  }

  it("that does not run says so, with a body of any size", () => expectFailures(UNREACHABLE_URL, SIZES, NOBODY));

  it("that reads a body of any size and breaks the connection is lost", async () => {
    const url = await listen((socket) => afterRequest(socket, () => socket.resetAndDestroy()));
    await expectFailures(url.origin, SIZES, LOST);
  });

  it("that breaks the connection in mid-upload is neither", async () => {
    const url = await listen((socket) => afterRequest(socket, () => socket.resetAndDestroy(), MEBIBYTE));
    const interrupted = "One broke off while it was being sent the request (2 times).";
    await expectFailures(url.origin, [20 * MEBIBYTE - 1], interrupted);
  });
});

describe("a backend behind a link that takes longer for a body than the edge waits for an answer", () => {
  const BODY = bodyOf(6 * MEBIBYTE, ENDLESS);
  const UPLOAD_SECONDS = 4;
  const SETTINGS = { SERVICE_QUEUE_DEADLINE_SECONDS: "1", SERVICE_RENDER_TIMEOUT_SECONDS: "1" };

  /**
   * A backend, and a new edge that reaches it by two names: it probes one that it suspects, and could turn to the
   * other.
   */
  async function start(backendSettings: Readonly<Record<string, string>> = {}) {
    const settings = { ...backendEnvironment(), ...SETTINGS, ...backendSettings };
    const backend = await startBackend(settings, await takeFreePort());
    onTestFinished(() => backend.stop());
    const makeLink = () => new FaultyLink(Number(backend.url.port), BODY.length / UPLOAD_SECONDS).start();
    const links = await Promise.all([makeLink(), makeLink()]);
    onTestFinished(() => {
      for (const link of links) link.stop();
    });
    const urls = links.map(({ url }) => url.origin);
    const [edge] = await startEdges(1, urls, { ...SETTINGS, SERVICE_BACKEND_TIMEOUT_SECONDS: "3" });
    if (edge === undefined) throw new Error("no edge");
    return { backend, edge };
  }

  async function metricsOf(url: URL): Promise<MetricSample[]> {
    return parseMetrics(await (await fetch(new URL("/metrics", url))).text());
  }

  const runningAt = async (url: URL) => sampleValue(await metricsOf(url), "service_renders_running", {});

  /** The names of the ways in which attempts of the edge have failed. */
  async function failuresOf(edge: URL): Promise<Set<string | undefined>> {
    const samples = await metricsOf(edge);
    const failures = samples.filter(({ name, value }) => name === "service_edge_attempt_failures_total" && value > 0);
    return new Set(failures.map(({ labels }) => labels.failure));
  }

  /**
   * A busy machine may not render anything within the second that there is for it. That is no failure of an attempt.
   */
  async function expectRender(edge: URL): Promise<void> {
    await expect.poll(async () => (await render(edge, bodyOf(30))).status).toBe(200);
  }

  it("answers 408 itself, and stays in use", async () => {
    const { edge } = await start();
    const { status, code } = await render(edge, BODY);
    expect([status, code]).toEqual([408, "render_timeout"]);
    await expectRender(edge);
    expect(await failuresOf(edge)).toEqual(new Set());
  });

  it("answers 429 itself when it is full, and stays in use", async () => {
    const { backend, edge } = await start({ ...NO_TIME_LIMIT, SERVICE_MAX_CONCURRENT_RENDERS: "1" });
    const holder = sendWithoutReading(backend.url, { source: ENDLESS });
    onTestFinished(() => holder.reset());
    await expect.poll(() => runningAt(backend.url)).toBe(1);
    const { status, code, detail } = await render(edge, BODY);
    expect([status, code]).toEqual([429, "render_queue_full"]);
    expect(detail).toContain(CAUSES.render_queue_full.time_budget);
    holder.reset();
    await expect.poll(() => runningAt(backend.url)).toBe(0);
    await expectRender(edge);
    expect(await failuresOf(edge)).toEqual(new Set(["full"]));
  });
});

describe("one backend that runs, of", () => {
  let running: StandInBackend;
  beforeAll(async () => {
    running = await startStandInBackend();
  });
  afterAll(() => running.stop());

  it.each(BACKEND_COUNTS)("%i renders the first request of every edge, of every size", async (count) => {
    const backends = [...Array(count - 1).fill(UNREACHABLE_URL), running.url.origin];
    const edges = await startEdges(FRESH_EDGES * SIZES.length, backends);
    for (const [index, size] of SIZES.entries()) {
      const body = bodyOf(size);
      for (const edge of edges.slice(index * FRESH_EDGES, (index + 1) * FRESH_EDGES)) {
        expect(await render(edge, body)).toMatchObject({ status: 200, detail: "" });
      }
    }
  });
});

describe("one idle backend, when all others are full,", () => {
  /** A backend that is full or idle, tells its load, and counts the bodies that it was sent. */
  async function startLoadedBackend(isFull: boolean): Promise<{ url: URL; uploads: () => number }> {
    let uploads = 0;
    const load = `running=${isFull ? 2 : 0},waiting=${isFull ? 4 : 0},slots=2`;
    const answer = (response: ServerResponse) => {
      response.setHeader("X-Service-Load", load);
      if (!isFull) return answerWithFile(response);
      const headers = { "Content-Type": "application/problem+json", "X-Service-Problem-Code": "render_queue_full" };
      response.writeHead(429, { ...headers, "Retry-After": "1" }).end("{}");
    };
    const server = createHttpServer((request, response) => {
      if (request.url === "/ready") return void response.writeHead(200, { "X-Service-Load": load }).end();
      uploads++;
      request.resume().once("end", () => answer(response));
    });
    onTestFinished(() => closeServer(server));
    return { url: await listenOnLoopback(server), uploads: () => uploads };
  }

  it.each([
    [2, 30],
    [5, MEBIBYTE],
    [20, 30],
    [100, 30],
    [100, MEBIBYTE],
  ])("renders every request: %i backends, %i bytes", async (count, size) => {
    const full = await Promise.all(Array.from({ length: count - 1 }, () => startLoadedBackend(true)));
    const idle = await startLoadedBackend(false);
    const edges = await startEdges(
      FRESH_EDGES,
      [...full, idle].map(({ url }) => url.origin),
    );
    const body = bodyOf(size);
    const wasted = () => full.reduce((sum, { uploads }) => sum + uploads(), 0);
    for (const edge of edges) {
      const beforeFirst = wasted();
      expect(await render(edge, body)).toMatchObject({ status: 200, detail: "" });
      // A large body travels to one that is full once: then the others are asked first.
      if (size === MEBIBYTE) expect(wasted() - beforeFirst).toBeLessThanOrEqual(1);
      // At once, because what is known of loads is soon out of date: at most one goes to a backend that is full.
      const beforeSecond = wasted();
      expect((await render(edge, body)).status).toBe(200);
      expect(wasted() - beforeSecond).toBeLessThanOrEqual(1);
    }
  });
});

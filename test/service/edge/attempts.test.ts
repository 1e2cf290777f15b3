/**
 * What the edge finds out about backends that do not take a render, on real sockets: nobody there,
 * a connection that breaks on the way, a backend that had the request and said nothing, one behind a slow link, and one
 * that is full.
 */
import { createServer, type Server, type Socket } from "node:net";
import { describe, expect, it, onTestFinished } from "vitest";
import { CAUSES } from "../../../rules/causes.ts";
import { ENDLESS, NO_TIME_LIMIT } from "../../support/backend/bombs.ts";
import { listenOnLoopback } from "../../support/loopback-server.ts";
import { metricsAt, sampleValue } from "../../support/readers/metrics-text.ts";
import { bodyOfSize, startEdges, startOneEdge } from "../../support/service/edge-stage.ts";
import { sendWithoutReading } from "../../support/service/raw-connection.ts";
import { EDGE_PLATFORMS } from "../../support/service/service-parts.ts";
import { startSlowLink } from "../../support/service/slow-link.ts";
import { clientOf, startBackendAlone } from "../../support/service/test-service.ts";
import { UNREACHABLE_URL } from "../../support/tokens.ts";

const KIBIBYTE = 1024;
const MEBIBYTE = 1024 * KIBIBYTE;
const SIZES = [30, 64 * KIBIBYTE, 100_000, MEBIBYTE, 20 * MEBIBYTE - 1] as const;

async function render(edge: URL, body: string): Promise<{ status: number; code: string; detail: string }> {
  const answer = await clientOf(edge).render(body);
  const text = await answer.text();
  const { code, detail } = answer.ok ? { code: "", detail: "" } : JSON.parse(text);
  return { status: answer.status, code: String(code), detail: String(detail) };
}

/** Listens, and does this with each connection. */
async function listen(serve: (socket: Socket) => void): Promise<URL> {
  const sockets = new Set<Socket>();
  const server: Server = createServer((socket) => {
    sockets.add(socket.on("error", () => {}).on("close", () => sockets.delete(socket)));
    serve(socket);
  });
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return listenOnLoopback(server);
}

describe.each(EDGE_PLATFORMS)("the edge on %s", (platform) => {
  /** New edges, each with these backends. */
  async function startEqualEdges(count: number, backends: readonly string[]): Promise<readonly URL[]> {
    const { urls, stop } = await startEdges(Array(count).fill({ SERVICE_BACKEND_URLS: backends.join(" ") }), platform);
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
      const edges = await startEqualEdges(sizes.length, [backend]);
      for (const [index, size] of sizes.entries()) {
        const edge = edges[index] ?? expect.unreachable("each size has an edge");
        expect(await render(edge, bodyOfSize(size)), `${size} bytes`).toMatchObject({
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
    const BODY = bodyOfSize(6 * MEBIBYTE, ENDLESS);
    const UPLOAD_SECONDS = 4;
    const SETTINGS = { SERVICE_QUEUE_DEADLINE_SECONDS: "1", SERVICE_RENDER_TIMEOUT_SECONDS: "1" };

    /**
     * A backend, and a new edge that reaches it by two names: it probes one that it suspects, and could turn to the
     * other.
     */
    async function start(backendSettings: Readonly<Record<string, string>> = {}) {
      const backend = await startBackendAlone({ ...SETTINGS, ...backendSettings });
      const makeLink = () =>
        startSlowLink(Number(backend.url.port), { uploadBytesPerSecond: BODY.length / UPLOAD_SECONDS });
      const links = await Promise.all([makeLink(), makeLink()]);
      onTestFinished(() => {
        for (const link of links) link.stop();
      });
      const urls = links.map(({ url }) => url.origin).join(" ");
      const timeouts = { ...SETTINGS, SERVICE_BACKEND_TIMEOUT_SECONDS: "3" };
      const { url: edge, stop } = await startOneEdge({ SERVICE_BACKEND_URLS: urls, ...timeouts }, platform);
      onTestFinished(stop);
      return { backend, edge };
    }

    const runningAt = async (url: URL) => sampleValue(await metricsAt(url), "service_renders_running");

    /** The names of the ways in which attempts of the edge have failed. */
    async function failuresOf(edge: URL): Promise<Set<string | undefined>> {
      const samples = await metricsAt(edge);
      const failures = samples.filter(({ name, value }) => name === "service_edge_attempt_failures_total" && value > 0);
      return new Set(failures.map(({ labels }) => labels.failure));
    }

    /**
     * A busy machine may not render anything within the second that there is for it. That is no failure of an attempt.
     */
    async function expectRender(edge: URL): Promise<void> {
      await expect.poll(async () => (await render(edge, bodyOfSize(30))).status).toBe(200);
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
});

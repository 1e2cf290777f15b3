/**
 * An edge in front of several real backends that a test disturbs, and clients that keep rendering through it and check
 * each answer.
 */
import { once } from "node:events";
import { mkdtemp, realpath, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { expect } from "vitest";
import { LOOPBACK, type LocalBackend, startBackend, takeFreePort } from "../../../scripts/start/local-service.ts";
import { readSvgSize } from "../readers/svg-reader.ts";
import { API_TOKEN } from "../tokens.ts";
import { type EdgeSettings, startOneEdge } from "./edge-stage.ts";
import type { EdgePlatform } from "./service-parts.ts";
import { clientOf } from "./test-service.ts";

type Environment = Readonly<Record<string, string>>;

/** One place in the fleet: a port and a work directory, which its backends use one after another. */
async function startBerth(ownEnvironment: Environment) {
  const port = await takeFreePort();
  let backend: LocalBackend | null = null;

  async function start(environment: Environment = {}): Promise<void> {
    backend = await startBackend({ ...ownEnvironment, ...environment }, port);
  }

  /** Ends the backend with a signal and waits for its end. Returns its exit code; null if the signal ended it. */
  async function end(signal: "SIGTERM" | "SIGKILL"): Promise<number | null> {
    if (backend === null) throw new Error("no backend runs in this berth");
    const { process } = backend;
    backend = null;
    process.kill(signal);
    await once(process, "exit");
    return process.exitCode;
  }

  await start();
  return {
    url: `http://${LOOPBACK}:${port}`,
    start,
    end,
    stop: async () => {
      if (backend !== null) await end("SIGTERM");
    },
  };
}

/** Starts an edge that knows these URLs of backends. */
export const startFleetEdge = (backends: readonly string[], settings: EdgeSettings = {}, platform?: EdgePlatform) =>
  startOneEdge({ SERVICE_BACKEND_URLS: backends.join(" "), ...settings }, platform);

export type TestFleet = Awaited<ReturnType<typeof startFleet>>;

/** @param backendSettings of every backend that it starts @param platform of the edge */
export async function startFleet(backends: number, backendSettings: Environment, platform?: EdgePlatform) {
  const folder = await realpath(await mkdtemp(join(tmpdir(), "fleet-test-")));
  const berths = await Promise.all(
    Array.from({ length: backends }, (_, index) =>
      startBerth({ ...backendSettings, SERVICE_WORK_DIRECTORY: join(folder, String(index)) }),
    ),
  );
  const urls = berths.map(({ url }) => url);
  const edge = await startFleetEdge(urls, {}, platform);
  return {
    urls,
    edgeUrl: () => edge.url,
    berth: (index: number) => berths[index] ?? expect.unreachable(`the fleet has no berth ${index}`),
    /**
     * Replaces the backends one after another, as a rolling update does: the next one once the last one is ready.
     *
     * @param beforeEach what each of them waits for
     */
    roll: async (environment: Environment, beforeEach: () => Promise<void>) => {
      const exitCodes: (number | null)[] = [];
      for (const berth of berths) {
        await beforeEach();
        exitCodes.push(await berth.end("SIGTERM"));
        await berth.start(environment);
      }
      return exitCodes;
    },
    stop: async () => {
      await edge.stop();
      for (const berth of berths) await berth.stop();
      await rm(folder, { recursive: true });
    },
  };
}

/** A page of a size that no other request has, so that an answer for another request is noticed. */
const SOURCE = "#set page(width: data.width * 1pt, height: data.height * 1pt, margin: 0pt)\n#data.width";

/**
 * After each render, its client pauses for this long, and for longer than the render took: otherwise starting backends
 * would wait for the processor behind renders that show nothing more.
 */
const MIN_PAUSE_MILLISECONDS = 100;

/**
 * Clients that render one document after another until they are told to stop.
 *
 * @param url where to render; asked before each request, as the token is
 */
export function startLoad(clients: number, url: () => URL, token = () => API_TOKEN) {
  /** How long each render took that was good. */
  const milliseconds: number[] = [];
  /** What was answered instead of a file. */
  const lost: string[] = [];
  /** Files of another size. */
  const wrong: string[] = [];
  /** How many renders of each client have ended. */
  const ended = Array.from({ length: clients }, () => 0);
  let whenEnded = Promise.withResolvers<void>();
  let sent = 0;
  let isOver = false;

  async function render(): Promise<void> {
    const number = sent++;
    const size = { width: 10 + (number % 1000), height: 10 + Math.floor(number / 1000) };
    const began = performance.now();
    const request = { source: SOURCE, data: size, output: { format: "svg" } };
    const answer = await clientOf(url()).render(request, { headers: { "X-Service-Api-Token": token() } });
    const bytes = await answer.bytes();
    if (answer.status !== 200) {
      lost.push(`${answer.status} ${Buffer.from(bytes).toString("utf8")}`);
      return;
    }
    const [width, height] = readSvgSize(bytes);
    if (width === size.width && height === size.height) milliseconds.push(performance.now() - began);
    else wrong.push(`${width},${height} instead of ${size.width},${size.height}`);
  }

  async function keepRendering(client: number): Promise<void> {
    while (!isOver) {
      const began = performance.now();
      await render().catch((error: unknown) => lost.push(String(error)));
      ended[client] = (ended[client] ?? 0) + 1;
      whenEnded.resolve();
      whenEnded = Promise.withResolvers();
      await delay(Math.max(MIN_PAUSE_MILLISECONDS, 2 * (performance.now() - began)));
    }
  }

  const running = [...ended.keys()].map(keepRendering);
  return {
    /** Waits until each client has ended the render that it has begun, and another one. */
    more: async () => {
      const goals = ended.map((count) => count + 2);
      while (ended.some((count, client) => count < (goals[client] ?? 0))) await whenEnded.promise;
    },
    end: async () => {
      isOver = true;
      await Promise.all(running);
      return { milliseconds, lost, wrong };
    },
  };
}

/**
 * Edges with real sockets on both sides, on the platform that a test names: a test of the edge runs once for each of `EDGE_PLATFORMS`.
 * The Worker runs in workerd without a proxy in front, because a proxy would hide disconnects of clients.
 */

import { childrenOf, readProc } from "../backend/processes.ts";
import { API_TOKEN, BACKEND_TOKEN } from "../tokens.ts";
import { startConfiguredWorkers } from "./local-worker.ts";
import { startNodeEdges } from "./node-edge.ts";
import { RawConnection } from "./raw-connection.ts";
import { ScriptedBackend } from "./scripted-backend.ts";
import type { EdgePlatform } from "./service-parts.ts";

export type EdgeSettings = Readonly<Record<string, string>>;

const DEFAULTS: EdgeSettings = {
  SERVICE_API_TOKENS: API_TOKEN,
  SERVICE_BACKEND_TOKEN: BACKEND_TOKEN,
  SERVICE_LOG_REQUESTS: "none",
};

/** New edges, one for each of these settings: in this process, or together in one workerd. */
export function startEdges(each: readonly EdgeSettings[], platform: EdgePlatform = "node") {
  const settings = each.map((own) => ({ ...DEFAULTS, ...own }));
  return platform === "node" ? startNodeEdges(settings) : startConfiguredWorkers(settings);
}

export async function startOneEdge(settings: EdgeSettings, platform?: EdgePlatform) {
  const { urls, stop } = await startEdges([settings], platform);
  const [url] = urls;
  if (url === undefined) throw new Error("no edge has started");
  return { url, stop };
}

/** The memory of the edge: in Node it runs in this process, with its clients; otherwise in a workerd that this process has started. */
export function edgeBytes(platform: EdgePlatform): number {
  if (platform === "node") return process.memoryUsage.rss();
  const own = childrenOf(process.pid).filter((pid) => readProc(`${pid}/comm`).trim() === "workerd");
  return own.reduce((sum, pid) => sum + 1024 * Number(/^VmRSS:\s+(\d+)/m.exec(readProc(`${pid}/status`))?.[1]), 0);
}

/** A valid request of this many bytes. No string in it is longer than the limit. */
export function bodyOfSize(size: number, source = "x"): string {
  const piece = `"${"x".repeat(500_000)}"`;
  const empty = JSON.stringify({ source, data: [] });
  const count = Math.floor((size - empty.length) / (piece.length + 1));
  const start = `${empty.slice(0, -2)}${Array(count).fill(piece).join(",")}]`;
  return `${start}${" ".repeat(size - start.length - 1)}}`;
}

/** One edge in front of one scripted backend. */
const stageOf = (url: URL, backend: ScriptedBackend) => ({
  url,
  backend,
  /** Opens a connection to the edge and writes this. It is reset when the test has finished. */
  open: (...writes: readonly (Uint8Array | string)[]) => RawConnection.open(url, ...writes),
  /**
   * Waits until the edge has taken in what was sent before: it does one thing after another, and answers a later
   * request.
   */
  takenIn: async () => {
    await (await fetch(new URL("/health", url))).bytes();
  },
});

export type EdgeStage = ReturnType<typeof stageOf>;

/** Starts stages, one for each of these settings. */
export async function startEdgeStages(platform: EdgePlatform, ...each: readonly EdgeSettings[]) {
  const backends = await Promise.all(each.map(() => new ScriptedBackend().start()));
  const { urls, stop } = await startEdges(
    each.map((settings, index) => ({ SERVICE_BACKEND_URLS: backends[index]?.url.origin ?? "", ...settings })),
    platform,
  );
  const stages = backends.map((backend, index) => stageOf(urls[index] ?? backend.url, backend));
  return {
    stages,
    stop: async () => {
      await stop();
      for (const backend of backends) await backend.stop();
    },
  };
}

/**
 * Edges with real sockets on both sides. The Worker runs in workerd without a proxy in front, because a proxy would
 * hide disconnects of clients.
 */

import { API_TOKEN, BACKEND_TOKEN } from "../tokens.ts";
import { startConfiguredWorkers, startEdge } from "./local-worker.ts";
import { RawConnection } from "./raw-connection.ts";
import { ScriptedBackend } from "./scripted-backend.ts";

export type EdgeSettings = Readonly<Record<string, string>>;

const DEFAULTS: EdgeSettings = {
  SERVICE_API_TOKENS: API_TOKEN,
  SERVICE_BACKEND_TOKEN: BACKEND_TOKEN,
  SERVICE_LOG_REQUESTS: "none",
};

/** New edges in one workerd, one for each of these settings. The start of workerd costs more than theirs. */
export const startEdges = (each: readonly EdgeSettings[]) =>
  startConfiguredWorkers(
    each.map((settings) => ({ ...DEFAULTS, ...settings })),
    0,
  );

export const startOneEdge = (settings: EdgeSettings) => startEdge({ ...DEFAULTS, ...settings }, 0);

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

/** Starts stages that share a workerd, one for each of these settings. */
export async function startEdgeStages(...each: readonly EdgeSettings[]) {
  const backends = await Promise.all(each.map(() => new ScriptedBackend().start()));
  const { urls, stop } = await startEdges(
    each.map((settings, index) => ({ SERVICE_BACKEND_URLS: backends[index]?.url.origin ?? "", ...settings })),
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

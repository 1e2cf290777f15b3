/**
 * The edge with real sockets on both sides. The Worker runs in workerd without a proxy in front, because a proxy would
 * hide disconnects of clients. The backend is a stand-in.
 */
import { onTestFinished } from "vitest";
import { startEdge } from "../../../scripts/start/local-service.ts";
import { API_TOKEN, BACKEND_TOKEN } from "../tokens.ts";
import { RawConnection } from "./raw-connection.ts";
import { type StandInBackend, startStandInBackend } from "./stand-in-backend.ts";

export interface EdgeStage {
  readonly backend: StandInBackend;
  /** Opens a connection to the edge and writes this. It is reset when the test has finished. */
  open(...writes: readonly (Uint8Array | string)[]): Promise<RawConnection>;
  /**
   * Waits until the edge has taken in what was sent before: it does one thing after another, and answers a later
   * request.
   */
  takenIn(): Promise<void>;
  stop(): Promise<void>;
}

/** Starts both, with settings that differ from the edge's defaults. */
export async function startEdgeStage(settings: Readonly<Record<string, string>> = {}): Promise<EdgeStage> {
  const backend = await startStandInBackend();
  const edge = await startEdge(
    {
      SERVICE_API_TOKENS: API_TOKEN,
      SERVICE_BACKEND_TOKEN: BACKEND_TOKEN,
      SERVICE_BACKEND_URLS: backend.url.origin,
      SERVICE_LOG_REQUESTS: "none",
      ...settings,
    },
    0,
  );
  return {
    backend,
    open: async (...writes) => {
      const client = await RawConnection.open(edge.url);
      onTestFinished(() => client.reset());
      for (const bytes of writes) await client.write(bytes);
      return client;
    },
    takenIn: async () => {
      await (await fetch(new URL("/health", edge.url))).bytes();
    },
    stop: async () => {
      await edge.stop();
      await backend.stop();
    },
  };
}

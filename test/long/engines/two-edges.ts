/** Two edges and a backend in a network of their own, for a proxy in front of them. */
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { writeEdge } from "../../../scripts/build/edge-folder.ts";
import { requireTypst } from "../../../typst/program-location.mjs";
import {
  BACKEND_TOKEN,
  type Context,
  curl,
  edgeCommand,
  inNetworkOf,
  startDaemon,
  startNetwork,
  TOKEN_VARIABLES,
  until,
} from "./part.ts";

export const EDGE_PORTS = [8786, 8787] as const;
export type EdgePort = (typeof EDGE_PORTS)[number];

export interface TwoEdges {
  /** The process in whose network they listen. */
  readonly pid: number;
  /** Ends one, by SIGTERM, and waits until it has ended. */
  readonly stop: (port: EdgePort) => Promise<void>;
  readonly start: (port: EdgePort) => Promise<void>;
}

export async function startTwoEdges({ folder, atEnd }: Context): Promise<TwoEdges> {
  const own = join(folder, "edges");
  await mkdir(own);
  const pid = await startNetwork(atEnd);
  const backend = startDaemon(inNetworkOf(pid, [process.execPath, "backend/main.ts"]), {
    SERVICE_TYPST_BIN: await requireTypst(),
    SERVICE_BACKEND_TOKENS: BACKEND_TOKEN,
    SERVICE_PORT: "8788",
    // What is in front of it does not depend on it.
    SERVICE_SANDBOX: "none",
    SERVICE_WORK_DIRECTORY: join(own, "work"),
  });
  atEnd(() => backend.end("SIGTERM"));
  const edgeFolder = join(own, "edge");
  await writeEdge(edgeFolder);
  const edges = new Map<EdgePort, ReturnType<typeof startDaemon>>();
  const stop = async (port: EdgePort) => {
    await edges.get(port)?.end("SIGTERM");
    edges.delete(port);
  };
  atEnd(() => Promise.all(EDGE_PORTS.map(stop)));
  const start = async (port: EdgePort) => {
    const edge = startDaemon(inNetworkOf(pid, edgeCommand(edgeFolder, `127.0.0.1:${port}`)), {
      ...TOKEN_VARIABLES,
      SERVICE_BACKEND_URLS: "http://127.0.0.1:8788",
    });
    edges.set(port, edge);
    const answers = async () => (await curl(pid, `http://127.0.0.1:${port}/health`)).status === 200;
    await until(`an edge at ${port}`, answers);
  };
  await Promise.all(EDGE_PORTS.map(start));
  return { pid, stop, start };
}

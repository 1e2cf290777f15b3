/** Both parts of the service, in whatever process: this imports nothing that only a test has. */
import { startBackend, takeFreePort } from "../../../scripts/start/local-service.ts";
import { startEdge } from "./local-worker.ts";
import { startNodeEdge } from "./node-edge.ts";

/** What the edge runs on. */
export const EDGE_PLATFORMS = ["node", "cloudflare"] as const;
export type EdgePlatform = (typeof EDGE_PLATFORMS)[number];

/** What both parts are started with. */
export interface ServicePlan {
  /** Of the edge. */
  readonly platform: EdgePlatform;
  readonly backend: Readonly<Record<string, string>>;
  /** `SERVICE_BACKEND_URLS` has the URLs of further backends. */
  readonly edge: Readonly<Record<string, string>>;
}

export type ServiceParts = Awaited<ReturnType<typeof startParts>>;

export async function startParts(plan: ServicePlan) {
  const backend = await startBackend(plan.backend, await takeFreePort());
  try {
    const urls = `${backend.url.origin} ${plan.edge.SERVICE_BACKEND_URLS ?? ""}`;
    const settings = { ...plan.edge, SERVICE_BACKEND_URLS: urls };
    const edge = plan.platform === "node" ? await startNodeEdge(settings) : await startEdge(settings);
    const stop = async () => {
      await edge.stop();
      await backend.stop();
    };
    return { edge, backend, stop };
  } catch (error) {
    await backend.stop();
    throw error;
  }
}

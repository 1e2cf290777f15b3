/** Both parts of the service, in whatever process: this imports nothing that only a test has. */
import { startBackend, takeFreePort } from "../../../scripts/start/local-service.ts";
import { startNodeEdge } from "./node-edge.ts";

/** What both parts are started with. */
export interface ServicePlan {
  readonly backend: Readonly<Record<string, string>>;
  /** `SERVICE_BACKEND_URLS` has the URLs of further backends. */
  readonly edge: Readonly<Record<string, string>>;
}

export type ServiceParts = Awaited<ReturnType<typeof startParts>>;

export async function startParts(plan: ServicePlan) {
  const backend = await startBackend(plan.backend, await takeFreePort());
  try {
    const urls = `${backend.url.origin} ${plan.edge.SERVICE_BACKEND_URLS ?? ""}`;
    const edge = await startNodeEdge({ ...plan.edge, SERVICE_BACKEND_URLS: urls });
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

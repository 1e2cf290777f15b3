/** Both parts of the service, in whatever process: this imports nothing that only a test has. */
import { startBackend, startEdge, takeFreePort } from "../../../scripts/start/local-service.ts";

/** What both parts are started with. */
export interface ServicePlan {
  readonly backend: Readonly<Record<string, string>>;
  /** Without the URL of the backend. */
  readonly edge: Readonly<Record<string, string>>;
  /** The URLs of further configured backends. */
  readonly otherBackendUrls: readonly string[];
}

export type ServiceParts = Awaited<ReturnType<typeof startParts>>;

export async function startParts(plan: ServicePlan) {
  const backend = await startBackend(plan.backend, await takeFreePort());
  try {
    const urls = [backend.url.origin, ...plan.otherBackendUrls].join(" ");
    const edge = await startEdge({ ...plan.edge, SERVICE_BACKEND_URLS: urls }, await takeFreePort());
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

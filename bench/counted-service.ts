/** The whole service on this machine, as it is deployed, with its processor time. It needs the superuser. */
import { writeEdge } from "../scripts/build/edge-folder.ts";
import { startBuiltEdge } from "../scripts/start/built-edge.ts";
import { startBackend, takeFreePort } from "../scripts/start/local-service.ts";
import { API_TOKEN, BACKEND_TOKEN } from "../test/support/tokens.ts";
import { requireTypst } from "../typst/program-location.mjs";
import { post } from "./http-client.ts";
import { countProcessorTime } from "./processor-time.ts";

export type CountedService = Awaited<ReturnType<typeof startCountedService>>;

export async function startCountedService(folder: string) {
  const counted = { edge: countProcessorTime("edge"), backend: countProcessorTime("backend") };
  const settings = {
    SERVICE_TYPST_BIN: await requireTypst(),
    SERVICE_BACKEND_TOKENS: BACKEND_TOKEN,
    SERVICE_LOG_LEVEL: "error",
  };
  const port = await takeFreePort();
  const backend = await counted.backend.whileStarting(() => startBackend(settings, port));
  await writeEdge(folder);
  const edge = await counted.edge.whileStarting(() =>
    startBuiltEdge(folder, {
      SERVICE_API_TOKENS: API_TOKEN,
      SERVICE_BACKEND_TOKEN: BACKEND_TOKEN,
      SERVICE_BACKEND_URLS: backend.url.origin,
      SERVICE_LOG_REQUESTS: "none",
    }),
  );
  const url = new URL("/v1/render", edge.url);
  /** The sum of the values of a metric of the backend. */
  const metric = async (name: string) => {
    const text = await (await fetch(new URL("/metrics", backend.url))).text();
    const values = text.split("\n").filter((line) => new RegExp(`^${name}[{ ]`).test(line));
    return values.reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(" "))), 0);
  };
  const headers = { "Content-Type": "application/json", "X-Service-Api-Token": API_TOKEN };
  return {
    render: (body: string) => post(url, headers, body),
    milliseconds: async () => {
      const own = (await metric("process_cpu_seconds_total")) * 1000;
      return { edge: counted.edge.milliseconds(), backend: own, typst: counted.backend.milliseconds() - own };
    },
    metric,
    stop: async () => {
      await Promise.all([edge.stop(), backend.stop()]);
      for (const group of Object.values(counted)) await group.remove();
    },
  };
}

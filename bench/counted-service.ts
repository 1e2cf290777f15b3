/** The whole service on this machine, as it is deployed, with its processor time. It needs the superuser. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { EDGE_PROGRAM, writeEdge } from "../scripts/build/edge-folder.ts";
import { LOOPBACK, startBackend, takeFreePort } from "../scripts/start/local-service.ts";
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
  const edgePort = await takeFreePort();
  const edge = await counted.edge.whileStarting(async () =>
    spawn(process.execPath, [join(folder, EDGE_PROGRAM)], {
      stdio: ["ignore", "ignore", "inherit"],
      env: {
        SERVICE_API_TOKENS: API_TOKEN,
        SERVICE_BACKEND_TOKEN: BACKEND_TOKEN,
        SERVICE_BACKEND_URLS: backend.url.origin,
        SERVICE_LOG_REQUESTS: "none",
        SERVICE_EDGE_HOST: LOOPBACK,
        SERVICE_EDGE_PORT: String(edgePort),
      },
    }),
  );
  const url = new URL(`http://${LOOPBACK}:${edgePort}/v1/render`);
  while ((await fetch(new URL("/health", url)).catch(() => null))?.status !== 200) await delay(100);
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
      const ended = once(edge, "exit");
      edge.kill("SIGTERM");
      await Promise.all([ended, backend.stop()]);
      for (const group of Object.values(counted)) await group.remove();
    },
  };
}

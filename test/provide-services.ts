/**
 * Runs services that test files share: one for each settings, started when the first file asks for it, and stopped
 * after the last file. They run here because no worker knows which of its files is the last one.
 */
import { once } from "node:events";
import { createServer } from "node:http";
import { json } from "node:stream/consumers";
import type { TestProject } from "vitest/node";
import { LOOPBACK } from "../scripts/start/local-service.ts";
import { type ServiceParts, type ServicePlan, startParts } from "./support/service/service-parts.ts";

declare module "vitest" {
  interface ProvidedContext {
    /** Takes a `ServicePlan` and answers with the URLs of the edge and the backend. */
    sharedServicesUrl: string;
  }
}

export default async function provideServices(project: TestProject): Promise<() => Promise<void>> {
  const started = new Map<string, Promise<ServiceParts>>();
  const startOnce = (plan: ServicePlan) => {
    const key = JSON.stringify(plan);
    const parts = started.get(key) ?? startParts(plan);
    started.set(key, parts);
    return parts;
  };
  const server = createServer((request, response) => {
    json(request)
      .then((plan) => startOnce(plan as ServicePlan))
      .then(
        ({ edge, backend }) => response.end(`${edge.url} ${backend.url}`),
        (error: unknown) => response.writeHead(500).end(String(error)),
      );
  }).listen(0, LOOPBACK);
  await once(server, "listening");
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("the server has no port");
  project.provide("sharedServicesUrl", `http://${LOOPBACK}:${address.port}`);
  return async () => {
    server.close();
    server.closeAllConnections();
    for (const parts of await Promise.allSettled(started.values())) {
      if (parts.status === "fulfilled") await parts.value.stop();
    }
  };
}

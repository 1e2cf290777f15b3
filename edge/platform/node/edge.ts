/** The edge in Node, put together: its platform, its server, and how long it may take to stop. `main.ts` runs it, and so do tests. */

import type { Environment } from "../../../rules/settings.ts";
import { readIntegerSettings, SettingError } from "../../../rules/settings.ts";
import { answerRequest, refuseRequest } from "../../app.ts";
import { longestRenderMilliseconds } from "../../body/read-body.ts";
import { settingsOf } from "../../context.ts";
import { type EdgeParts, NodePlatform } from "./platform.ts";
import { EdgeServer } from "./server.ts";
import { NODE_EDGE_INTEGER_SETTINGS } from "./settings.ts";

export interface RunningEdge {
  readonly server: EdgeServer;
  /** See `Connections.stop`. @returns whether all that was in flight was answered in time */
  stop(): Promise<boolean>;
}

/** Starts to listen. @throws SettingError when a setting is not valid, or its port is in use */
export async function startEdge(environment: Environment, parts: EdgeParts): Promise<RunningEdge> {
  const { edgePort, idleConnectionSeconds } = readIntegerSettings(NODE_EDGE_INTEGER_SETTINGS, environment);
  const platform = new NodePlatform(environment, parts);
  const { bodyTimeoutSeconds, backendTimeoutSeconds } = settingsOf({ platform });
  const server = new EdgeServer({
    capacity: parts.capacity,
    idleConnectionSeconds,
    answer: (request) => answerRequest(platform, request),
    refuse: (request, reason) => refuseRequest(platform, request, reason),
  });
  await server.listen(edgePort, environment.SERVICE_EDGE_HOST || "::").catch((error: unknown) => {
    throw new SettingError(`the edge cannot listen: ${error instanceof Error ? error.message : String(error)}`);
  });
  return {
    server,
    stop: async () => {
      const isAnswered = await server.stop(longestRenderMilliseconds(bodyTimeoutSeconds, backendTimeoutSeconds));
      platform.close();
      return isAnswered;
    },
  };
}

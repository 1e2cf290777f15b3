/** The settings of the edge as a program of Node: where it listens, and how long it keeps idle connections. */

import { IDLE_CONNECTION_SETTING } from "../../../protocol/idle-connections.ts";
import type { IntegerSetting } from "../../../rules/settings.ts";

export const NODE_EDGE_INTEGER_SETTINGS = {
  edgePort: {
    setting: "SERVICE_EDGE_PORT",
    default: 8787,
    min: 0,
    max: 65_535,
    meaning: "TCP port of the edge where it does not run on Cloudflare; with `npm start`, 0 takes a free one",
  },
  idleConnectionSeconds: IDLE_CONNECTION_SETTING,
} as const satisfies Record<string, IntegerSetting & { meaning: string }>;

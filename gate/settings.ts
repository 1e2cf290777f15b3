/** The settings that the program around the edge reads: `npm start`, and the edge in workerd alone. */
import type { IntegerSetting } from "../rules/settings.ts";

export const GATE_INTEGER_SETTINGS = {
  edgePort: {
    setting: "SERVICE_EDGE_PORT",
    default: 8787,
    min: 0,
    max: 65_535,
    meaning: "TCP port of the edge where it does not run on Cloudflare; with `npm start`, 0 takes a free one",
  },
} as const satisfies Record<string, IntegerSetting & { meaning: string }>;

/** The settings that only `npm start` reads. */
import type { IntegerSetting } from "../../rules/settings.ts";

export const START_INTEGER_SETTINGS = {
  edgePort: {
    setting: "SERVICE_EDGE_PORT",
    default: 8787,
    min: 0,
    max: 65_535,
    meaning: "TCP port of the Worker on this machine; 0 takes a free one",
  },
} as const satisfies Record<string, IntegerSetting & { meaning: string }>;

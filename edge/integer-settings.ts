/**
 * The definitions of the edge's own whole-number settings: apart from their reader, so that the settings table of the
 * README can be made from them outside workerd.
 */
import type { IntegerSetting } from "../rules/settings.ts";

/** The edge's whole-number settings beyond the limits. */
export const EDGE_INTEGER_SETTINGS = {
  // Longer than the backend's queue deadline and render timeout together (20 s + 30 s by default), so that the backend
  // is the one that says what happened.
  backendTimeoutSeconds: {
    setting: "SERVICE_BACKEND_TIMEOUT_SECONDS",
    default: 60,
    min: 1,
    max: 900,
    meaning: "how long the edge waits for a backend's answer",
  },
  bodyTimeoutSeconds: {
    setting: "SERVICE_BODY_TIMEOUT_SECONDS",
    default: 60,
    min: 1,
    max: 900,
    meaning: "how long the body of a request may take to arrive; ten seconds without a byte end it earlier",
  },
} as const satisfies Record<string, IntegerSetting & { meaning: string }>;

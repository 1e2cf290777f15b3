/**
 * All checks in the order in which they are made. docs/doctor.md lists them from here.
 */
import type { CheckGroup } from "./check.ts";
import { DIRECT_ORIGINS } from "./direct-origins.ts";
import { ORIGINS_BY_METRICS } from "./edge-metrics.ts";
import { LATENCY } from "./latency.ts";
import { MACHINE } from "./machine.ts";
import { REACHABILITY } from "./reachability.ts";
import { REFUSALS } from "./refusals.ts";
import { RENDERS } from "./renders.ts";
import { RESPONSE_HEADERS } from "./response-headers.ts";
import { RULES } from "./rules.ts";
import { SERVICE } from "./service.ts";

export const CHECK_GROUPS: readonly CheckGroup[] = [
  REACHABILITY,
  SERVICE,
  RULES,
  RENDERS,
  REFUSALS,
  RESPONSE_HEADERS,
  ORIGINS_BY_METRICS,
  DIRECT_ORIGINS,
  LATENCY,
  MACHINE,
];

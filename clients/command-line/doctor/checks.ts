/**
 * The table of checks, in the order in which they are made. docs/doctor.md lists them from here.
 */
import { CommandError } from "../exit-codes.ts";
import { findTypst } from "../local/typst.ts";
import { type CheckGroup, check, group, ok, skipped } from "./check.ts";
import { LATENCY } from "./latency.ts";
import { METRICS } from "./metrics.ts";
import { ORIGINS } from "./origins.ts";
import { REACHABILITY } from "./reachability.ts";
import { REJECTIONS } from "./rejections.ts";
import { RENDERS } from "./renders.ts";
import { RESPONSE_HEADERS } from "./response-headers.ts";
import { RULES } from "./rules.ts";
import { SERVICE } from "./service.ts";

/** Whether this machine has what other commands need. */
const MACHINE = group("This machine", null, [
  check("local-typst", "Typst for the command `check`", {
    async run(_edge, { target }) {
      try {
        return ok(await findTypst(target.typst));
      } catch (error) {
        if (error instanceof CommandError) return skipped("none found");
        throw error;
      }
    },
  }),
]);

export const CHECK_GROUPS: readonly CheckGroup[] = [
  REACHABILITY,
  SERVICE,
  RULES,
  RENDERS,
  REJECTIONS,
  RESPONSE_HEADERS,
  METRICS,
  ORIGINS,
  LATENCY,
  MACHINE,
];

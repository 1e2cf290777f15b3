/** The default limits with the changes of a test. */
import { DEFAULT_LIMITS, type LimitName, type Limits, limitsFrom } from "../../../rules/limits.ts";

/** `effective_max_files` is derived from the result, as at start-up. */
export function limitsWith(changes: Partial<Record<LimitName, number>>): Limits {
  return limitsFrom({ ...DEFAULT_LIMITS, ...changes });
}

/** Limits that differ from the default ones where a test says so. */
import { DEFAULT_LIMITS, type LimitName, type Limits, limitsFrom } from "../../../rules/limits.ts";

/** The default limits with `changes`. `effective_max_files` is derived from them, as at start-up. */
export function limitsWith(changes: Partial<Record<LimitName, number>>): Limits {
  return limitsFrom({ ...DEFAULT_LIMITS, ...changes });
}

/**
 * The label `caller` of metrics. Only a limited number of callers get series of their own.
 *
 * Names come from a setting of the edge and are few. But the backend keeps the series of each name until it ends, so a mistake, such
 * as an edge that makes up names, must not add series without limit.
 */

/** The most callers with series of their own. */
export const MAX_CALLERS_IN_METRICS = 100;

/** The label of all further callers. No caller can have this name: see `CALLER_NAME_PATTERN`. */
const OTHER_CALLERS = "_other";

/** The label of a caller: its name, if it is among the first `MAX_CALLERS_IN_METRICS` callers. */
export class CallerLabel {
  readonly #names = new Set<string>();

  of(caller: string): string {
    if (this.#names.size < MAX_CALLERS_IN_METRICS) this.#names.add(caller);
    return this.#names.has(caller) ? caller : OTHER_CALLERS;
  }
}

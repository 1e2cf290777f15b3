/**
 * The label `caller` of metrics: names of callers, of which only so many get series of their own.
 *
 * Names come from the edge's setting and are few. But each name is a set of series that the backend keeps until it ends,
 * so a mistake, such as an edge that makes up names, must not grow them without end.
 */

/** The most callers with series of their own. */
export const MAX_CALLERS_IN_METRICS = 100;

/** The label of all further callers. No caller can have this name: see `CALLER_NAME_PATTERN`. */
const OTHER_CALLERS = "_other";

/** The label of a caller: its name, if it is among the first `MAX_CALLERS_IN_METRICS` that were asked for. */
export class CallerLabel {
  readonly #names = new Set<string>();

  of(caller: string): string {
    if (this.#names.size < MAX_CALLERS_IN_METRICS) this.#names.add(caller);
    return this.#names.has(caller) ? caller : OTHER_CALLERS;
  }
}

/**
 * What an edge has counted since its last report. An isolate lives too briefly to be scraped, so it tells a backend in the header field
 * `X-Service-Edge-Counts`, whose metrics have the sums. A backend that has counted them repeats the field in its answer.
 */

/** By the name of a cause or of an attempt's failure. */
export type EdgeCounts = ReadonlyMap<string, number>;

/** More than all names together need. */
const MAX_LENGTH = 4096;

/** The value of the header field. */
export function formatEdgeCounts(counts: EdgeCounts): string {
  return [...counts].map(([name, count]) => `${name}=${count}`).join(",");
}

/** The counts in a value of the header field. What has another form is skipped. */
export function parseEdgeCounts(value: string): EdgeCounts {
  const entries = value.slice(0, MAX_LENGTH).matchAll(/(?:^|,)([a-z_]+)=([0-9]{1,9})(?=,|$)/g);
  return new Map([...entries].map(([, name = "", count]) => [name, Number(count)]));
}

/** What an edge counts of its own answers, by one name each: with which labels, and how it reports them to a backend. */
import { ATTEMPT_FAILURES, CAUSES } from "../rules/causes.ts";

/** 408 has its own metric, of the backend that has ended the render. */
export const REFUSAL_CODES = ["render_queue_full", "service_unavailable"] as const;

/** The metrics, with their HELP. */
export const EDGE_COUNTERS = {
  service_edge_refusals_total:
    "Requests that edges refused with 429 or 503, by the cause: at an edge its own, at a backend those that edges report.",
  service_edge_attempt_failures_total: "Failed attempts of edges on backends, told in the same way.",
} as const;

interface EdgeCount {
  readonly metric: keyof typeof EDGE_COUNTERS;
  readonly labels: Readonly<Record<string, string>>;
}

export const EDGE_COUNTS: ReadonlyMap<string, EdgeCount> = new Map<string, EdgeCount>([
  ...REFUSAL_CODES.flatMap((code) =>
    Object.keys(CAUSES[code]).map((cause): [string, EdgeCount] => [
      cause,
      { metric: "service_edge_refusals_total", labels: { code, cause } },
    ]),
  ),
  ...Object.keys(ATTEMPT_FAILURES).map((failure): [string, EdgeCount] => [
    failure,
    { metric: "service_edge_attempt_failures_total", labels: { failure } },
  ]),
]);

/** The value of `EDGE_COUNTS_HEADER`. */
export function formatEdgeReport(counts: ReadonlyMap<string, number>): string {
  return new URLSearchParams(Array.from(counts, ([name, count]): [string, string] => [name, String(count)])).toString();
}

/** What of a report is known: anybody with the backend's token may send one. */
export function parseEdgeReport(report: string): (EdgeCount & { readonly count: number })[] {
  return [...new URLSearchParams(report)].flatMap(([name, text]) => {
    const known = EDGE_COUNTS.get(name);
    return known !== undefined && /^[0-9]{1,9}$/.test(text) ? [{ ...known, count: Number(text) }] : [];
  });
}

/** What Cloudflare is told of a request beside its log line: the attributes of its span, and a data point of Analytics Engine. */
import type { RequestLine } from "../../log/request-line.ts";

/** By the names in the backend's spans. `render.trace_id` leads to these: the platform does not pass on its trace. */
export function spanAttributes(line: RequestLine) {
  return {
    "http.route": line.route,
    "render.request_id": line.requestId,
    "render.trace_id": line.traceId,
    "render.caller": line.caller,
    "render.outcome": line.code,
    "render.timeout_cause": line.timeoutCause,
    "render.capacity_cause": line.capacityCause,
    "render.unavailable_cause": line.unavailableCause,
    "render.origin": line.origin,
    "render.tries": line.tries,
  };
}

export const ANALYTICS_BINDING = "EDGE_ANALYTICS";

interface AnalyticsDataset {
  writeDataPoint(point: { readonly indexes: string[]; readonly blobs: string[]; readonly doubles: number[] }): void;
}

/** A column. An unknown number is written as -1, an unknown text as "". */
type Field<Value> = readonly [name: string, read: (line: RequestLine) => Value | undefined];

/** `blob1` and so on. Queries name columns by their number, so new ones come last and none is ever removed. */
export const ANALYTICS_BLOBS: readonly Field<string>[] = [
  ["route", ({ route }) => route],
  ["method", ({ method }) => method],
  ["code", ({ code }) => code],
  ["caller", ({ caller }) => caller],
  ["origin", ({ origin }) => origin],
  ["cause", ({ timeoutCause, capacityCause, unavailableCause }) => timeoutCause ?? capacityCause ?? unavailableCause],
  ["failures", ({ failures }) => failures?.join(",")],
];

export const ANALYTICS_DOUBLES: readonly Field<number>[] = [
  ["status", ({ status }) => status],
  ["requestBytes", ({ requestBytes }) => requestBytes],
  ["responseBytes", ({ responseBytes }) => responseBytes],
  ["tries", ({ tries }) => tries],
  ["receive", ({ milliseconds }) => milliseconds.receive],
  ["validate", ({ milliseconds }) => milliseconds.validate],
  ["origin", ({ milliseconds }) => milliseconds.origin],
  ["total", ({ milliseconds }) => milliseconds.total],
];

/** Cloudflare samples each index separately, so one caller with many requests does not blur another's count. */
const indexOf = ({ caller, route }: RequestLine) => caller ?? route;

/** Once per isolate: a dataset that rejects one point rejects all. Without valid settings there is no `Deployment`. */
let hasFailed = false;

/** Never throws: a request must not fail because it is not counted. */
export function writeAnalytics(dataset: unknown, line: RequestLine): void {
  if (!isDataset(dataset)) return;
  try {
    dataset.writeDataPoint({
      indexes: [indexOf(line)],
      blobs: ANALYTICS_BLOBS.map(([, read]) => read(line) ?? ""),
      doubles: ANALYTICS_DOUBLES.map(([, read]) => read(line) ?? -1),
    });
  } catch (error) {
    if (!hasFailed) console.error({ message: `${ANALYTICS_BINDING} rejects data points`, error: String(error) });
    hasFailed = true;
  }
}

function isDataset(binding: unknown): binding is AnalyticsDataset {
  return typeof binding === "object" && binding !== null && "writeDataPoint" in binding;
}

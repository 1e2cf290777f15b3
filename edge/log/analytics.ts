/** Counters that outlive isolates: a data point per request in an Analytics Engine dataset, if there is one. */
import { causeOf, type RequestLine } from "./request-record.ts";

export const ANALYTICS_BINDING = "EDGE_ANALYTICS";

export interface AnalyticsDataset {
  writeDataPoint(point: { readonly indexes: string[]; readonly blobs: string[]; readonly doubles: number[] }): void;
}

/** A column. An unknown number is written as -1, an unknown text as "". */
type Field<Value> = readonly [name: string, read: (line: RequestLine) => Value | undefined, meaning: string];

/** `blob1` and so on. Queries name columns by their number, so new ones come last and none is ever removed. */
export const ANALYTICS_BLOBS: readonly Field<string>[] = [
  ["route", ({ route }) => route, "path of the route, or `none`"],
  ["method", ({ method }) => method, "method of the request, or `other`"],
  ["code", ({ code }) => code, "`ok`, the code of the problem, or `client_gone`"],
  ["caller", ({ caller }) => caller, "name of the caller"],
  ["origin", ({ origin }) => origin, "name of the backend that answered, or was tried last"],
  ["cause", causeOf, "[cause](#429-and-503) of a 408, 429 or 503"],
  ["failures", ({ failures }) => failures?.join(","), "how attempts on backends [failed](#failed-attempts)"],
];

export const ANALYTICS_DOUBLES: readonly Field<number>[] = [
  ["status", ({ status }) => status, "status of the answer"],
  ["requestBytes", ({ requestBytes }) => requestBytes, "size of the body, if it was read completely"],
  ["responseBytes", ({ responseBytes }) => responseBytes, "declared size of the answer"],
  ["tries", ({ tries }) => tries, "how many times the request was sent to a backend"],
  ["receive", ({ milliseconds }) => milliseconds.receive, "milliseconds until the body was read"],
  ["validate", ({ milliseconds }) => milliseconds.validate, "milliseconds of validation"],
  ["origin", ({ milliseconds }) => milliseconds.origin, "milliseconds until a backend's answer began"],
  ["total", ({ milliseconds }) => milliseconds.total, "milliseconds until the answer began"],
];

/** Cloudflare samples each index separately, so one caller with many requests does not blur another's count. */
const indexOf = ({ caller, route }: RequestLine) => caller ?? route;

/** Once per isolate: a dataset that rejects one data point rejects all. Without valid settings there is no `Deployment`. */
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

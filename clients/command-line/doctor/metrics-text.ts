/**
 * Reads the Prometheus text format 0.0.4 as far as the doctor needs it: lines that are not samples are left out.
 */
import { type Exchange, isOk } from "./answers.ts";

export interface MetricSample {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

const SAMPLE = /^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? (\S+)/;
const LABEL = /([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\]|\\.)*)"(?:,|$)/gy;

/** The samples of an answer; none if it is not 200. */
export function metricsIn(exchange: Exchange): MetricSample[] {
  const text = isOk(exchange) ? exchange.body.toString("utf8") : "";
  return text.split("\n").flatMap((line) => {
    const [, name, labelText = "", number = ""] = SAMPLE.exec(line) ?? [];
    const value = Number(number.replace(/Inf$/, "Infinity"));
    if (name === undefined || Number.isNaN(value)) return [];
    const labels = [...labelText.matchAll(LABEL)].map(([, label = "", content = ""]) => [label, content]);
    return [{ name, labels: Object.fromEntries(labels), value }];
  });
}

export function sumOf(samples: readonly MetricSample[], name: string): number | null {
  const values = samples.filter((sample) => sample.name === name).map(({ value }) => value);
  return values.length === 0 ? null : values.reduce((sum, value) => sum + value, 0);
}

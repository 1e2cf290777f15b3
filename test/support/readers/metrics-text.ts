/** A parser of the Prometheus text format 0.0.4, stricter than a scraper: everything unknown is an error. */

export interface MetricSample {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

// The format says NaN; prom-client writes Nan, and Prometheus reads both.
const SAMPLE = /^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? (N[aA][nN]|[+-]Inf|[0-9.eE+-]+)$/;
const COMMENT = /^# (HELP|TYPE) ([a-zA-Z_:][a-zA-Z0-9_:]*) \S/;
const LABEL = /([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\]|\\.)*)"(?:,|$)/gy;

/** The metrics of an edge or a backend that shows them to everybody. */
export async function metricsAt(url: URL | string): Promise<MetricSample[]> {
  return parseMetrics(await (await fetch(new URL("/metrics", url))).text());
}

/** All samples of an exposition; throws for an invalid line and for a family with two TYPE lines. */
export function parseMetrics(text: string): MetricSample[] {
  const samples: MetricSample[] = [];
  const typedFamilies = new Set<string>();
  for (const line of text.split("\n")) {
    if (line === "") continue;
    const comment = COMMENT.exec(line);
    if (comment?.[1] === "TYPE") {
      const family = comment[2] ?? "";
      if (typedFamilies.has(family)) throw new Error(`TYPE of ${family} comes twice`);
      typedFamilies.add(family);
    }
    if (comment === null) samples.push(parseSample(line));
  }
  return samples;
}

function parseSample(line: string): MetricSample {
  const [, name, labelText = "", value] = SAMPLE.exec(line) ?? [];
  if (name === undefined || value === undefined) throw new Error(`not a metric sample: ${line}`);
  const labels = [...labelText.matchAll(LABEL)].map(([, label = "", text = ""]) => [label, text]);
  return { name, labels: Object.fromEntries(labels), value: Number(value.replace("Inf", "Infinity")) };
}

/** The sum of the samples with these labels; 0 if there is none. */
export function sampleValue(
  samples: readonly MetricSample[],
  name: string,
  labels: Readonly<Record<string, string>> = {},
): number {
  const wanted = Object.entries(labels);
  return samples
    .filter((sample) => sample.name === name && wanted.every(([label, value]) => sample.labels[label] === value))
    .reduce((sum, { value }) => sum + value, 0);
}

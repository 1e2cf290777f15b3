/** The metrics of all backends in one Prometheus exposition (text format 0.0.4), kept for some seconds. */
import { EDGE_COUNTERS, EDGE_COUNTS } from "../../protocol/edge-counts.ts";
import type { EdgeCounts } from "../backends/backend.ts";
import type { Backend } from "../platform/platform.ts";
import { SharedAnswer } from "./shared-answer.ts";
import { SURVEY_TIMEOUT_MILLISECONDS, surveyOf } from "./survey.ts";

/** Far more than the metrics of a backend; a longer response does not come from one. */
const MAX_METRICS_BYTES = 1024 * 1024;
/** Shorter than the usual scrape intervals. A scrape takes the event loop of a backend some milliseconds. */
const KEEP_MILLISECONDS = 5000;
/** About as long as a gathering takes at most. */
const STALE_MILLISECONDS = 10_000;

/**
 * @param isPublic whether anybody may read the result: it then names no callers
 * @param gatheredBytes how much may come from all backends together
 */
export function shareMetrics(
  pool: { readonly backends: readonly Backend[] },
  hasAnswered: (backend: Backend) => boolean,
  isPublic: boolean,
  gatheredBytes?: number,
): SharedAnswer<GatheredMetrics> {
  const known = new WeakSet<Backend>();
  const survey = surveyOf(pool, "/metrics", MAX_METRICS_BYTES, gatheredBytes);
  const scrapeOf = (backend: Backend, answer: string | null | undefined): Scrape => {
    const { name } = backend;
    if (answer === undefined) return { backend: name, text: null, state: "not asked" };
    if (answer !== null) known.add(backend);
    return { backend: name, text: answer, state: known.has(backend) || hasAnswered(backend) ? "listed" : "absent" };
  };
  const merge = (answers: ReadonlyMap<Backend, string | null>) =>
    mergeMetrics(
      pool.backends.map((backend) => scrapeOf(backend, answers.get(backend))),
      isPublic,
    );
  const gather = async () => {
    const value = merge(await survey.ask(pool.backends));
    return { value, keepMilliseconds: KEEP_MILLISECONDS, staleMilliseconds: STALE_MILLISECONDS };
  };
  // As if there had been no time to ask any backend.
  return new SharedAnswer(gather, SURVEY_TIMEOUT_MILLISECONDS, () => merge(new Map()));
}

interface Scrape {
  readonly backend: string;
  readonly text: string | null;
  /** Absent: it has never answered, so it may not exist. Not asked: there was no time left. */
  readonly state: "listed" | "absent" | "not asked";
}

interface Family {
  readonly header: string[];
  readonly samples: string[];
}

export interface GatheredMetrics {
  readonly text: string;
  /** Of what the edge counts as well, by the names of the metrics. */
  readonly samplesOfEdges: ReadonlyMap<string, readonly string[]>;
}

/**
 * A metric family may appear only once, so the samples of all backends come under one HELP and TYPE, each with the
 * label `origin`. If a backend is itself an edge, its own becomes `exported_origin`, as Prometheus names labels in
 * conflict. A backend is down only if it was asked and has answered before. @param isPublic leaves out the samples that
 * name callers.
 */
export function mergeMetrics(scrapes: readonly Scrape[], isPublic: boolean): GatheredMetrics {
  const gauge = (name: string, help: string, values: readonly string[]): Family => {
    return {
      header: [`# HELP ${name} ${help}`, `# TYPE ${name} gauge`],
      samples: values.map((value) => `${name}${value}`),
    };
  };
  const those = (state: Scrape["state"]) => scrapes.filter((scrape) => scrape.state === state);
  const mark = (state: Scrape["state"]) => those(state).map(({ backend }) => `${formatLabels(backend, "")} 1`);
  const values = those("listed").map(({ backend, text }) => `${formatLabels(backend, "")} ${text === null ? 0 : 1}`);
  const up = gauge(
    "service_origin_up",
    "Whether the origin answered this scrape, or the last one with time for it.",
    values,
  );
  const families = new Map([
    ["service_origin_up", up],
    [
      "service_origin_absent",
      gauge("service_origin_absent", "Origins that have never answered this edge.", mark("absent")),
    ],
    [
      "service_origin_not_asked",
      gauge("service_origin_not_asked", "Origins for which this scrape had no time.", mark("not asked")),
    ],
  ]);
  for (const scrape of scrapes) addExposition(families, scrape, isPublic);
  const samplesOfEdges = new Map(
    Object.keys(EDGE_COUNTERS).map((name) => [name, families.get(name)?.samples ?? []] as const),
  );
  for (const name of samplesOfEdges.keys()) families.delete(name);
  const shown = [...families.values()].filter((family) => family === up || family.samples.length > 0);
  const text = shown.flatMap(({ header, samples }) => [...header, ...samples]).join("\n");
  return { text, samplesOfEdges };
}

/** @param own counts that are the edge's alone and have no `origin`; null if only backends tell them */
export function formatMetrics({ text, samplesOfEdges }: GatheredMetrics, own: Pick<EdgeCounts, "get"> | null): string {
  const ownSamples = [...(own === null ? [] : EDGE_COUNTS)].map(([name, { metric, labels }]) => {
    const pairs = Object.entries(labels).map(([label, value]) => `${label}="${value}"`);
    return { metric, sample: `${metric}{${pairs.join(",")}} ${own?.get(name)}` };
  });
  const families = Object.entries(EDGE_COUNTERS).flatMap(([metric, help]) => {
    const ofEdge = ownSamples.filter((one) => one.metric === metric).map(({ sample }) => sample);
    const samples = [...ofEdge, ...(samplesOfEdges.get(metric) ?? [])];
    return samples.length === 0 ? [] : [`# HELP ${metric} ${help}`, `# TYPE ${metric} counter`, ...samples];
  });
  return [text, ...families, ""].join("\n");
}

const CALLER_LABEL = /(?:^|,)caller="/;
const ORIGIN_LABEL = /(^|,)((?:exported_)*origin=")/g;

function addExposition(families: Map<string, Family>, { backend, text }: Scrape, isPublic: boolean): void {
  let family: Family | undefined;
  const headersDone = new Set(families.keys());
  for (const line of (text ?? "").split("\n")) {
    const comment = /^# (?:HELP|TYPE) ([a-zA-Z_:][a-zA-Z0-9_:]*)/.exec(line);
    if (comment?.[1] !== undefined) {
      const name = comment[1];
      family = families.get(name) ?? { header: [], samples: [] };
      families.set(name, family);
      if (!headersDone.has(name)) family.header.push(line);
      continue;
    }
    const sample = /^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? (\S+(?: \S+)?)$/.exec(line);
    if (sample === null || family === undefined) continue;
    const [, name = "", ownLabels = "", value = ""] = sample;
    if (isPublic && CALLER_LABEL.test(ownLabels)) continue;
    family.samples.push(`${name}${formatLabels(backend, ownLabels)} ${value}`);
  }
}

function formatLabels(backend: string, ownLabels: string): string {
  const escaped = backend.replace(/[\\"\n]/g, "_");
  const others = ownLabels.replace(ORIGIN_LABEL, "$1exported_$2");
  return others === "" ? `{origin="${escaped}"}` : `{origin="${escaped}",${others}}`;
}

/** The metrics of all backends in one Prometheus exposition (text format 0.0.4), kept for some seconds. */
import { type Backend, fetchText } from "../backends/backend.ts";
import { SharedAnswer } from "./shared-answer.ts";

const SCRAPE_BOUNDS = {
  timeoutMilliseconds: 5000,
  /** Far more than the metrics of a backend; a longer response does not come from one. */
  maxBytes: 1024 * 1024,
} as const;
/** Shorter than the usual scrape intervals. A scrape takes the event loop of a backend some milliseconds. */
const KEEP_MILLISECONDS = 5000;

/** @param isPublic whether anybody may read the result: it then names no callers. */
export function shareMetrics(
  pool: { readonly backends: readonly Backend[] },
  hasAnswered: (backend: Backend) => boolean,
  isPublic: boolean,
): SharedAnswer<string> {
  const known = new WeakSet<Backend>();
  const scrape = async (backend: Backend): Promise<Scrape> => {
    const text = await fetchText(backend, "/metrics", SCRAPE_BOUNDS);
    if (text !== null) known.add(backend);
    return { backend: backend.name, text, isAbsent: !known.has(backend) && !hasAnswered(backend) };
  };
  return new SharedAnswer(async () => {
    const scrapes = await Promise.all(pool.backends.map(scrape));
    return { value: mergeMetrics(scrapes, isPublic), keepMilliseconds: KEEP_MILLISECONDS };
  }, SCRAPE_BOUNDS.timeoutMilliseconds);
}

interface Scrape {
  readonly backend: string;
  readonly text: string | null;
  readonly isAbsent?: boolean;
}

interface Family {
  readonly header: string[];
  readonly samples: string[];
}

/**
 * A metric family may appear only once, so the samples of all backends come under one HELP and TYPE, each with the
 * label `origin`. If a backend is itself an edge, its own becomes `exported_origin`, as Prometheus names labels in
 * conflict. A backend that has never answered may not exist, so it is absent and not down. @param isPublic leaves out
 * the samples that name callers.
 */
export function mergeMetrics(scrapes: readonly Scrape[], isPublic: boolean): string {
  const gauge = (name: string, help: string, values: readonly string[]): Family => {
    return {
      header: [`# HELP ${name} ${help}`, `# TYPE ${name} gauge`],
      samples: values.map((value) => `${name}${value}`),
    };
  };
  const present = scrapes.filter(({ isAbsent }) => !isAbsent);
  const values = present.map(({ backend, text }) => `${formatLabels(backend, "")} ${text === null ? 0 : 1}`);
  const up = gauge("service_origin_up", "Whether the origin answered this scrape.", values);
  const absences = scrapes.flatMap(({ backend, isAbsent }) => (isAbsent ? [`${formatLabels(backend, "")} 1`] : []));
  const absent = gauge("service_origin_absent", "Origins that have never answered this edge.", absences);
  const families = new Map(Object.entries({ service_origin_up: up, service_origin_absent: absent }));
  for (const scrape of scrapes) addExposition(families, scrape, isPublic);
  const shown = [...families.values()].filter((family) => family === up || family.samples.length > 0);
  return [...shown.flatMap(({ header, samples }) => [...header, ...samples]), ""].join("\n");
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
